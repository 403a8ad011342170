import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// The switch of GSettings between dconf and the agent.
///
/// Nothing is lost if it ends halfway: a dump of dconf is stored first, then values are carried, and the switch comes
/// last. Until then, the side that was in use stays in use, and its values aren't touched. Running it again continues.
///
/// Programs that were started before a switch still change the other side's values. So if the switch stands already,
/// the same command carries what has changed there since.
struct GSettingsSwitching {
    private let location: any LocationChoice
    private let environment: Environment
    private let selector: GSettingsSwitch
    /// The side whose values are used where both have changed.
    private let preferred: GSettingsSide?

    init(at location: any LocationChoice, preferring preferred: GSettingsSide?) throws {
        (self.location, self.preferred) = (location, preferred)
        environment = .current
        selector = try GSettingsSwitch(environment)
    }

    // MARK: To the agent

    /// Imports dconf's values, and turns the switch on.
    func enable() throws {
        guard let converter = GSettingsConverter(), try converter.backends().contains("defaultsd") else {
            throw Failure(
                "The backend of GSettings isn't installed, so nothing was changed. \(GSettingsConverter.installation)",
                .unavailable)
        }
        let dumps = try dumps()
        let lock = try dumps.lock()
        defer { withExtendedLifetime(lock) {} }
        guard let program = DconfDatabase.program(in: environment) else {
            if selector.isOn { return try StandardOutput.write("GSettings uses defaultsd already.\n") }
            let file = try DconfDatabase.file(in: environment)
            if !Path.isMissing(file) {
                throw Failure(
                    "The values in \(file) can't be imported, since the program dconf isn't in the PATH. Nothing was "
                        + "changed. \(DconfDatabase.installation)", .unavailable)
            }
            try dumps.begin(with: [])
            return try finishEnabling(dumps, reporting: "There is no dconf, so no values were imported.\n")
        }
        let database = try DconfDatabase(program: program, dumps: dumps, environment: environment)
        let dump = try database.dump()
        let copy = try dumps.store(dump)
        let source = try converter.values(inDump: dump)
        let history = try history(dumps, by: converter)
        let backend = try location.open().backend
        let own = try OwnValues.all(in: backend, needed: [source.domains, history.agreed] + history.pending)
        // Other forms that programs read as the same value aren't differences. A value that fits no form stays one.
        let read = try converter.values(own.mapValues(\.values), typedBy: dumps.known() + [copy])
        let names = Set(source.domains.keys).union(history.agreed.keys).union(read.domains.keys)
        let target = own.mapValues(\.values).filter { names.contains($0.key) && !$0.value.isEmpty }
            .merging(read.domains) { $0.merging($1) { $1 } }
        let merge = try merge(from: source, to: target, since: history, side: .dconf)
        try dumps.begin(with: dump)
        try edit(merge.changes, of: own, in: backend)
        if !selector.isOn { show(merge.kept, against: .dconf) }
        for name in source.unfit {
            Failure.report("\(name) isn't imported: it can't be a preference, or its type isn't the schema's.")
        }
        let text = "\(merge.changes.count.counting("key")) changed in the preferences. A dump of dconf is in \(copy).\n"
        try finishEnabling(dumps, reporting: text)
    }

    private func finishEnabling(_ dumps: GSettingsDumps, reporting text: String) throws {
        let isSwitched = selector.isOn
        if !isSwitched { try selector.turnOn() }
        try dumps.end()
        if let variable = environment["GSETTINGS_BACKEND"], variable != "defaultsd" {
            Failure.report("GSETTINGS_BACKEND=\(variable) overrides this for programs with that variable. Remove it.")
        }
        let state =
            isSwitched
            ? "GSettings uses defaultsd already.\n"
            : "GSettings uses defaultsd from now on. Log out and in again, so that running programs do, too; then run "
                + "this again, which imports what they have set until then.\n"
        try StandardOutput.write(text + state)
    }

