/// A set of domains' names that is hashed and, as a rule, compared in the same time however many names it has.
package struct DomainNames: Hashable, Sendable {
    private var names: Set<DomainName> = []
    /// The hashes of the names, combined so that their order doesn't count.
    private var mark = 0

    package var count: Int { names.count }

    package func contains(_ name: DomainName) -> Bool { names.contains(name) }

    /// The names, in order.
    package func sorted() -> [DomainName] { names.sorted() }

    mutating func insert(_ name: DomainName) {
        if names.insert(name).inserted { mark ^= name.hashValue }
    }

    mutating func remove(_ name: DomainName) {
        if names.remove(name) != nil { mark ^= name.hashValue }
    }

    package static func == (first: DomainNames, second: DomainNames) -> Bool {
        first.mark == second.mark && first.names == second.names
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(mark) }
}
