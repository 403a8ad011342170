import ArgumentParser
import DefaultsClient
import DefaultsCore
import Linux
import Manifests
import PropertyList

/// `defaults apply PROFILE`.
struct Apply: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply a profile.",
        discussion: """
            Sets and removes the keys in a profile, a property list from `defaults record`, as one change set for each \
            domain, and prints what changes. Applying a profile again changes nothing.

            The agent remembers the changes under the profile's name, which is the file's name unless --name is \
            given. --prune also resets keys that the profile set before but no longer mentions: they get back their \
            former values. --undo resets all keys of the profile in this way. Keys that others have changed since are \
            listed, and keep their values; the exit status of --undo is then 1.

            \(StrictOption.discussion)

            EXAMPLES
              defaults apply dark.plist --dry-run
              defaults apply dark.plist --prune
              defaults apply --undo dark
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Show what would be changed, but change nothing.") var dryRun = false
    @OptionGroup var strict: StrictOption
    @Flag(help: "Reset keys that the profile no longer mentions.") var prune = false
    @Option(help: ArgumentHelp("The profile's name (default: the name of the file).", valueName: "name"))
    var name: String?
    @Option(help: ArgumentHelp("Reset all keys that the profile of this name has set.", valueName: "name"))
    var undo: String?
    @OptionGroup var style: ColorOption
    @Argument(help: "The profile, or - for standard input.", completion: .file()) var path: FilePath?

    func validate() throws {
        guard (path == nil) != (undo == nil) else {
            throw ValidationError("Name a profile's file, or use --undo with a profile's name.")
        }
        if undo != nil, prune || name != nil { throw ValidationError("Don't combine --undo with --prune or --name.") }
        if let path, path.isStandard, name == nil {
            throw ValidationError("A profile from standard input needs a --name.")
        }
    }

    func run() throws {
        let profile = try path.map { path throws(Failure) in try Profile(try InputDocument(path)) } ?? Profile()
        let name = undo ?? name ?? path.map { Self.name(of: $0) } ?? ""
        let opened = try location.open()
        let backend = opened.backend
        let style = style.text
        // Read the history before the first change, so that nothing is changed if it can't be read.
        let trace = try prune || undo != nil ? trace(of: name) : nil
        var changed: Set<Domain> = []
        // Nothing is changed if a later domain's values are refused.
        for (domain, edit) in profile.edits.sorted(by: { $0.key < $1.key }) {
            guard let manifest = DomainManifest.find(domain.name) else { continue }
            let old = try backend.snapshot(of: domain).values
            var values = old
            for (key, value) in edit { values[key] = value }
            let changed = Set(edit.keys.filter { values[$0] != old[$0] })
            try manifest.check(changed, from: old, to: values, isStrict: strict.isStrict)
        }
        for (domain, edit) in profile.edits.sorted(by: { $0.key < $1.key }) {
            let changes = Self.changes(edit, in: try backend.snapshot(of: domain).values)
            if changes.isEmpty { continue }
            try show(changes, of: domain, style)
            changed.insert(domain)
            if dryRun { continue }
            try backend.edit(
                domain, with: edit, replacesAll: false, expecting: nil, origin: Caller.origin(.profile(name)))
            backend.reportForcedKeys(edit.keys, of: domain)
        }
        if !dryRun, !changed.isEmpty, let warning = warning(about: opened.agent) {
            Failure.report(warning)
        }
        let hasKept =
            try trace.map { try reset($0, of: name, but: profile, in: style, with: backend, changed: &changed) }
            ?? false
        if !dryRun {
            for domain in changed.sorted() { try backend.synchronize(domain) }
        }
        if undo != nil, hasKept { throw ExitCode(1) }
        if undo != nil, changed.isEmpty {
            let hint = name.hasSuffix(".plist") ? " The name of a profile doesn't end with \".plist\"." : ""
            throw Failure("No key still has a value set by a profile \"\(name.printable)\".\(hint)", .notFound)
        }
    }

    /// Gives keys that a profile has set their former values, except for those that it still mentions.
    ///
    /// - Returns: Whether keys keep their values because they have been changed since.
    private func reset(
        _ trace: ProfileTrace, of name: String, but profile: Profile, in style: ChangeText, with backend: any Backend,
        changed: inout Set<Domain>
    ) throws -> Bool {
        var kept: [String] = []
        func report(_ key: String, of domain: Domain, _ explanation: String = "") {
            kept.append("\(style.name(domain)) \(key.printable) was changed later\(explanation), and keeps its value.")
        }
        for (domain, keys) in trace.keys.sorted(by: { $0.key < $1.key }) {
            let changes = keys.filter { profile.edits[domain]?[$0.key] == nil }
                .map { KeyChange(key: $0, old: $1.former, new: $1.value) }
            let outcome = try backend.takeBack(
                ChangeSet(domain: domain, source: .app(.current), changes: changes), for: .reset(ofProfile: name),
                by: Caller.program, isDry: dryRun)
            for key in outcome.kept.keys { report(key, of: domain) }
            if outcome.changes.isEmpty { continue }
            try show(outcome.changes, of: domain, style)
            if !dryRun { backend.reportForcedKeys(outcome.changes.map(\.key), of: domain) }
            changed.insert(domain)
        }
        for (domain, keys) in trace.changed {
            for (key, record) in keys where profile.edits[domain]?[key] == nil {
                report(key, of: domain, style.explanation(record))
            }
        }
        kept += trace.excluded.filter { profile.edits[$0] == nil }.map { style.excluded($0) }
        for note in kept.sorted() { Failure.report(note) }
        if let problem = trace.problem { Failure.report("\(problem)") }
        return !kept.isEmpty
    }

    private func trace(of name: String) throws -> ProfileTrace {
        try ProfileTrace(ofProfile: name, in: try location.openHistory(of: SubscriptionFilter()).1)
    }

    private func show(_ changes: [KeyChange], of domain: Domain, _ style: ChangeText) throws {
        var sensitive = SensitiveKeys()
        let lines = changes.map { "\(style.name(domain)) \(style.text(sensitive.masked($0, of: domain)))\n" }
        try StandardOutput.write(lines.joined())
    }

    /// Returns a warning that the changes aren't remembered, because no agent runs or it is too old; `nil` if they are.
    private func warning(about agent: AgentConnection?) -> String? {
        guard let agent else {
            return "Without an agent, these changes aren't in the history, so --prune and --undo won't find them. To "
                + "start an agent, run \(location.agentCommand)."
        }
        return HistoryReader.problem(with: agent).map {
            "\($0) These changes aren't in the history, so --prune and --undo won't find them."
        }
    }

    private static func changes(_ edit: Difference, in values: DomainValues) -> [KeyChange] {
        edit.sorted { $0.key < $1.key }.compactMap { key, value in
            PropertyListValue.areSame(value, inEffect: values[key])
                ? nil : KeyChange(key: key, old: values[key], new: value)
        }
    }

    /// Returns the name of a profile's file, without its extension.
    private static func name(of path: FilePath) -> String {
        let name = Path.lastName(of: InputFile.title(path))
        return name.hasSuffix(".plist") ? String(name.dropLast(6)) : name
    }
}
