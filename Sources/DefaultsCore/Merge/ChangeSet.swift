package import Manifests
package import PropertyList

/// The changes that one writer made to one domain in one step.
package struct ChangeSet: Hashable, Sendable {
    package var domain: Domain
    /// The writer that made the changes.
    package var source: Writer
    /// The changed keys, each once, sorted by name.
    package var changes: [KeyChange]
    /// The values that lost in the same merge, either to these changes or to values that stay in effect.
    package var overruled: [Overruled]
    /// The rules of the domain's manifest, if it has one, that the new values and what depends on them break.
    package var violations: [Violation] = []
    /// The edit's identity, if the change set is from an app that may resend the edit.
    package var edit: EditIdentity?
    /// The reason that the writer gave.
    package var origin: Origin?
    /// The keys that also changed, but are excluded from the history, if this is what a log holds of a change set.
    var excluded: [ExcludedKeys] = []

    package init(
        domain: Domain, source: Writer, changes: [KeyChange], overruled: [Overruled] = [], edit: EditIdentity? = nil,
        origin: Origin? = nil
    ) {
        self.domain = domain
        self.source = source
        self.edit = edit
        self.origin = origin
        self.changes = changes.sorted { $0.key < $1.key }
        self.overruled = overruled.sorted { $0.key < $1.key }
    }

    /// Returns whether a key that the change set lacks may have changed, too, but is excluded from the history.
    package func mayHaveChanged(_ key: String) -> Bool { excluded.contain(key) }

    /// Whether the change set has neither changes nor overruled values.
    package var isEmpty: Bool { changes.isEmpty && overruled.isEmpty }
}

/// A change to one key.
package struct KeyChange: Hashable, Sendable {
    package var key: String
    /// The previous value; `nil` if the key had none.
    package var old: PropertyListValue?
    /// The new value; `nil` if the key was removed.
    package var new: PropertyListValue?

    package init(key: String, old: PropertyListValue?, new: PropertyListValue?) {
        self.key = key
        self.old = old
        self.new = new
    }
}

/// A value that a merge discarded in favor of another writer's value for the same key.
package struct Overruled: Hashable, Sendable {
    package var key: String
    /// The discarded value; `nil` if a removal was discarded.
    package var value: PropertyListValue?
    /// The writer of the discarded value.
    package var writer: Writer
    /// The reason why it was discarded.
    package var reason: Reason

    /// A reason to discard a value.
    package enum Reason: Hashable, Sendable {
        /// The other writer's change was later.
        case laterChange
        /// The writer had loaded an older version, which became the file at this time, if that is known. So the value
        /// is what the key had then, and not a change.
        case olderVersion(Timestamp?)
    }

    package init(key: String, value: PropertyListValue?, writer: Writer, reason: Reason = .laterChange) {
        self.key = key
        self.value = value
        self.writer = writer
        self.reason = reason
    }
}