    /// Sets and removes keys, each where the user has it, unless another program changes it first.
    private func edit(
        _ changes: [GSettingsMerge.Item], of own: [String: OwnValues], in backend: any Backend
    ) throws {
        var edits: [Domain: (values: Difference, expected: Difference)] = [:]
        for change in changes {
            let domains = Domain.ofUser(try DomainName(change.domain))
            let layers = own[change.domain]?.layers ?? [:]
            let holders = domains.filter { layers[$0]?[change.key] != nil }
            // A value that is removed must not bring back that of the other layer.
            let edited =
                try change.source == nil ? holders : [holders.first ?? Domain(DomainName(change.domain))]
            for domain in edited {
                edits[domain, default: ([:], [:])].values.updateValue(change.source, forKey: change.key)
                edits[domain, default: ([:], [:])].expected
                    .updateValue(layers[domain]?[change.key], forKey: change.key)
            }
        }
        let ordered = edits.sorted { $0.key < $1.key }
        // Nothing is changed if a later domain's values are refused.
        for (domain, edit) in ordered {
            guard let manifest = DomainManifest.find(domain.name) else { continue }
            let old = try backend.snapshot(of: domain).values
            var values = old
            for (key, value) in edit.values { values[key] = value }
            try manifest.check(Set(edit.values.keys), from: old, to: values, isStrict: false, reports: false)
        }
        do throws(DefaultsError) {
            for (domain, edit) in ordered {
                try backend.edit(
                    domain, with: edit.values, replacesAll: false, expecting: edit.expected, origin: Caller.origin())
            }
            for (domain, _) in ordered { try backend.synchronize(domain) }
        } catch {
            throw Failure("\(error) \(unswitched) Run this again.", ExitStatus(error))
        }
    }

    // MARK: Back to dconf

    /// Exports the values of GSettings to dconf, and turns the switch off.
    func disable() throws {
        let dumps = try dumps()
        let lock = try dumps.lock()
        defer { withExtendedLifetime(lock) {} }
        let wasOn = selector.isOn
        let removal = "To return to dconf without exporting values, remove \(selector.path)."
        guard let converter = GSettingsConverter() else {
            if !wasOn { return try StandardOutput.write("GSettings doesn't use defaultsd.\n") }
            throw Failure(
                "The program defaults-gsettings isn't installed, so values can't be exported. "
                    + "\(GSettingsConverter.installation) \(removal)", .unavailable)
        }
        let program = DconfDatabase.program(in: environment)
        if !wasOn, try program == nil || dumps.agreement() == nil {
            return try StandardOutput.write("GSettings doesn't use defaultsd.\n")
        }
        guard let program else {
            if try converter.backends().contains("dconf") {
                throw Failure(
                    "The program dconf isn't in the PATH, so values can't be exported. \(DconfDatabase.installation) "
                        + removal, .unavailable)
            }
            try selector.turnOff()
            return try StandardOutput.write(
                "GSettings doesn't use defaultsd anymore. There is no dconf, so nothing was exported.\n")
        }
        let database = try DconfDatabase(program: program, dumps: dumps, environment: environment)
        let dump = try database.dump()
        let copy = try dumps.store(dump)
        let history = try history(dumps, by: converter)
        let target = try converter.values(inDump: dump)
        let own = try OwnValues.all(
            in: try location.open().backend, needed: [target.domains, history.agreed] + history.pending,
            advice: wasOn ? removal : "")
        let source = try converter.values(own.mapValues(\.values), typedBy: dumps.known() + [copy])
        let merge = try merge(from: source, to: target.domains, since: history, side: .defaultsd)
        try dumps.begin(with: Array(source.dump.utf8))
        try export(merge.changes, of: source, to: database, over: dump, by: converter)
        if wasOn { show(merge.kept, against: .defaultsd) }
        for name in source.unfit {
            Failure.report("\(name) isn't exported: dconf can't have it, or its type isn't the schema's.")
        }
        if wasOn { try selector.turnOff() }
        try dumps.end()
        try StandardOutput.write(
            "\(merge.changes.count.counting("key")) changed in dconf. A dump of its former values is in \(copy).\n"
                + (wasOn
                    ? "GSettings uses dconf from now on. Log out and in again, so that running programs do, too; then "
                        + "run this again, which exports what they have set until then.\n"
                    : "GSettings doesn't use defaultsd.\n"))
    }

