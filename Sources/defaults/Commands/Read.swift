import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults read [domain [key]]`.
struct Read: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints all domains, a domain, or the value of a key.")

    @OptionGroup var place: PlaceOptions
    @Flag(help: "Prints JSON.") var json = false
    @Argument(help: "The domain; all when it is left out.", completion: Candidates.domain) var domain: String?
    @Argument(help: "The key; all when it is left out.", completion: Candidates.key) var key: String?

    func run() throws {
        let backend = try place.open()
        guard let domain else {
            var all: DomainValues = [:]
            for domain in try backend.domains() {
                all[domain.description] = .dictionary(try backend.snapshot(of: domain).values)
            }
            try show(.dictionary(all))
            return
        }
        let place = try place.domain(domain)
        let snapshot = try backend.snapshot(of: place)
        if let damage = snapshot.damage {
            guard !snapshot.values.isEmpty else { throw Failure(damage, .dataError) }
            Failure.note("\(damage) What follows is the last good state.")
        }
        guard !snapshot.values.isEmpty else {
            throw NotFound.domain(place, in: backend)
        }
        guard let key else {
            try show(.dictionary(snapshot.values))
            return
        }
        guard let value = snapshot.values[key] else {
            throw NotFound.key(key, in: snapshot)
        }
        try show(value)
    }

    private func show(_ value: PropertyListValue) throws {
        if json {
            try StandardOutput.write(JSONText.of(value) + "\n")
        } else if case .string(let text) = value {
            // A string alone is printed as it is.
            try StandardOutput.write(text + "\n")
        } else {
            var text = String(decoding: try value.write(as: .oldStyle), as: UTF8.self)
            // In a dictionary a number such as 1.5 has quotes, as only text can be written there; alone it needs none.
            switch value {
            case .integer, .unsigned, .real, .real32, .boolean, .date, .uid: text.removeAll { $0 == "\"" }
            case .string, .data, .array, .dictionary: break
            }
            try StandardOutput.write(text.hasSuffix("\n") ? text : text + "\n")
        }
    }
}
