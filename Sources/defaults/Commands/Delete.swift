import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults delete domain [key]`.
struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Removes a domain, or a key of it.", aliases: ["remove"])

    @OptionGroup var place: PlaceOptions
    @Argument(help: "The domain.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key; the whole domain when it is left out.", completion: Candidates.key) var key: String?

    func run() throws {
        let domain = try place.domain(domain)
        let backend = try place.open()
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage, snapshot.values.isEmpty { throw Failure(damage, .dataError) }
        guard !snapshot.values.isEmpty else {
            throw NotFound.domain(domain, in: backend, "; nothing is deleted")
        }
        if let key {
            guard snapshot.values[key] != nil else {
                throw NotFound.key(key, in: snapshot, "; nothing is deleted")
            }
            try backend.edit(domain, [key: nil], replacesAll: false)
        } else {
            try backend.edit(domain, [:], replacesAll: true)
        }
        try backend.synchronize(domain)
    }
}