    /// Sets and resets keys of dconf, and reads them back.
    private func export(
        _ changes: [GSettingsMerge.Item], of source: GSettingsConverter.Outcome, to database: DconfDatabase,
        over dump: [UInt8], by converter: GSettingsConverter
    ) throws(Failure) {
        let paths = try converter.values(inDump: dump).paths
        var wanted: [String: Set<String>] = [:]
        for change in changes where change.source != nil { wanted[change.domain, default: []].insert(change.key) }
        guard try database.dump() == dump else {
            throw Failure(
                "A program has changed dconf's values meanwhile, so nothing was changed. Run this again.",
                .temporaryFailure)
        }
        do throws(Failure) {
            if !wanted.isEmpty {
                try database.load(source.dump(where: { wanted[$0]?.contains($1) == true }))
            }
            for change in changes where change.source == nil {
                try database.reset("\(paths[change.domain] ?? "/")\(change.key)")
            }
        } catch {
            throw Failure(
                "\(error.message) \(unswitched) dconf needs a session bus and a file that it can write: run this again "
                    + "in your session.", error.status)
        }
        let result = try converter.values(inDump: try database.dump()).domains
        if let lost = changes.first(where: { result[$0.domain]?[$0.key] != $0.source }) {
            throw Failure(
                "dconf hasn't the exported value of \(lost.domain) \(lost.key). \(unswitched) Run this again, and if "
                    + "that doesn't help, set the key with `dconf`.", .temporaryFailure)
        }
        for change in changes {
            guard let path = source.paths[change.domain], source.guessed.contains(path + change.key) else { continue }
            Failure.report(
                "The type of \(path)\(change.key) in dconf is a guess, since no schema has the key. If its program "
                    + "ignores it, set it there.")
        }
    }

    // MARK: Both ways

    /// A sentence for a failure.
    private var unswitched: String { "GSettings still uses \(selector.isOn ? "defaultsd" : "dconf")." }

    private func dumps() throws -> GSettingsDumps {
        let directory = try location.resolve().0
        var variables = environment.variables
        variables["DEFAULTS_DIRECTORY"] = nil
        let usual = try PreferencesDirectory(option: nil, environment: Environment(variables))
        guard directory.resolvedPath == usual.resolvedPath else {
            throw Failure(
                "DEFAULTS_DIRECTORY is \(directory.path) here, but other programs use \(usual.path). Run this without "
                    + "the variable. To move the preferences of all programs, set the key Directory of "
                    + "org.defaultsd.agent.", .usage)
        }
        return try GSettingsDumps(for: directory, environment: environment)
    }

    /// Returns the values that both sides had at earlier switches.
    private func history(
        _ dumps: GSettingsDumps, by converter: GSettingsConverter
    ) throws(Failure) -> GSettingsMerge.History {
        try GSettingsMerge.History(
            agreed: converter.values(inDump: dumps.agreement() ?? []).domains,
            pending: dumps.pending().map { path throws(Failure) in
                try converter.values(inDump: InputFile.read(FilePath(path))).domains
            })
    }

