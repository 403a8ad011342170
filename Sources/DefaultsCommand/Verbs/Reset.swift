import ArgumentParser
import DefaultsCore
import Manifests
import PropertyList

/// `defaults reset domain [key…]`.
struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Remove settings, so that their defaults apply.",
        discussion: """
            Removes keys that the domain's manifest describes, as one change, and prints the values that apply then. \
            Without keys, removes all settings, but not keys that the manifest requires, calls noise, or doesn't \
            describe. The domain needs a manifest; `delete` removes any key.

            EXAMPLES
              defaults reset org.example.editor FontSize
              defaults reset org.example.editor --dry-run
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Show what would be changed, but change nothing.") var dryRun = false
    @OptionGroup var style: ColorOption
    @Argument(help: "The domain.", completion: Candidates.domain) var domain: String
    @Argument(help: "The keys (default: all settings).", completion: Candidates.key) var keys: [String] = []

    func run() throws {
        var open = try location.open(domain)
        let manifest = try DomainManifest.required(open.location.describedName).manifest
        for key in keys where manifest.key(named: key) == nil {
            let question = Suggestion.question(key, among: manifest.keys.map(\.name))
            throw Failure(
                "The manifest of \(open.domain.name) has no key \"\(key)\"; nothing is reset.\(question)", .notFound)
        }
        let values = try open.valuesToReplace()
        let wanted =
            keys.isEmpty ? manifest.keys.filter { $0.scope != .noise && !$0.isRequired }.map(\.name) : keys
        let removed = wanted.filter { values[$0] != nil }
        guard !removed.isEmpty else {
            throw Failure("\(open.location.subject) has no value to reset.", .notFound)
        }
        if !dryRun { try open.edit(Difference(removed.map { ($0, nil) }) { $1 }) }
        let effective = try open.effectiveValuesIfAny()
        let text = style.text
        var sensitive = SensitiveKeys()
        for key in removed.sorted() {
            let spec = manifest.key(named: key)
            let isSecret =
                spec?.containsSensitive == true
                || open.location.describedName.map { sensitive.contains(key, of: $0) } == true
            // Before a dry run's change, the value is still in effect.
            let next = (dryRun ? nil : effective[key]) ?? spec?.effectiveDefault
            let change = KeyChange(
                key: key, old: isSecret ? SensitiveKeys.mask : values[key],
                new: isSecret ? next.map { _ in SensitiveKeys.mask } : next)
            try StandardOutput.write("\(text.name(open.domain)) \(text.text(change))\n")
        }
    }
}
