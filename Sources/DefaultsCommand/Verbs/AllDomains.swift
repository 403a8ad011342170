import ArgumentParser
import DefaultsClient
import DefaultsCore

/// All domains for the chosen host, or for any host.
struct AllDomains {
    /// A domain with its values.
    struct Entry {
        let domain: Domain
        let values: DomainValues

        /// The name in the output, as Apple's tool prints it.
        var title: String { domain.name.isGlobal ? "Apple Global Domain" : domain.name.description }
    }

    /// The domains that have values, sorted by name.
    private(set) var domains: [Entry] = []
    private var isComplete = true

    /// Reads all domains, and reports damaged ones.
    init(_ location: LocationOptions) throws(DefaultsError) {
        let host = try location.chosenHost()
        for snapshot in try location.open().backend.snapshots() where snapshot.domain.host == host {
            if let damage = snapshot.damage {
                let hasValues = !snapshot.values.isEmpty
                Failure.report("\(damage) \(hasValues ? "Showing its last good values." : "It is left out.")")
                if !hasValues { isComplete = false }
            }
            if !snapshot.values.isEmpty { domains.append(Entry(domain: snapshot.domain, values: snapshot.values)) }
        }
    }

    /// Throws the status for a data error if a domain had to be left out.
    func finish() throws {
        if !isComplete { throw ExitCode(ExitStatus.dataError.rawValue) }
    }
}
