import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults explain domain key`.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Tells where a key's value comes from: every layer that has the key, the winning one first.",
        discussion: """
            An app of that name searches these layers, in this order: managed domains, which the system's administrator \
            forces; the domain for this host, and for any host; the global domain, likewise; the system's directories. An \
            app's own arguments come after the managed domains, and its registered defaults last; they are in no file.

            A file outside the preferences directory, named by its path, is no layer of another, and is shown alone.

            The key is taken whole: what is inside a value comes from where the value comes from.

            A line is the layer, its file and the value; the winning one has an asterisk. With --json it is one object: \
            "domain", "key", and "layers", a list of objects with "layer", "domain", "host", "file", "wins" and "value".

            EXAMPLES
              defaults explain org.example.editor fontSize
              defaults explain -g AppleLanguages
              defaults explain --json org.example.editor fontSize | jq -r '.layers[0].file'
            """)

    @OptionGroup var place: PlaceOptions
    @Flag(help: "Prints JSON.") var json = false
    @Option(help: "Colours: auto, always or never.") var color: ColorChoice = .auto
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key.", completion: Candidates.key) var key: String

    func run() throws {
        let open = try place.open(domain)
        var layers: [ExplainedLayer] = []
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
                ExplainedLayer(
                    domain: domain, path: try path(of: domain, open), isElsewhere: open.place.directory != nil,
                    value: value, wins: layers.isEmpty))
        }
        guard !layers.isEmpty else {
            if isDamaged { throw Failure("The key \"\(key)\" is in no layer that can be read.", .dataError) }
            var near = NearName.question(key, among: keys)
            // Perhaps it is the domain that was misspelt.
            if near.isEmpty, !isThere { near = NotFound.nearDomain(open, "the domain ") }
            let whose =
                open.place.directory == nil ? "No layer of \(open.domain.name) has" : "\(open.place.subject) has not"
            if near.isEmpty, let outer = containers.filter({ key.hasPrefix("\($0).") }).max() {
                near = " What is in \"\(outer)\" comes from where that comes from: explain \"\(outer)\"."
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
            try StandardOutput.write(ExplainedLayer.text(layers, ChangeText(isColored: color.isColored())))
        }
    }

    private func path(of domain: Domain, _ open: OpenDomain) throws -> String {
        open.backend.system.path(of: domain, besides: try place.directory(of: open.place))
    }
}
