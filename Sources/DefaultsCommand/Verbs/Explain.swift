import ArgumentParser
import DefaultsClient
import DefaultsCore
import PropertyList

/// `defaults explain domain key`.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show which layers have a key, and which one wins.",
        discussion: """
            An app searches these layers in this order: managed domains, which an administrator enforces; its domain, \
            for this host and then for any host; the global domain, likewise; the system's directories. An app's own \
            arguments come after the managed domains, and its registered defaults come last; neither is in a file. A \
            file outside the preferences directory is not part of any search list and is shown alone.

            Prints one line for each layer that has the key: the layer, its file and the value. An asterisk marks the \
            layer that wins. --json prints one object: "domain", "key", and "layers", a list of objects with "layer", \
            "domain", "host", "file", "wins" and "value". The key is taken literally; it can't be a path.

            EXAMPLES
              defaults explain org.example.editor fontSize
              defaults explain -g AppleLanguages
              defaults explain --json org.example.editor fontSize | jq -r '.layers[0].file'
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false
    @Option(help: ArgumentHelp("Use colors: auto, always or never.", valueName: "when"))
    var color: ColorChoice = .auto
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key.", completion: Candidates.key) var key: String

    func run() throws {
        let open = try location.open(domain)
        var layers: [LayerLine] = []
        var keys: Set<String> = []
        var containers: Set<String> = []
        var isThere = false
        var isDamaged = false
        for domain in open.layers {
            let snapshot = try open.backend.snapshot(of: domain)
            if let damage = snapshot.damage {
                Failure.note(damage)
                isDamaged = true
            }
            keys.formUnion(snapshot.values.keys)
            containers.formUnion(snapshot.values.filter { !$1.fits(depth: 0) }.keys)
            if domain.name == open.domain.name, !snapshot.values.isEmpty { isThere = true }
            guard let value = snapshot.values[key] else { continue }
            layers.append(
                LayerLine(
                    domain: domain, path: try path(of: domain, open), isElsewhere: open.location.directory != nil,
                    value: value, wins: layers.isEmpty))
        }
        guard !layers.isEmpty else {
            if isDamaged { throw Failure("No readable layer has the key \"\(key)\".", .dataError) }
            var near = Suggestion.question(key, among: keys)
            // Perhaps the domain was misspelled.
            if near.isEmpty, !isThere { near = NotFound.suggestedDomain(open, "the domain ") }
            let whose =
                open.location.directory == nil
                ? "No layer of \(open.domain.name) has" : "\(open.location.subject) does not have"
            if near.isEmpty, let outer = containers.filter({ key.hasPrefix("\($0).") }).max() {
                near =
                    " Values inside \"\(outer)\" come from the same layer as \"\(outer)\"; run `explain` on that key."
            }
            throw Failure("\(whose) the key \"\(key)\".\(near)", .notFound)
        }
        if json {
            let entries = [
                ("domain", JSONText.string(open.domain.name.description)), ("key", JSONText.string(key)),
                ("layers", ChangeJSON.list(layers.map(\.json))),
            ]
            try StandardOutput.write(JSONText.object(entries) + "\n")
        } else {
            try StandardOutput.write(LayerLine.text(layers, ChangeText(isColored: color.isColored())))
        }
    }

    private func path(of domain: Domain, _ open: OpenDomain) throws -> String {
        open.backend.system.path(of: domain, besides: try location.directory(of: open.location))
    }
}
