import ArgumentParser
import DefaultsCore
import Manifests
import PropertyList

/// `defaults describe [domain [key]]`.
struct Describe: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Show what the keys of a domain mean.",
        discussion: """
            Shows what the domain's manifest says: for each key its type, what it may be, and the value that an app \
            finds, or the default in parentheses. With a key, or an entry of a dictionary such as Proxy.Port, shows \
            everything about it, and what its value breaks. \
            Without a domain, lists all manifests.

            A manifest is a property list in $XDG_DATA_HOME/defaultsd/manifests, or below each of $XDG_DATA_DIRS, \
            that is named like the domain's file. --json prints an object for each key, one a line, with the entries \
            "key", "type", "rule" (what a value may be, in words), "scope", and where there are any, "title", \
            "description", "reference", "note", "unit", "default", "value", "choices", "minimum", "maximum", \
            "format", "subkeys", and as true "required", "hidden", "sensitive", "flags" and "custom" (whether values \
            other than the choices are allowed); and "violations", sentences about what the value breaks. Without a \
            domain, it prints an object with "sensitive", patterns of all secret keys such as "org.example.*/Token", \
            and "unknown", the domains whose manifests can't be used; and then an object for each manifest: "domain", \
            "title", "file", "enforced" and "keys".

            EXAMPLES
              defaults describe org.example.editor
              defaults describe org.example.editor FontSize
              defaults describe --json org.example.editor | jq -r .key
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var style: ColorOption
    @Argument(help: "The domain (default: all that have a manifest).", completion: Candidates.domain)
    var domain: String?
    @Argument(help: "The key (default: every key).", completion: Candidates.key) var key: String?

    func run() throws {
        guard let domain else { return try list() }
        let open = try location.open(domain)
        let manifest = try DomainManifest.required(open.location.describedName).manifest
        // An app may have no values yet.
        var sensitive = SensitiveKeys()
        var values = try open.effectiveValuesIfAny()
        if let name = open.location.describedName { values = sensitive.masked(values, beyond: manifest, of: name) }
        let text = ManifestText(manifest: manifest, values: values, style: style.text)
        func json(_ key: ManifestKey, at path: [String]) -> String {
            var entries = ManifestText.json(key, value: ManifestText.value(at: path, in: values))
            let violations = ManifestText.violations(at: path, of: manifest, in: values)
            if !violations.isEmpty { entries["violations"] = .array(violations.map { .string($0.description) }) }
            return JSONText.of(.dictionary(entries)) + "\n"
        }
        guard let key else {
            let all = self.json ? manifest.keys.map { json($0, at: [$0.name]) }.joined() : text.list()
            return try StandardOutput.write(all)
        }
        guard let found = manifest.key(at: key)?.key ?? manifest.key(named: key) else {
            let question = Suggestion.question(key, among: manifest.keys.map(\.name))
            throw Failure("The manifest of \(open.domain.name) has no key \"\(key)\".\(question)", .notFound)
        }
        try StandardOutput.write(
            self.json ? json(found, at: manifest.key(at: key)?.path ?? [key]) : text.details(of: found, named: key))
    }

    /// Lists all manifests.
    private func list() throws {
        let set = ManifestSet(in: ManifestDirectories(environment: .current), keepsTexts: true)
        for problem in set.problems { Failure.report("\(problem)") }
        if json {
            let about: DomainValues = [
                "sensitive": .array(set.exclusions.map { .string($0) }),
                "unknown": .array(set.unknown.sorted().map { .string($0) }),
            ]
            return try StandardOutput.write(
                JSONText.of(.dictionary(about)) + "\n" + set.all.map { Self.json(of: $0.name, $0.entry) }.joined())
        }
        let width = set.all.map(\.name.printable.count).max() ?? 0
        let lines = set.all.map { name, entry in
            let title = entry.manifest.texts.title.map { "  \($0)" } ?? ""
            let count = entry.manifest.keys.count.counting("key")
            return name.printable.padded(to: width) + "  \(count)\(title)".printable + "\n"
        }
        try StandardOutput.write(lines.joined())
        if lines.isEmpty { Failure.report("There are no manifests.") }
    }

    private static func json(of name: String, _ entry: ManifestSet.Entry) -> String {
        var entries: DomainValues = [
            "domain": .string(name), "file": .string(entry.path), "enforced": .boolean(entry.isEnforced),
            "keys": .array(entry.manifest.keys.map { .dictionary(ManifestText.json($0)) }),
        ]
        entries["title"] = entry.manifest.texts.title.map { .string($0) }
        return JSONText.of(.dictionary(entries)) + "\n"
    }
}
