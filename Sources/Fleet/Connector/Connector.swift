import DefaultsCore
import PropertyList

/// The connector of one machine: it passes the agent's changes on to the fleet, and the fleet's to the agent.
///
/// It is a client of the agent like any other. It may be interrupted anywhere: what it sends is in the exchange before
/// the state counts it as sent, and what it has received is in the state before the agent gets it. After an error, a
/// new connector continues from the state.
///
/// - ``followAgent()`` passes on records of the agent's log, in order. The state has the list of what travels as of the
///   same position.
/// - The exchange receives what others have sent, and ``apply()`` sets that in the agent, if nobody has changed it
///   since.
package final class Connector {
    /// The purpose that the history shows for edits of other machines.
    package static let purpose = "fleet"

    package let machine: MachineID
    let exchange: FileExchange
    private let store: any FleetStore
    let agent: any FleetAgent
    /// The scope of each key, by the machine's manifests.
    let scope: (FleetKey) -> TravelRules.Scope

    package internal(set) var state: ConnectorState
    /// Whether the state has changed since it was written.
    var isChanged = false
    /// The rules as of the cursor.
    var rules: TravelRules
    /// The last edits of keys that were sent before a crash, with the positions of their records.
    var sent: [FleetKey: (cursor: Cursor, value: PropertyListValue?, stamp: Stamp)] = [:]
    /// Whether an edit was sent as this machine's own of which its agent has no record.
    var isCopied = false
    /// Whether something was received since the last ``apply()``.
    var hasReceived = false
    /// The sets that haven't been sent.
    var unsent: [EnvelopeSet] = []
    /// The position of the record that is being passed on.
    var position: Cursor?
    /// The domains with changes that records didn't name, and the times of the latest such records.
    var unknown: [String: UInt64] = [:]
    /// Whether changes may have been missed.
    var hasGap = false
    /// The agent's answers, until the records before them have been passed on.
    var answers: [(cursor: Cursor, values: [FleetKey: PropertyListValue?])] = []
    /// The keys whose edits the agent has refused, until the next reception.
    var refusals: Set<FleetKey> = []
    /// The keys that this connector, or the one before it, may have set in the agent without a record of it.
    var offered: Set<FleetKey>
    /// Whether nothing has been done yet.
    private var isNew = true
    /// The problems with files and edits, by their subjects.
    package internal(set) var problems: [String: FleetProblem] = [:]

    /// Continues from the state, and begins to follow the agent.
    ///
    /// - Parameters:
    ///   - machine: The machine.
    ///   - agent: Its agent.
    ///   - exchange: The way to the other machines. What it receives is in the state, and durable, before the agent
    ///     gets it.
    ///   - store: The place of the state.
    ///   - scope: The scope of each key, by the machine's manifests.
    /// - Throws: If the agent, the exchange or the state can't be used.
    package init(
        _ machine: MachineID, following agent: any FleetAgent, by exchange: FileExchange,
        keepingStateIn store: any FleetStore, scope: @escaping (FleetKey) -> TravelRules.Scope
    ) throws {
        (self.machine, self.agent, self.exchange) = (machine, agent, exchange)
        (self.store, self.scope) = (store, scope)
        state = try store.read() ?? ConnectorState(FleetReplica(machine))
        guard state.replica.machine == machine else {
            throw DefaultsError(.late, "This machine has just got another identifier.", remedy: "Try again.")
        }
        rules = TravelRules(state.list)
        offered = Set(state.replica.unconfirmed.keys)
        let end = try agent.barrier(of: nil)
        for file in try exchange.recover(&state.files, at: agent.now.milliseconds) {
            for set in file.sets { recover(set, upTo: file.name.isSnapshot ? nil : end) }
        }
        // What happens before a machine has joined isn't an edit in the fleet.
        if !state.hasJoined { move(to: end) }
        try agent.subscribe(after: state.cursor ?? end)
    }

    // MARK: Steps

    /// Passes on records, sends and receives, and applies what has been received, once each.
    ///
    /// - Parameter receives: Whether the exchange may have something new, or time has passed.
    /// - Returns: Whether there may be more to do at once.
    /// - Throws: `FleetFailure` if files can't be used now; the connector may go on later. After `notWritten` and any
    ///   other error, another connector must continue from the state.
    package func step(receiving receives: Bool) throws -> Bool {
        // While nothing can be sent, nothing more is taken from the agent's log, which keeps it.
        if !unsent.isEmpty { try save() }
        if receives { refusals = [] }
        try followAgent()
        try sendDelayed()
        if isNew, state.hasJoined, !state.files.readsOwn {
            // Until the last connector ended, a manifest may have held values back that it no longer does.
            try sendBeginnings()
            isNew = false
        }
        try save()
        if receives {
            try receive()
            try save()
        }
        hasReceived = false
        let hasApplied = try apply()
        try followAgent()
        try save()
        if state.files.isSnapshotDue(at: agent.now.milliseconds) { _ = try settle(ifWorthwhile: true) }
        return hasApplied || hasReceived
    }

    /// Writes the state if it has changed, after what it counts as sent.
    func save() throws {
        if isCopied { throw FleetFailure.isCopied }
        if !unsent.isEmpty {
            isChanged = true
            try exchange.send(&unsent, updating: &state.files, at: agent.now.milliseconds)
        }
        guard isChanged else { return }
        try store.write(state)
        isChanged = false
    }

    /// Writes a snapshot, and removes the files that it stands for.
    ///
    /// - Parameter ifWorthwhile: Whether there is no snapshot unless it has more than the newest one.
    /// - Returns: Whether it did; not while changes are still to be passed on.
    /// - Throws: If the agent, the exchange or the state can't be used; `isCopied` if an edit of this machine is lost.
    package func settle(ifWorthwhile: Bool = false) throws -> Bool {
        try save()
        // The files are needed once more.
        guard !state.files.readsOwn, var (set, unknown) = try newestEdits() else { return false }
        let files = exchange.ownFiles(state.files)
        // What is held back here, or changes too often, stays as it was sent.
        let sent = try exchange.newestEdits(in: files, of: unknown)
        set.envelopes += sent.values.sorted { $0.key < $1.key }
        for (key, edit) in sent where edit.stamp == state.replica.newest[key] { unknown.remove(key) }
        let lacking = Set(unknown.compactMap { state.replica.newest[$0]?.machine })
        // As this machine, it would say that it has all of its edits.
        if lacking.contains(machine) { throw FleetFailure.isCopied }
        isChanged = true
        guard !ifWorthwhile || state.files.isWorthwhile(lacking: lacking) else {
            state.files.postponeRepair(at: agent.now.milliseconds)
            try save()
            return false
        }
        try exchange.sendSnapshot(set, lacking: lacking, updating: &state.files, at: agent.now.milliseconds)
        try save()
        try exchange.remove(files)
        return true
    }

    // MARK: For the exchange

    /// Adopts an own set of edits that was sent before a crash, or receives it if the agent may not have it: state or
    /// preferences may have been restored from a copy.
    ///
    /// - Parameters:
    ///   - set: The set.
    ///   - end: The end of the agent's log; `nil` if the set stands for others, which must be received.
    func recover(_ set: EnvelopeSet, upTo end: Cursor?) {
        let cursor = set.cursor.flatMap { try? Cursor($0) }
        if let cursor, let end, cursor.epoch == end.epoch {
            // The state has everything that was sent up to its own position, and the log everything that was sent.
            if let known = state.cursor, known.epoch == cursor.epoch, cursor.revision <= known.revision {
                isCopied = true
            }
            if cursor.revision > end.revision { isCopied = true }
            state.replica.adopt(set)
            for envelope in set.envelopes {
                state.know(envelope.key, as: envelope.value)
                sent[envelope.key] = (cursor, envelope.value, envelope.stamp)
                overruleIfLate(envelope.key)
            }
        } else {
            _ = state.replica.receive(set)
        }
        if end != nil, set.envelopes.contains(where: { isApproval($0.key) }) { state.files.needsSnapshot = true }
        isChanged = true
    }

    /// Receives edits that another machine has sent.
    ///
    /// - Parameters:
    ///   - set: The edits.
    ///   - other: The machine in whose file they are.
    private func receive(_ set: EnvelopeSet, of other: MachineID) {
        let delayed = set.envelopes.filter { state.delayed[$0.key] != nil && state.replica.newest[$0.key] != $0.stamp }
        for winner in state.replica.receive(set) where !isInList(winner) { overrule(winner.key, by: winner.stamp) }
        // A value that waits for the end of the day, and hasn't been sent, loses as well.
        for edit in delayed where state.replica.newest[edit.key] == edit.stamp && isPending(edit.key) {
            overrule(edit.key, by: edit.stamp)
        }
        // An edit that was made with knowledge of another one has its time if the clocks differ.
        let own = set.envelopes.filter { edit in
            edit.stamp.machine == other && edit.known.base.map { $0.time + 1 < edit.stamp.time } ?? true
        }
        let newest = own.map(\.stamp.milliseconds).max() ?? 0
        state.times[other] = (max(newest, state.times[other]?.newest ?? 0), agent.now.milliseconds)
        (isChanged, hasReceived) = (true, true)
    }

    /// Returns whether an edit adds or excepts what this machine has added or excepted just so.
    private func isInList(_ edit: Envelope) -> Bool {
        edit.key.domain == TravelRules.list.description && edit.value == state.list[edit.key.key]
    }

    /// Receives what has arrived.
    func receive() throws {
        let received = try exchange.receive(state.files, at: agent.now.milliseconds)
        if state.files != received.state { (state.files, isChanged) = (received.state, true) }
        for set in received.own { _ = state.replica.receive(set) }
        for (set, other) in received.sets {
            receive(set, of: other)
            // This machine's snapshot comes to stand for its former subfolder.
            let isOwn = state.replica.former[other] != nil && !state.isInUse(other)
            if isOwn, !set.envelopes.isEmpty { state.files.needsRepair = true }
        }
        // A machine that joins has nothing to say yet.
        if received.hasWord, state.hasJoined, unsent.isEmpty { unsent.append(EnvelopeSet([], cursor: nil)) }
        problems = problems.filter { !$1.isOfReception }.merging(received.problems) { $1 }
    }

    /// Arranges to receive everything again, also this machine's own edits, after values were lost.
    func receiveAgain() {
        state.files.receiveAgain()
        exchange.forget()
        isChanged = true
    }

    /// Returns the newest edits of all keys that travel, with their values, which stand for all that this machine has
    /// sent and received; except for keys whose value has changed since without being sent, or can't be read.
    ///
    /// A key that only this machine holds back is among them if it has the value that was received.
    ///
    /// - Returns: The edits, and the other keys; `nil` while changes are still to be passed on.
    private func newestEdits() throws -> (set: EnvelopeSet, unknown: Set<FleetKey>)? {
        let rules = TravelRules(state.newestList)
        let keys = state.replica.newest.keys.filter { rules.reason(against: $0) == nil }
        let confirmed = keys.filter { state.replica.unconfirmed[$0] == nil }
        var snapshots: [String: DomainSnapshot] = [:]
        for domain in Set(confirmed.map(\.domain)) {
            snapshots[domain] = try agent.snapshot(of: try DomainName(domain))
        }
        var values: [FleetKey: PropertyListValue] = [:]
        var unknown: Set<FleetKey> = []
        for key in confirmed {
            let stored = snapshots[key.domain]?.values ?? [:]
            let isAway = isAway(key, with: stored) && state.known[key] != nil
            values[key] = isAway ? state.away[key.domain]?.values?[key.key] : stored[key.key]
            guard state.hasChanged(key, to: values[key]) else { continue }
            let isSent = reason(against: key) == nil && state.delayed[key] == nil
            guard isSent, snapshots[key.domain]?.damage == nil else {
                unknown.insert(key)
                continue
            }
            // An away domain comes back, or is removed in a minute. Otherwise, no record means a gap.
            hasGap = try !isAway && agent.barrier(of: nil) == state.cursor
            return nil
        }
        let set = state.replica.snapshot(of: values) { rules.reason(against: $0) == nil && !unknown.contains($0) }
        return (set, unknown)
    }

    /// Records an edit on this machine that has lost, until the key is edited here again.
    func overrule(_ key: FleetKey, by stamp: Stamp) {
        // A machine's entry in the list of machines is no person's edit.
        guard key.domain != TravelRules.machines.description else { return }
        state.overruled.removeAll { $0.key == key }
        state.overruled.append(.init(key: key, winner: stamp, milliseconds: agent.now.milliseconds))
        state.overruled.removeFirst(max(0, state.overruled.count - ConnectorState.maximumOverruled))
    }

    func values(of domain: String) throws(DefaultsError) -> DomainValues {
        try agent.snapshot(of: try DomainName(domain)).values
    }
}
