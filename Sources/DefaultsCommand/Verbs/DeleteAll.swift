import ArgumentParser
import DefaultsClient
import DefaultsCore

/// `defaults delete-all domain [key]`.
struct DeleteAll: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-all",
        abstract: "Delete a domain or a key for all hosts.",
        discussion: """
            Deletes the values for any host and those for each specific host.

            EXAMPLES
              defaults delete-all org.example.editor
              defaults delete-all org.example.editor FontSize
            """)

    @OptionGroup var location: LocationOptions
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key, taken literally. Without it, the whole domain is deleted.", completion: Candidates.key)
    var key: String?

    func run() throws {
        let open = try location.open(domain)
        guard open.domain.host == .any else {
            throw Failure(
                DomainLocation.isPath(domain)
                    ? "delete-all applies to all hosts, but \(domain) is for one; use `delete` or the domain's name."
                    : "delete-all applies to all hosts; remove -host and -currentHost.", .usage)
        }
        var isFound = false
        var isDamaged = false
        var keys: Set<String> = []
        // A file outside the preferences directory has no per-host files: a ByHost directory beside it is unrelated.
        let snapshots =
            open.location.directory == nil ? try open.backend.snapshots() : [try open.backend.snapshot(of: open.domain)]
        for snapshot in snapshots where snapshot.domain.name == open.domain.name {
            if let damage = snapshot.damage, snapshot.values.isEmpty {
                Failure.report(damage)
                isDamaged = true
            }
            keys.formUnion(snapshot.values.keys)
            guard !snapshot.values.isEmpty, key.map({ snapshot.values[$0] != nil }) ?? true else { continue }
            isFound = true
            if let damage = snapshot.damage { Failure.report("\(damage) \(OpenDomain.replacement)") }
            let values: Difference = key.map { [$0: nil] } ?? [:]
            // Another connection each time, since the first may be lost.
            let found = try location.open(DomainLocation(snapshot.domain, directory: open.location.directory))
            try found.edit(values, replacesAll: key == nil)
        }
        if isDamaged { throw ExitCode(ExitStatus.dataError.rawValue) }
        guard isFound else {
            let what = key.map { "has no key \"\($0)\"" } ?? "does not exist"
            let near =
                keys.isEmpty ? NotFound.suggestedDomain(open) : key.map { Suggestion.question($0, among: keys) } ?? ""
            throw Failure(
                "\(open.location.subject) \(what) for any host; nothing is deleted.\(near)", .notFound)
        }
    }
}
