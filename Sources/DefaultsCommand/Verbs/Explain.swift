import ArgumentParser
import DefaultsClient
import DefaultsCore
import Manifests
import PropertyList

/// `defaults explain domain [key]`.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show which layers have a key, and which one wins.",
        discussion: """
            An app searches these layers in this order: managed domains, which an administrator enforces; its domain, \
            for this host and then for any host; the global domain, likewise; the system's directories. An app's own \
            arguments come after the managed domains, and its registered defaults come last; neither is in a file. A \
            file outside the preferences directory is not part of any search list and is shown alone.

            With a key, the default in the domain's manifest comes last. It isn't a layer, but what the app is meant \
            to use if no layer has the key.

            Prints one line for each layer that has the key: the layer, its file and the value. An asterisk marks the \
            layer that wins. --json prints one object: "domain", "key", and "layers", a list of objects with "layer", \
            "domain", "host", "file", "format" (xml, binary or old-style), "wins" and "value"; and "default", if the \
            manifest has one. The key is read literally; it can't be a path.

            Without a key, prints one line for each key that an app finds: the key, the layer that wins, its file and \
            the value. --json then prints an object for each key, one a line.

            EXAMPLES
              defaults explain org.example.editor
              defaults explain org.example.editor fontSize
              defaults explain -g AppleLanguages
              defaults explain --json org.example.editor fontSize | jq -r '.layers[0].file'
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var style: ColorOption
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The key (default: every key).", completion: Candidates.key) var key: String?

    func run() throws {
        let open = try location.open(domain)
        let snapshots = try open.layers.map { try open.backend.snapshot(of: $0) }
        let damages = snapshots.compactMap(\.damage)
        for damage in damages { Failure.report(damage) }
        let all = Set(snapshots.flatMap(\.values.keys)).sorted()
        let directory = try location.directory(of: open.location)
        let files = snapshots.map { snapshot in
            let path = open.backend.system.path(of: snapshot.domain, besides: directory)
            return (path, json ? LayerLine.format(ofFile: path) : nil)
        }
        let layers = Array(zip(snapshots, files))
        var sensitive = SensitiveKeys()
        let found = (key.map { [$0] } ?? all).map { ($0, Self.layers(of: $0, in: layers, open, but: &sensitive)) }
        let standard = key.flatMap { Self.standard(of: $0, open) }
        guard found.first?.1.isEmpty == false || standard != nil else { throw missing(open, snapshots, among: all) }
        let style = style.text
        if json {
            try StandardOutput.write(
                found.map { Self.json(key: $0, of: open.domain.name, $1, default: standard?.value) }.joined())
        } else if key != nil {
            try StandardOutput.write(LayerLine.text(found[0].1, default: standard, in: style))
        } else {
            try StandardOutput.write(LayerLine.text(found.map { ($0, $1[0]) }, in: style))
        }
    }

    /// Returns the default of a key in the domain's manifest, and the manifest's path.
    private static func standard(of key: String, _ open: OpenDomain) -> (path: String, value: PropertyListValue)? {
        guard let manifest = DomainManifest.find(open.location.describedName),
            let about = manifest.manifest.key(named: key), let value = about.effectiveDefault
        else { return nil }
        return (manifest.entry.path, about.containsSensitive ? SensitiveKeys.mask : value)
    }

    /// Returns the layers that have a key, the one that wins first, without the values of sensitive keys.
    private static func layers(
        of key: String, in layers: [(DomainSnapshot, file: (path: String, format: DocumentFormat?))],
        _ open: OpenDomain,
        but sensitive: inout SensitiveKeys
    ) -> [LayerLine] {
        var found: [LayerLine] = []
        let isSensitive = open.location.describedName.map { sensitive.contains(key, of: $0) } ?? false
        for (snapshot, file) in layers {
            guard let value = snapshot.values[key] else { continue }
            found.append(
                LayerLine(
                    domain: snapshot.domain, path: file.path, format: file.format,
                    isElsewhere: open.location.directory != nil, value: isSensitive ? SensitiveKeys.mask : value,
                    wins: found.isEmpty))
        }
        return found
    }

    private static func json(
        key: String, of name: DomainName, _ layers: [LayerLine], default standard: PropertyListValue?
    ) -> String {
        var entries = [
            ("domain", JSONText.string(name.description)), ("key", JSONText.string(key)),
            ("layers", ChangeJSON.list(layers.map(\.json))),
        ]
        if let standard { entries.append(("default", JSONText.of(standard))) }
        return JSONText.object(entries) + "\n"
    }

    /// Returns the failure for a key, or a domain, that no layer has.
    private func missing(_ open: OpenDomain, _ snapshots: [DomainSnapshot], among keys: [String]) -> Failure {
        let isDamaged = snapshots.contains { $0.damage != nil }
        guard let key else {
            return isDamaged ? Failure("No readable layer has values.", .dataError) : NotFound.domain(open)
        }
        if isDamaged { return Failure("No readable layer has the key \"\(key)\".", .dataError) }
        var near = Suggestion.question(key, among: keys)
        // Perhaps the domain was misspelled.
        if near.isEmpty, !snapshots.contains(where: { $0.domain.name == open.domain.name && !$0.values.isEmpty }) {
            near = NotFound.suggestedDomain(open, after: "the domain ")
        }
        let whose =
            open.location.directory == nil
            ? "No layer of \(open.domain.name) has" : "\(open.location.subject) does not have"
        let containers = Set(snapshots.flatMap { $0.values.filter { !$1.fits(depth: 0) }.keys })
        if near.isEmpty, let outer = containers.filter({ key.hasPrefix("\($0).") }).max() {
            near = " Values inside \"\(outer)\" come from the same layer as \"\(outer)\"; run `explain` on that key."
        }
        return Failure("\(whose) the key \"\(key)\".\(near)", .notFound)
    }
}
