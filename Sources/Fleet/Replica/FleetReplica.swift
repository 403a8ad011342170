package import PropertyList

/// The state of one machine of a fleet: which edit of each key it has, and the values that the agent
/// doesn't have yet.
///
/// Each key has the value of its edit with the largest stamp, so that all machines that have the same edits have the
/// same values, in whatever order the edits have come, and however often.
///
/// A pure value. What the connector does with the agent and the transport follows from what its functions return:
///
/// 1. `receive` adds to `unconfirmed` what to apply. The replica is made durable *before* the agent gets it.
/// 2. Each record of the agent's log is passed on, in order: one that is the connector's own to `confirm`, others to
///    `record`. The log's order says whether a writer had seen what was applied.
package struct FleetReplica: Hashable, Sendable {
    package private(set) var machine: MachineID
    /// The machine's former identifiers, with the times of the last edits that it made under them.
    ///
    /// Another machine may still use such an identifier, if this one is its copy.
    package internal(set) var former: [MachineID: UInt64] = [:]
    /// The newest edit of each key; a removal, too.
    package internal(set) var newest: [FleetKey: Stamp]
    /// The edits that the newest edit of a key knew, if there are any.
    package internal(set) var known: [FleetKey: KnownEdits] = [:]
    /// The edits of each key that writers on this machine have seen, if the newest isn't among them.
    package internal(set) var seen: [FleetKey: KnownEdits] = [:]
    /// The values that the agent hasn't confirmed yet.
    package internal(set) var unconfirmed: [FleetKey: Application] = [:]

    /// A value to be set in the agent.
    package struct Application: Hashable, Sendable {
        package var value: PropertyListValue?
        package var stamp: Stamp
    }

    package init(_ machine: MachineID) { (self.machine, newest) = (machine, [:]) }

    /// Returns whether an edit is this machine's, perhaps from before it got another identifier.
    package func isOwn(_ edit: Stamp) -> Bool {
        edit.machine == machine || former[edit.machine].map { edit.time <= $0 } ?? false
    }

    /// Returns the state with another identifier.
    func renewed(as machine: MachineID) -> FleetReplica {
        var replica = self
        let stamps = Array(newest.values) + (Array(known.values) + seen.values).flatMap(\.stamps)
        replica.former[self.machine] = stamps.filter { $0.machine == self.machine }.map(\.time).max() ?? 0
        replica.machine = machine
        return replica
    }

    // MARK: Edits on this machine

    /// Records a change set of a writer on this machine.
    ///
    /// - Parameters:
    ///   - changes: The new values; `nil` for removals.
    ///   - milliseconds: The time of the change.
    ///   - cursor: The position of its record in the agent's log; `nil` if there is no single one.
    ///   - knowsAll: Whether the writer has decided against what has been received, and not set yet.
    /// - Returns: The edits to send.
    package mutating func record(
        _ changes: [FleetKey: PropertyListValue?], at milliseconds: UInt64, cursor: String?,
        knowingAll knowsAll: Bool = false
    ) -> EnvelopeSet {
        let envelopes = changes.sorted { $0.key < $1.key }.map { key, value in
            let known = knowsAll ? knowledge(of: key) : seen[key] ?? knowledge(of: key)
            var stamp = Stamp(at: milliseconds, after: known.base, on: machine)
            // Two edits never have one stamp.
            if stamp == newest[key] { stamp = Stamp(at: milliseconds, after: stamp, on: machine) }
            if newest[key].map({ $0 < stamp }) ?? true {
                settle(key, at: stamp, knowing: known)
            } else {
                // A later edit has come that the writer hadn't seen; it will be set again.
                seen[key] = known.adding(stamp)
            }
            return Envelope(key, value, stamp: stamp, known: known)
        }
        return EnvelopeSet(envelopes, cursor: cursor)
    }

    /// The edits of a key that a writer knows who has seen the newest one.
    private func knowledge(of key: FleetKey) -> KnownEdits { (known[key] ?? KnownEdits()).adding(newest[key]) }

    /// Adopts an edit as the newest, which the agent has.
    private mutating func settle(_ key: FleetKey, at stamp: Stamp, knowing edits: KnownEdits) {
        newest[key] = stamp
        known[key] = edits.stamps.isEmpty ? nil : edits
        seen[key] = nil
        unconfirmed[key] = nil
    }

    /// Returns the edits with the values that the machine has when it joins, or when a domain is added, except for
    /// those that another machine has sent.
    ///
    /// They lose against every later edit, wherever it was made.
    package mutating func begin(with values: [FleetKey: PropertyListValue]) -> EnvelopeSet {
        let stamp = Stamp(time: 1, machine: machine)
        let envelopes = values.filter { newest[$0.key] == nil }.sorted { $0.key < $1.key }.map {
            Envelope($0.key, $0.value, stamp: stamp, known: KnownEdits())
        }
        for envelope in envelopes { newest[envelope.key] = stamp }
        return EnvelopeSet(envelopes, cursor: nil, isBeginning: true)
    }

    /// Forgets the edits of keys, so that they are received again.
    package mutating func forget(where isForgotten: (FleetKey) -> Bool) {
        newest = newest.filter { !isForgotten($0.key) }
        known = known.filter { !isForgotten($0.key) }
        seen = seen.filter { !isForgotten($0.key) }
        unconfirmed = unconfirmed.filter { !isForgotten($0.key) }
    }

    /// Arranges to set the value of a key's newest edit in the agent once more: an older one has replaced it.
    package mutating func restore(_ key: FleetKey, to value: PropertyListValue?) {
        guard let stamp = newest[key], unconfirmed[key] == nil else { return }
        unconfirmed[key] = Application(value: value, stamp: stamp)
        seen[key] = KnownEdits()
    }

    /// Returns the newest edits of keys, to be sent once more.
    package func repeated(_ values: [FleetKey: PropertyListValue?]) -> EnvelopeSet {
        let envelopes = values.sorted { $0.key < $1.key }.compactMap { key, value in
            newest[key].map { Envelope(key, value, stamp: $0, known: known[key] ?? KnownEdits()) }
        }
        return EnvelopeSet(envelopes, cursor: nil)
    }

    /// Passes over a record that was sent before a crash; its edits are adopted already.
    package mutating func pass(over keys: some Sequence<FleetKey>) {
        for key in keys where newest[key]?.machine == machine {
            seen[key] = nil
            unconfirmed[key] = nil
        }
    }

    // MARK: Edits of other machines

    /// Receives edits of another machine, or of this one from before a crash.
    ///
    /// - Returns: The edits that win over ones on this machine which they didn't know.
    package mutating func receive(_ set: EnvelopeSet) -> [Envelope] {
        var winners: [Envelope] = []
        for envelope in set.envelopes {
            let former = newest[envelope.key]
            if let former, former >= envelope.stamp { continue }
            if let former, isOwn(former), !envelope.known.contains(former) {
                winners.append(envelope)
            }
            if seen[envelope.key] == nil { seen[envelope.key] = knowledge(of: envelope.key) }
            newest[envelope.key] = envelope.stamp
            known[envelope.key] = envelope.known.stamps.isEmpty ? nil : envelope.known
            unconfirmed[envelope.key] = Application(value: envelope.value, stamp: envelope.stamp)
        }
        return winners
    }

    /// Records that the agent's log has values that the connector has set; whoever writes now has seen them.
    ///
    /// - Parameters:
    ///   - changes: The values.
    ///   - former: The values before them; `nil` if the agent had these values already.
    package mutating func confirm(
        _ changes: [FleetKey: PropertyListValue?], replacing former: [FleetKey: PropertyListValue?]? = nil
    ) {
        for (key, value) in changes {
            if let application = unconfirmed[key] {
                if application.value == value {
                    unconfirmed[key] = nil
                    seen[key] = nil
                }
            } else if let former, let old = former[key], old != value {
                // Edits came between that had led back to the value that the connector expected. They are newer.
                restore(key, to: old)
            }
        }
    }

    // MARK: Snapshots

    /// Returns all edits that the machine knows, which stand for all that it has sent and received.
    ///
    /// - Parameters:
    ///   - values: The agent's values, as of the last record that was passed on, which must not be older than a record
    ///     whose edits have been adopted.
    ///   - isIncluded: Whether a key travels now.
    /// - Returns: The edits.
    package func snapshot(
        of values: [FleetKey: PropertyListValue], where isIncluded: (FleetKey) -> Bool = { _ in true }
    ) -> EnvelopeSet {
        let envelopes = newest.filter { isIncluded($0.key) }.sorted { $0.key < $1.key }.map { key, stamp in
            Envelope(
                key, unconfirmed[key].map(\.value) ?? values[key], stamp: stamp, known: known[key] ?? KnownEdits())
        }
        return EnvelopeSet(envelopes, cursor: nil)
    }

    // MARK: After a crash

    /// Adopts edits that this machine had sent before a crash, which its last durable state lacks.
    package mutating func adopt(_ set: EnvelopeSet) {
        for envelope in set.envelopes where newest[envelope.key].map({ $0 < envelope.stamp }) ?? true {
            settle(envelope.key, at: envelope.stamp, knowing: envelope.known)
        }
    }
}
