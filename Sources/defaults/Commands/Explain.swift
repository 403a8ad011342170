import ArgumentParser
import DefaultsCore
import DefaultsKit
import PropertyList

/// `defaults explain domain key`.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tells where a key's value comes from: every layer that has the key, the winning one first.",
        discussion: """
            An app of that name searches these layers, in this order: managed domains, which the system's administrator \
            forces; the domain for this host, and for any host; the global domain, likewise; the system's directories. An \
            app's own arguments come after the managed domains, and its registered defaults last; they are in no file.

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
    @Argument(help: "The domain.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key.", completion: Candidates.key) var key: String

    func run() throws {
        let application = try place.domain(domain)
        let host = application.host == .any ? nil : application.host
        let backend = try place.open()
        let (directory, _) = try place.resolve()
        var layers: [ExplainedFile] = []
        var keys: Set<String> = []
        for domain in backend.layers(of: application.name, onHost: host) {
            let snapshot = try backend.snapshot(of: domain)
            if let damage = snapshot.damage { Failure.note(damage) }
            keys.formUnion(snapshot.values.keys)
            guard let value = snapshot.values[key] else { continue }
            layers.append(
                ExplainedFile(
                    domain: domain, path: backend.system.path(of: domain, besides: directory), value: value,
                    wins: layers.isEmpty))
        }
        if layers.isEmpty {
            var near = NearName.question(key, among: keys)
            if near.isEmpty {
                // Perhaps it is the domain that was misspelt.
                let names = ((try? backend.domains()) ?? []).map(\.name)
                let isKnown = names.contains(application.name)
                near = isKnown ? "" : NearName.question(domain, among: names.map(\.description))
            }
            throw Failure("No layer of \(application.name) has the key \"\(key)\".\(near)", .notFound)
        }
        if json {
            let entries = [
                ("domain", JSONText.string(application.name.description)), ("key", JSONText.string(key)),
                ("layers", ChangeJSON.list(layers.map(\.json))),
            ]
            try StandardOutput.write(JSONText.object(entries) + "\n")
        } else {
            try StandardOutput.write(ExplainedFile.text(layers, ChangeText(isColored: color.isColored())))
        }
    }
}
