import DefaultsCore

extension Domain {
    /// This host, as long as the process runs.
    static let thisHost = HostIdentifier.current().flatMap { try? DomainHost(identifier: $0) }

    /// The managed domain of a name, whose values are forced.
    static func managed(_ name: DomainName) -> Domain { Domain(name, user: .managed) }

    /// The user's own domains of a name, the winning one first: for this host, then for any.
    static func ofUser(_ name: DomainName) -> [Domain] {
        [thisHost.map { Domain(name, host: $0) }, Domain(name)].compactMap(\.self)
    }

    /// The domains of a name that every user of the system has, the winning one first.
    static func ofAnyUser(_ name: DomainName, in system: SystemDirectories) -> [Domain] {
        system.anyUser.map { Domain(name, user: .any(directory: $0)) }
    }

    /// All the domains of a name that a search list may hold.
    static func all(named name: DomainName, in system: SystemDirectories) -> [Domain] {
        [.managed(name)] + ofUser(name) + ofAnyUser(name, in: system)
    }
}

extension DomainName {
    /// Makes a domain name from any text, escaped where it isn't a valid name; the arguments and the registered defaults have no
    /// file.
    ///
    /// - Parameter name: the text.
    /// - Throws: `invalidDomainName`, for those two.
    init(ofFile name: String) throws(DefaultsError) {
        if name == SearchLayer.argumentDomain || name == SearchLayer.registrationDomain {
            throw DefaultsError(
                .invalidDomainName,
                "\"\(name)\" is a domain of the process alone, in no file; use `setVolatileDomain(_:forName:)`.")
        }
        self.init(escaping: name)
    }
}
