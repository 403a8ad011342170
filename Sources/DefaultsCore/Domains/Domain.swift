/// One file of preferences: a name, for any host or for one.
package struct Domain: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var name: DomainName
    package var host: DomainHost

    package init(_ name: DomainName, host: DomainHost = .any) {
        self.name = name
        self.host = host
    }

    /// The name, with the host where there is one.
    package var description: String {
        host.identifier.map { "\(name) (host \($0))" } ?? name.description
    }

    package static func < (first: Domain, second: Domain) -> Bool {
        first.name == second.name ? first.host < second.host : first.name < second.name
    }
}
