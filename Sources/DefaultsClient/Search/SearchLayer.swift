package import DefaultsCore

/// One domain of a search list.
package enum SearchLayer: Hashable, Sendable {
    /// A domain in a file.
    case persistent(Domain)
    /// A domain in this process only, by its name.
    case volatile(String)

    /// The name of the volatile domain of the process's arguments.
    package static let argumentDomain = "NSArgumentDomain"
    /// The name of the volatile domain of registered defaults, which is searched last.
    package static let registrationDomain = "NSRegistrationDomain"

    /// Returns the layers that are searched for an application's values, the winning one first.
    ///
    /// The order is that of NSUserDefaults and CFPreferences.
    ///
    /// - Parameters:
    ///   - application: The application, or a suite that is used in its place.
    ///   - suites: The added suites, most recent first.
    ///   - system: The system directories, whose layers are searched after the user's own.
    ///   - languages: The names of the languages domains, in order.
    /// - Returns: The layers, in order.
    package static func layers(
        for application: DomainName, suites: [DomainName], in system: SystemDirectories, languages: [String] = []
    ) -> [SearchLayer] {
        let names = [application] + suites + (application.isGlobal ? [] : [.global])
        var layers = names.map { SearchLayer.persistent(.managed($0)) }
        layers.append(.volatile(argumentDomain))
        for name in names { layers += Domain.ofUser(name).map(SearchLayer.persistent) }
        for name in [application, .global] {
            layers += Domain.ofAnyUser(name, in: system).map(SearchLayer.persistent)
        }
        layers += languages.map(SearchLayer.volatile)
        layers.append(.volatile(registrationDomain))
        // A duplicate keeps only its first position. For example, the application may also be a suite.
        var seen: Set<SearchLayer> = []
        return layers.filter { seen.insert($0).inserted }
    }
}

extension Domain {
    /// This host, or `nil` if its identifier is unknown; constant while the process runs.
    package static let thisHost = HostIdentifier.current().flatMap { try? DomainHost(identifier: $0) }

    /// Returns the managed domain with a name, whose values are forced.
    package static func managed(_ name: DomainName) -> Domain { Domain(name, user: .managed) }

    /// Returns the user's domains with a name: the one for this host, which wins, and the one for any host.
    package static func ofUser(_ name: DomainName) -> [Domain] {
        [thisHost.map { Domain(name, host: $0) }, Domain(name)].compactMap(\.self)
    }

    /// Returns the domains with a name that all users of the system share, the winning one first.
    package static func ofAnyUser(_ name: DomainName, in system: SystemDirectories) -> [Domain] {
        system.anyUser.map { Domain(name, user: .any(directory: $0)) }
    }

    /// Returns all domains with a name that a search list may contain.
    package static func all(named name: DomainName, in system: SystemDirectories) -> [Domain] {
        [.managed(name)] + ofUser(name) + ofAnyUser(name, in: system)
    }
}

extension DomainName {
    /// Creates a domain name from any text, escaping text that isn't a valid name.
    ///
    /// - Parameter name: The text.
    /// - Throws: `invalidDomainName` for the argument and registration domains, which have no file.
    package init(ofFile name: String) throws(DefaultsError) {
        if name == SearchLayer.argumentDomain || name == SearchLayer.registrationDomain {
            throw DefaultsError(
                .invalidDomainName,
                "The domain \"\(name)\" exists in the process only and has no file.",
                remedy: "Use `setVolatileDomain(_:forName:)`.")
        }
        self.init(escaping: name)
    }
}
