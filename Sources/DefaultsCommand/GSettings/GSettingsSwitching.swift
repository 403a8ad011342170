import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// The way of GSettings from dconf to the agent and back.
///
/// Nothing is lost if it ends halfway: a dump of dconf is stored first, then values are carried, and the switch comes
/// last. Until then, the side that was in use stays in use, and its values aren't touched. Running it again continues.
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
        if selector.isOn {
            let isImported = try dumps.agreement() != nil
            let hint =
                "dconf's values weren't imported, since \(selector.path) was made by hand: to import them, remove it, "
                + "and run this again."
            try StandardOutput.write("GSettings uses defaultsd already.\(isImported ? "" : " \(hint)")\n")
            return
        }
        guard let program = DconfDatabase.program(in: environment) else {
            let file = try DconfDatabase.file(in: environment)
            if !Path.isMissing(file) {
                throw Failure(
                    "The values in \(file) can't be imported, since the program dconf isn't in the PATH. Nothing was "
                        + "changed. \(DconfDatabase.installation)", .unavailable)
            }
            try dumps.agree(on: [])
            return try finish("There is no dconf, so no values were imported.\n")
        }
        let database = try DconfDatabase(program: program, fileIn: dumps.directory, environment: environment)
        let dump = try database.dump()
        let copy = try dumps.store(dump)
        let agreement = try dumps.agreement()
        let source = try converter.values(inDump: dump)
        let agreed = try converter.values(inDump: agreement ?? [])
        if !source.unfit.isEmpty {
            throw Failure(
                "These values of dconf can't be preferences, so nothing was changed: "
                    + "\(source.unfit.joined(separator: ", ")). Reset them with `dconf reset`.", .dataError)
        }
        let backend = try location.open().backend
        let own = try Dictionary(
            uniqueKeysWithValues: Set(source.domains.keys).union(agreed.domains.keys).map { name in
                (name, try OwnValues(of: DomainName(name), in: backend))
            })
        // Other forms that programs read as the same value aren't differences. A value that fits no form stays one.
        let read = try converter.values(
            own.mapValues(\.values), typedBy: [copy] + (agreement == nil ? [] : [dumps.agreed]))
        let target = own.mapValues(\.values).merging(read.domains) { $0.merging($1) { $1 } }
        let merge = GSettingsMerge(
            from: source.domains, to: target, since: agreed.domains,
            prefersSource: preferred.map { $0 == .dconf })
        try refuse(merge.conflicts)
        try edit(merge.changes, of: own, in: backend)
        show(merge.kept, because: "which was newer, or preferred, than dconf's")
        try dumps.agree(on: dump)
        let count = source.domains.values.reduce(0) { $0 + $1.count }
        try finish(
            "\(count.counting("value")) of dconf \(count == 1 ? "is a preference" : "are preferences") now; "
                + "\(merge.changes.count.counting("key")) changed. A dump of dconf is in \(copy).\n")
    }

    private func finish(_ text: String) throws {
        try selector.turnOn()
        if let variable = environment["GSETTINGS_BACKEND"], variable != "defaultsd" {
            Failure.report("GSETTINGS_BACKEND=\(variable) overrides this for programs with that variable. Remove it.")
        }
        try StandardOutput.write(
            text + "GSettings uses defaultsd from now on. Log out and in again, so that running programs do, too.\n")
    }

    /// Sets and removes keys, each where the user has it, unless another program changes it first.
    private func edit(
        _ changes: [GSettingsMerge.Item], of own: [String: OwnValues], in backend: any Backend
    ) throws {
        var edits: [Domain: (values: Difference, expected: Difference)] = [:]
        for change in changes {
            let values = own[change.domain]
            let place = try values?.places[change.key] ?? Domain(DomainName(change.domain))
            edits[place, default: ([:], [:])].values.updateValue(change.source, forKey: change.key)
            edits[place, default: ([:], [:])].expected.updateValue(values?.values[change.key], forKey: change.key)
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
            throw Failure("\(error) GSettings still uses dconf. Run this again.", ExitStatus(error))
        }
    }

    // MARK: Back to dconf

    /// Exports the values of GSettings to dconf, and turns the switch off.
    func disable() throws {
        guard selector.isOn else { return try StandardOutput.write("GSettings doesn't use defaultsd.\n") }
        let removal = "To return to dconf without exporting values, remove \(selector.path)."
        guard let converter = GSettingsConverter() else {
            throw Failure(
                "The program defaults-gsettings isn't installed, so values can't be exported. "
                    + "\(GSettingsConverter.installation) \(removal)", .unavailable)
        }
        guard let program = DconfDatabase.program(in: environment) else {
            if try converter.backends().contains("dconf") {
                throw Failure(
                    "The program dconf isn't in the PATH, so values can't be exported. \(DconfDatabase.installation) "
                        + removal, .unavailable)
            }
            try selector.turnOff()
            return try StandardOutput.write(
                "GSettings doesn't use defaultsd anymore. There is no dconf, so nothing was exported.\n")
        }
        let dumps = try dumps()
        let database = try DconfDatabase(program: program, fileIn: dumps.directory, environment: environment)
        let dump = try database.dump()
        let copy = try dumps.store(dump)
        let agreement = try dumps.agreement()
        let backend = try location.open().backend
        var own: GSettingsValues = [:]
        for name in Set(try backend.domains().map(\.name)) {
            own[name.description] = try OwnValues(of: name, in: backend).values
        }
        let source = try converter.values(own, typedBy: [copy] + (agreement == nil ? [] : [dumps.agreed]))
        let target = try converter.values(inDump: dump)
        let agreed = try converter.values(inDump: agreement ?? [])
        // A value that fits no type counts as none for programs, but must not remove dconf's.
        let unfit = Set(source.unfit)
        let merge = GSettingsMerge(
            from: source.domains, to: target.domains, since: agreed.domains,
            prefersSource: preferred.map { $0 == .defaultsd })
        try refuse(merge.conflicts)
        let changes = merge.changes.filter { change in
            change.source != nil || !unfit.contains("\(target.paths[change.domain] ?? "")\(change.key)")
        }
        try export(changes, of: source, to: database, pathsOf: target)
        let exported = try database.dump()
        let result = try converter.values(inDump: exported).domains
        if let lost = changes.first(where: { result[$0.domain]?[$0.key] != $0.source }) {
            throw Failure(
                "dconf hasn't the exported value of \(lost.domain) \(lost.key), so GSettings still uses defaultsd. "
                    + "Run this again.", .temporaryFailure)
        }
        show(merge.kept, because: "which was newer, or preferred, than that of the preferences")
        for name in source.unfit {
            Failure.report("\(name) isn't exported: its value fits no type that the key can have.")
        }
        try dumps.agree(on: exported)
        try selector.turnOff()
        try StandardOutput.write(
            "\(changes.count.counting("key")) changed in dconf. A dump of its former values is in \(copy).\n"
                + "GSettings uses dconf from now on. Log out and in again, so that running programs do, too.\n")
    }

    private func export(
        _ changes: [GSettingsMerge.Item], of source: GSettingsConverter.Outcome, to database: DconfDatabase,
        pathsOf target: GSettingsConverter.Outcome
    ) throws(Failure) {
        var wanted: [String: Set<String>] = [:]
        for change in changes where change.source != nil { wanted[change.domain, default: []].insert(change.key) }
        do throws(Failure) {
            if !wanted.isEmpty {
                try database.load(source.dump(where: { wanted[$0]?.contains($1) == true }))
            }
            for change in changes where change.source == nil {
                try database.reset("\(target.paths[change.domain] ?? "/")\(change.key)")
            }
        } catch {
            throw Failure("\(error.message) GSettings still uses defaultsd. Run this again.", error.status)
        }
    }

    // MARK: Both ways

    private func dumps() throws -> GSettingsDumps {
        try GSettingsDumps(for: try location.resolve().0, environment: environment)
    }

    /// Lists the keys for which a person must decide.
    private func refuse(_ conflicts: [GSettingsMerge.Item]) throws(Failure) {
        if conflicts.isEmpty { return }
        for item in conflicts {
            Failure.report("\(item.domain) \(item.key) has different values: \(shown(item)).")
        }
        throw Failure(
            "\(conflicts.count.counting("key")) changed on both sides, so nothing was changed. Use --prefer dconf or "
                + "--prefer defaultsd, which decides for all of them.", .dataError)
    }

    private func show(_ kept: [GSettingsMerge.Item], because reason: String) {
        var sensitive = SensitiveKeys()
        for item in kept {
            let target = value(item.target, of: item, masking: &sensitive)
            let source = value(item.source, of: item, masking: &sensitive)
            Failure.report("\(item.domain) \(item.key) keeps the value \(target), \(reason), \(source).")
        }
    }

    private func shown(_ item: GSettingsMerge.Item) -> String {
        var sensitive = SensitiveKeys()
        return "\(value(item.source, of: item, masking: &sensitive)) in use, "
            + "and \(value(item.target, of: item, masking: &sensitive)) on the other side"
    }

    private func value(
        _ value: PropertyListValue?, of item: GSettingsMerge.Item, masking sensitive: inout SensitiveKeys
    ) -> String {
        let isSecret = sensitive.contains(item.key, of: DomainName(escaping: item.domain))
        // Whole, since a person decides by it.
        return isSecret ? "(sensitive)" : value.map(JSONText.of) ?? "none"
    }
}

/// The user's values of a domain.
private struct OwnValues {
    /// The value of each key for this host or, if there is none, for any host.
    private(set) var values: DomainValues = [:]
    /// The domain that has the value of each key.
    private(set) var places: [String: Domain] = [:]

    init(of name: DomainName, in backend: any Backend) throws {
        for layer in Domain.ofUser(name) {
            let snapshot = try backend.snapshot(of: layer)
            if let damage = snapshot.damage { throw Failure("\(damage) Nothing was changed.", .dataError) }
            for (key, value) in snapshot.values where places[key] == nil {
                (values[key], places[key]) = (value, layer)
            }
        }
    }
}
