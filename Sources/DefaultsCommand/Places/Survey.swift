import ArgumentParser
import DefaultsCore
import DefaultsKit

/// All domains of the host that was asked for, or of any, with what is wrong.
struct Survey {
    /// A domain with its values.
    struct Entry {
        let domain: Domain
        let values: DomainValues

        /// The name as Apple's tool prints it.
        var title: String { domain.name.isGlobal ? "Apple Global Domain" : domain.name.description }
    }

    /// The domains that have values, in order.
    private(set) var domains: [Entry] = []
    private var isComplete = true

    /// Reads all domains; damaged ones are told of.
    init(_ place: PlaceOptions) throws(DefaultsError) {
        let host = try place.chosenHost()
        for snapshot in try place.open().snapshots() where snapshot.domain.host == host {
            if let damage = snapshot.damage {
                let hasValues = !snapshot.values.isEmpty
                Failure.note("\(damage) \(hasValues ? "What is printed is the last good state." : "It is left out.")")
                if !hasValues { isComplete = false }
            }
            if !snapshot.values.isEmpty { domains.append(Entry(domain: snapshot.domain, values: snapshot.values)) }
        }
    }

    /// Ends the command with a status that says so if a domain had to be left out.
    func finish() throws {
        if !isComplete { throw ExitCode(ExitStatus.dataError.rawValue) }
    }
}
