import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults write domain key value` and `defaults write domain '{…}'`.
struct Write: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sets a key, or with a dictionary alone all keys of a domain.",
        usage: """
            defaults write <domain> <key> <value>
            defaults write <domain> <key> -int 5
            defaults write <domain> '{key = value;}'
            """,
        discussion: """
            A value is a property list in old-style text or XML, or one of -string TEXT, -int N, -float N, -bool \
            true|false|yes|no, -data HEX, -date "YYYY-MM-DD HH:MM:SS +ZZZZ", -array VALUE…, -dict KEY VALUE….
            """)

    @OptionGroup var place: PlaceOptions
    @Argument(help: "The domain.", completion: Candidates.domain) var domain: String
    @Argument(parsing: .captureForPassthrough, help: "The key and its value.", completion: Candidates.key)
    var operands: [String] = []

    func run() throws {
        let domain = try place.domain(domain)
        let edit = try Operands.parse(operands)
        let backend = try place.open()
        if let damage = try backend.snapshot(of: domain).damage {
            Failure.note("\(damage) It is copied beside itself before it is replaced.")
        }
        switch edit {
        case .set(let key, let value): try backend.edit(domain, [key: value], replacesAll: false)
        case .replaceAll(let values): try backend.edit(domain, values.mapValues { $0 }, replacesAll: true)
        }
        try backend.synchronize(domain)
    }
}
