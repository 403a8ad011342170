package import DefaultsCore

extension Backend {
    /// The domains in files that are searched for an application's values, the winning one first.
    ///
    /// - Parameters:
    ///   - application: the application, or a suite that is used in its place.
    ///   - host: on which host; this one if left out.
    /// - Returns: the domains, whether they have values or not.
    package func layers(of application: DomainName, onHost host: DomainHost? = nil) -> [Domain] {
        SearchLayer.layers(for: application, suites: [], in: system).compactMap { layer in
            guard case .persistent(var domain) = layer else { return nil }
            if domain.host != .any, let host { domain.host = host }
            return domain
        }
    }
}

extension SystemDirectories {
    /// The absolute path of a domain's file, there or not, in one of these directories or in the user's own.
    package func path(of domain: Domain, besides own: PreferencesDirectory) -> String {
        (directory(of: domain.user) ?? own).path(of: domain)
    }
}
