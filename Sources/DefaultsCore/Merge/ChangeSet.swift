/// What one writer changed in one domain, in one step.
package struct ChangeSet: Hashable, Sendable {
    package var domain: Domain
    /// Who changed it.
    package var source: Writer
    /// The changed keys, each once, in the order of their names.
    package var changes: [KeyChange]
    /// What lost against it, or against what it didn't overrule.
    package var overruled: [Overruled]
    /// Which edit it is, if an app made it that may send it again.
    package var edit: EditIdentity?

    package init(
        domain: Domain, source: Writer, changes: [KeyChange], overruled: [Overruled] = [], edit: EditIdentity? = nil
    ) {
        self.domain = domain
        self.source = source
        self.edit = edit
        self.changes = changes.sorted { $0.key < $1.key }
        self.overruled = overruled.sorted { $0.key < $1.key }
    }

    /// Whether nothing changed and nothing was lost.
    package var isEmpty: Bool { changes.isEmpty && overruled.isEmpty }
}
