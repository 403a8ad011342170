import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults delete-all domain [key]`.
struct DeleteAll: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-all",
        abstract: "Removes a domain, or a key of it, for any host and for every host.",
        discussion: """
            EXAMPLES
              defaults delete-all org.example.editor
              defaults delete-all org.example.editor FontSize
            """)

    @OptionGroup var place: PlaceOptions
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key, taken as it is; the whole domain when it is left out.", completion: Candidates.key)
    var key: String?

    func run() throws {
        let open = try place.open(domain)
        guard open.domain.host == .any else {
            throw Failure(
                DomainPlace.isPath(domain)
                    ? "delete-all is for every host, and \(domain) is for one; use `delete`, or the domain's name."
                    : "delete-all is for every host; leave -host and -currentHost away.", .usage)
        }
        var isFound = false
        var isDamaged = false
        var keys: Set<String> = []
        // A file elsewhere is that file alone: what lies in a ByHost beside it belongs to nobody who was named.
        let snapshots =
            open.place.directory == nil ? try open.backend.snapshots() : [try open.backend.snapshot(of: open.domain)]
        for snapshot in snapshots where snapshot.domain.name == open.domain.name {
            if let damage = snapshot.damage, snapshot.values.isEmpty {
                Failure.note(damage)
                isDamaged = true
            }
            keys.formUnion(snapshot.values.keys)
            guard !snapshot.values.isEmpty, key.map({ snapshot.values[$0] != nil }) ?? true else { continue }
            isFound = true
            if let damage = snapshot.damage { Failure.note("\(damage) \(OpenDomain.replacement)") }
            let values: Difference = key.map { [$0: nil] } ?? [:]
            let place = DomainPlace(snapshot.domain, directory: open.place.directory)
            try OpenDomain(place: place, backend: open.backend).edit(values, replacesAll: key == nil)
        }
        if isDamaged { throw ExitCode(ExitStatus.dataError.rawValue) }
        guard isFound else {
            let what = key.map { "has no key \"\($0)\"" } ?? "does not exist"
            let near = keys.isEmpty ? NotFound.nearDomain(open) : key.map { NearName.question($0, among: keys) } ?? ""
            throw Failure(
                "\(open.place.subject) \(what) for any host or for one; nothing is deleted.\(near)", .notFound)
        }
    }
}