    /// Compares both sides, and fails if a person must decide.
    private func merge(
        from source: GSettingsConverter.Outcome, to target: GSettingsValues, since history: GSettingsMerge.History,
        side: GSettingsSide
    ) throws(Failure) -> GSettingsMerge {
        let isSwitched = selector.isOn == (side == .dconf)
        let prefersSource = preferred.map { $0 == side }
        var history = history
        // Values of which none is left are lost rather than removed.
        if !history.agreed.isEmpty, source.domains.isEmpty != target.isEmpty {
            let empty = source.domains.isEmpty ? side : side.other
            guard let prefersSource else {
                throw Failure(
                    "\(empty.title) has no value of GSettings anymore, so nothing was changed. Use --prefer "
                        + "\(empty.other.rawValue) to use the values of the other side, or --prefer \(empty.rawValue) "
                        + "to remove them.", .dataError)
            }
            if prefersSource == target.isEmpty { history = GSettingsMerge.History() }
        }
        let merge = GSettingsMerge(
            from: source.domains, to: target, since: history, except: source.unfitKeys, isSwitched: isSwitched,
            prefersSource: prefersSource)
        if merge.conflicts.isEmpty { return merge }
        var sensitive = SensitiveKeys()
        for item in merge.conflicts {
            let (source, target) = shown(item, masking: &sensitive)
            Failure.report(
                "\(item.domain) \(item.key) has different values: \(source) in \(side.title), and \(target) in "
                    + "\(side.other.title).")
        }
        throw Failure(
            "\(merge.conflicts.count.counting("key")) changed on both sides, so nothing was changed. Use --prefer "
                + "dconf or --prefer defaultsd, which decides for all of them.", .dataError)
    }

    /// Names the keys that don't get the source's values.
    private func show(_ kept: [GSettingsMerge.Item], against side: GSettingsSide) {
        var sensitive = SensitiveKeys()
        for item in kept {
            let (source, target) = shown(item, masking: &sensitive)
            let reason = item.isPreferred ? "as --prefer says" : "which is newer"
            Failure.report("\(item.domain) \(item.key) keeps \(target), \(reason); \(side.title) has \(source).")
        }
    }

    /// Returns the values of both sides, whole, since a person decides by them.
    private func shown(
        _ item: GSettingsMerge.Item, masking sensitive: inout SensitiveKeys
    ) -> (source: String, target: String) {
        let isSecret = sensitive.contains(item.key, of: DomainName(escaping: item.domain))
        func text(_ value: PropertyListValue?) -> String {
            value.map { isSecret ? "(sensitive)" : JSONText.of($0) } ?? "none"
        }
        return (text(item.source), text(item.target))
    }
}

extension GSettingsSide {
    fileprivate var other: GSettingsSide { self == .dconf ? .defaultsd : .dconf }
    /// The name, for sentences.
    fileprivate var title: String { self == .dconf ? "dconf" : "the preferences" }
}

/// The user's values of a domain.
private struct OwnValues {
    /// The values for this host, and those for any host.
    private(set) var layers: [Domain: DomainValues] = [:]
    /// The value of each key for this host or, if there is none, for any host.
    private(set) var values: DomainValues = [:]

    /// The reason why a domain's file can't be read; `nil` if it can.
    private var damage: String?

    private init(of name: DomainName, in backend: any Backend) throws {
        for layer in Domain.ofUser(name) {
            let snapshot = try backend.snapshot(of: layer)
            if let damage = snapshot.damage { self.damage = "\(damage)" }
            layers[layer] = snapshot.values
            values.merge(snapshot.values) { first, _ in first }
        }
    }

    /// Reads the values of all domains.
    ///
    /// - Parameters:
    ///   - backend: The agent, or the directory.
    ///   - needed: Values with the names of domains that must be readable. Others that can't be read are left out,
    ///     since they have no earlier values that their absence would remove.
    ///   - advice: A sentence for the failure.
    /// - Returns: The values, by the names of their domains.
    /// - Throws: If a file can't be read.
    static func all(
        in backend: any Backend, needed: [GSettingsValues], advice: String = ""
    ) throws -> [String: OwnValues] {
        var own: [String: OwnValues] = [:]
        let needed = Set(needed.flatMap(\.keys))
        for name in Set(try backend.domains().map(\.name.description)).union(needed) {
            let values = try OwnValues(of: DomainName(name), in: backend)
            if let damage = values.damage {
                if needed.contains(name) { throw Failure("\(damage) Nothing was changed. \(advice)", .dataError) }
                Failure.report("\(damage) Its values are left out.")
            } else {
                own[name] = values
            }
        }
        return own
    }
}
