import DefaultsCore

/// The replicas of domains, which are found by their names as well.
struct Replicas: Sendable {
    private var replicas: [DomainName: [Domain: Replica]] = [:]

    init(_ values: [Domain: DomainValues] = [:]) {
        for (domain, values) in values { replicas[domain.name, default: [:]][domain] = Replica(values: values) }
    }

    subscript(domain: Domain) -> Replica? { replicas[domain.name]?[domain] }

    /// The domains of a name that have a replica.
    func domains(named name: DomainName) -> [Domain] { replicas[name].map { Array($0.keys) } ?? [] }

    /// The domains that have values, in order.
    var domainsWithValues: [Domain] {
        replicas.values.flatMap { $0.filter { !$1.values.isEmpty }.keys }.sorted()
    }

    /// Changes a domain's replica in place; it is made if there is none.
    mutating func change<Value>(_ domain: Domain, _ body: (inout Replica) -> Value) -> Value {
        body(&replicas[domain.name, default: [:]][domain, default: Replica()])
    }

    /// Drops the replicas of a name.
    mutating func remove(_ name: DomainName) { replicas[name] = nil }

    /// Forgets which edits are under way; what they have set stays.
    mutating func forgetEdits() {
        replicas = replicas.mapValues { $0.mapValues { Replica(values: $0.values) } }
    }
}
