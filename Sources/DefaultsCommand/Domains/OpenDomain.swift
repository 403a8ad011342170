import DefaultsClient
package import DefaultsCore
import Linux
import Manifests

/// A domain that a command works on, with the backend that reads and writes it.
struct OpenDomain {
    let location: DomainLocation
    let opened: BackendChoice
    /// The choice of the backend, which opens another one if the connection to the agent is lost.
    let choice: any LocationChoice

    /// Whether edits that break the domain's manifest are refused.
    var isStrict = false

    var domain: Domain { location.domain }
    var backend: any Backend { opened.backend }

    /// Returns the values in effect.
    ///
    /// - Parameters:
    ///   - use: The sentence to report if the file is damaged and the last good values are used; `nil` to report
    ///     nothing.
    ///   - consequence: The end of the error message, saying what was not done.
    /// - Returns: The values; never empty.
    /// - Throws: If there are no values.
    func values(
        _ use: String? = "The last good values follow.", consequence: String = ""
    ) throws -> DomainValues {
        let values = try valuesIfAny(use)
        guard !values.isEmpty else { throw NotFound.domain(self, consequence: consequence) }
        return values
    }

    /// Returns the values in effect, possibly none.
    ///
    /// - Parameter use: The sentence to report if the file is damaged and the last good values are used; `nil` to
    ///   report nothing.
    /// - Returns: The values.
    /// - Throws: If the file is damaged and there are no last good values.
    func valuesIfAny(_ use: String? = nil) throws -> DomainValues {
        let snapshot = try backend.snapshot(of: domain)
        if let damage = snapshot.damage {
            guard !snapshot.values.isEmpty else { throw Failure(damage, .dataError) }
            if let use { Failure.report("\(damage) \(use)") }
        }
        return snapshot.values
    }

    /// The search list of an app with the domain's name; for a file outside the preferences directory, only that file.
    var layers: [Domain] {
        guard location.directory == nil else { return [domain] }
        return backend.layers(of: domain.name, onHost: domain.host == .any ? nil : domain.host)
    }

    /// Returns the values that an app finds: for each key, the value in the first layer that has it.
    ///
    /// - Returns: The values; never empty.
    /// - Throws: If there are no values.
    func effectiveValues() throws -> DomainValues {
        var values: DomainValues = [:]
        var damages: [String] = []
        for layer in layers {
            let snapshot = try backend.snapshot(of: layer)
            if let damage = snapshot.damage {
                damages.append(snapshot.values.isEmpty ? damage : "\(damage) The file's last good values are used.")
            }
            values.merge(snapshot.values) { first, _ in first }
        }
        if values.isEmpty, let damage = damages.first { throw Failure(damage, .dataError) }
        for damage in damages { Failure.report(damage) }
        guard !values.isEmpty else { throw NotFound.domain(self) }
        return values
    }

    /// Returns the values that an app finds, possibly none, as far as the files can be read.
    func effectiveValuesIfAny() throws -> DomainValues {
        var values: DomainValues = [:]
        for layer in layers { values.merge(try backend.snapshot(of: layer).values) { first, _ in first } }
        return values
    }

    /// Checks an edit by the domain's manifest, if it has one, and reports what it breaks.
    ///
    /// - Throws: If the edit is refused.
    func check(_ edit: Difference, replacesAll: Bool = false, reports: Bool = true) throws {
        guard let manifest = DomainManifest.find(location.describedName) else { return }
        let isWhole = replacesAll || manifest.manifest.needsOthers(for: edit.keys)
        let old = try backend.snapshot(of: domain, keys: isWhole ? nil : Array(edit.keys)).values
        var values = replacesAll ? [:] : old
        for (key, value) in edit { values[key] = value }
        // Values that stay as they are aren't this edit's, unless it sets nothing else.
        let keys = Set(edit.keys).union(replacesAll ? Array(old.keys) : [])
        let changed = keys.filter { values[$0] != old[$0] }
        try manifest.check(
            changed.isEmpty ? keys : changed, from: old, to: values, isStrict: isStrict, reports: reports)
    }

    /// Whether there are managed or system values under the domain's name.
    var hasValuesForAllUsers: Bool {
        layers.contains { layer in
            layer.name == domain.name && layer.user != .current
                && (try? backend.snapshot(of: layer).values.isEmpty) == false
        }
    }

    /// The sentence after the report of a damaged file that an edit may replace.
    static let replacement = "If it is replaced, a backup copy is kept beside it."

    /// The damage of the file that the edit replaces, to be reported once the edit hasn't been refused.
    private(set) var replacedDamage: String?

    /// Returns the values that an edit may replace, of some keys or all, possibly none.
    mutating func valuesToReplace(of keys: [String]? = nil) throws(DefaultsError) -> DomainValues {
        let snapshot = try backend.snapshot(of: domain, keys: keys)
        replacedDamage = snapshot.damage
        return snapshot.values
    }

    /// Sets and removes keys unconditionally, and saves the edit.
    func edit(_ values: Difference, replacesAll: Bool = false) throws {
        try check(values, replacesAll: replacesAll)
        try save {
            try backend.edit(
                domain, with: values, replacesAll: replacesAll, expecting: nil, origin: Caller.origin())
            return MadeEdit(values: values, replacesAll: replacesAll)
        }
    }

    /// Sets and removes keys depending on the domain's values, and saves the edit, without undoing concurrent changes.
    ///
    /// - Parameters:
    ///   - values: The values in effect, read immediately before the call.
    ///   - keys: The keys of the values that `make` needs; `nil` for all.
    ///   - make: Creates an edit from the values. It is called again with newer values if another program changed them
    ///     first.
    /// - Throws: The error of `make`, in which case nothing is changed; or an error if the edit can't be applied or
    ///   saved.
    func change(
        from values: DomainValues, of keys: [String]? = nil, _ make: (DomainValues) throws -> ConditionalWrite
    ) throws {
        try save { try commit(from: values, of: keys, make) }
    }

    private func commit(
        from values: DomainValues, of keys: [String]?, _ make: (DomainValues) throws -> ConditionalWrite
    ) throws -> MadeEdit {
        var values = values
        var backoff = Backoff(
            from: .milliseconds(1), to: .seconds(2), timeout: .seconds(60), isRandom: true)
        var reports = true
        while true {
            let edit = try make(values)
            try check(edit.values, reports: reports)
            reports = false
            do throws(DefaultsError) {
                try backend.edit(
                    domain, with: edit.values, replacesAll: false, expecting: edit.expected, origin: Caller.origin())
                return MadeEdit(values: edit.values)
            } catch {
                guard error.code == .changed else { throw error }
            }
            guard backoff.wait() else {
                throw Failure(
                    "Other programs keep changing \(location.name). Nothing was changed; try again.",
                    .temporaryFailure)
            }
            values = try backend.snapshot(of: domain, keys: keys).values
        }
    }
}

/// An edit that is applied only if some keys still have their expected values.
package struct ConditionalWrite {
    /// The keys to set or remove.
    package var values: Difference
    /// The values that keys must still have.
    package var expected: Difference
}
