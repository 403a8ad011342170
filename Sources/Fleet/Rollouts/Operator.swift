package import PropertyList

/// The operator of a fleet's services: pushes values to groups of machines, to some of them first, and sees which
/// machine has what.
package final class Operator {
    private let service: any RegisterService
    private let seal: any FleetSeal
    private let author: String
    private let writer: RolloutWriter

    package init(
        _ service: any RegisterService, with seal: any FleetSeal, as author: String, writing changesAtOnce: Int = 100,
        retryingAfter delay: Duration = .milliseconds(200)
    ) {
        (self.service, self.seal, self.author) = (service, seal, author)
        writer = RolloutWriter(service, with: seal, writing: changesAtOnce, retryingAfter: delay)
    }

    // MARK: Reading

    /// An entry with the revision of its register.
    package struct Found: Sendable {
        package var entry: PushedEntry
        package var revision: Int64
    }

    /// Returns what has been pushed and stands for some registers, by their names.
    private func entries(_ names: [String]) throws -> [String: Found] {
        if names.count > Self.singleReads { return try entries() }
        var found: [String: Found] = [:]
        for name in names {
            guard let register = try service.register(name) else { continue }
            guard let entry = PushedEntry(register, opening: seal) else { throw OperatorFailure.unreadable }
            found[name] = Found(entry: entry, revision: register.revision)
        }
        return found
    }

    /// The number of registers up to which each is read for itself.
    private static let singleReads = 16

    /// Returns all that has been pushed and stands, by the names of its registers.
    package func entries() throws -> [String: Found] {
        let range = try service.range(RegisterName.pushed(seal))
        return Dictionary(
            uniqueKeysWithValues: try range.registers.map { register in
                guard let entry = PushedEntry(register, opening: seal) else { throw OperatorFailure.unreadable }
                return (register.name, Found(entry: entry, revision: register.revision))
            })
    }

    /// Returns the rollouts whose records are kept, in order.
    package func rollouts() throws -> [Rollout] {
        try service.range(RegisterName.rollouts(seal)).registers.map { try Self.require(Rollout($0, opening: seal)) }
            .sorted { $0.number < $1.number }
    }

    /// Returns a rollout; `nil` if its record isn't kept.
    package func rollout(_ number: Int64) throws -> Rollout? {
        guard let register = try service.register(RegisterName.rollout(number, seal)) else { return nil }
        guard let rollout = Rollout(register, opening: seal) else { throw OperatorFailure.unreadable }
        return rollout
    }

    /// Returns the receivers' reports, by name.
    package func receivers() throws -> [ReceiverReport] {
        try service.range(RegisterName.receivers(seal)).registers.map {
            try Self.require(ReceiverReport($0, opening: seal))
        }
        .sorted { ($0.name, $0.machine) < ($1.name, $1.machine) }
    }

    /// Removes a receiver's report.
    package func forget(_ machine: MachineID) throws {
        _ = try service.write([RegisterWrite(RegisterName.receiver(machine, seal), nil)], expecting: [:])
    }

    private func names(of rollout: Rollout) -> [String] {
        rollout.changes.map { RegisterName.entry($0.key, of: $0.group, with: seal) }
    }

    private static func require<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw OperatorFailure.unreadable }
        return value
    }

    // MARK: Pushing

    /// Returns the rollout that a push would be, without doing anything.
    ///
    /// - Parameters:
    ///   - values: The new values; `nil` for a removal.
    ///   - groups: The groups of machines.
    ///   - milliseconds: The time.
    ///   - choose: A function that returns the share of a rollout with a number.
    /// - Returns: The rollout.
    /// - Throws: If some machines have values of another rollout that others don't have yet.
    package func plan(
        _ values: [PushedKey: PropertyListValue?], to groups: [String], at milliseconds: UInt64,
        choosing choose: (Int64) -> Share
    ) throws -> Rollout {
        try prepare(values, to: groups, at: milliseconds, choosing: choose).rollout
    }

    /// Pushes values to groups of machines.
    ///
    /// A hundred changes at most are written together, so that every machine gets all of them or none; more are written
    /// in parts, and until the last one is, the rollout is unfinished.
    ///
    /// - Parameters:
    ///   - values: The new values; `nil` for a removal.
    ///   - groups: The groups of machines.
    ///   - milliseconds: The time.
    ///   - choose: A function that returns the share of a rollout with a number.
    ///   - begin: A function that is called when the first of several parts is written.
    /// - Returns: The rollout.
    /// - Throws: `OperatorFailure`, `RegisterFailure`
    package func push(
        _ values: [PushedKey: PropertyListValue?], to groups: [String], at milliseconds: UInt64,
        choosing choose: (Int64) -> Share, beginning begin: (Rollout) -> Void = { _ in }
    ) throws -> Rollout {
        for _ in 0..<Self.attempts {
            let plan = try prepare(values, to: groups, at: milliseconds, choosing: choose)
            let rollout = plan.rollout
            var others = [RegisterWrite(RegisterName.last(seal), Array("\(rollout.number)".utf8))]
            let old = rollout.number - Rollout.maximum
            // One that isn't for all machines yet must be ended some time.
            if old > 0, try self.rollout(old).map(\.isEnded) ?? false {
                others.append(RegisterWrite(RegisterName.rollout(old, seal), nil))
            }
            let writes = try rollout.changes.map { try write($0, of: rollout) }
            var expected = plan.expected
            expected[RegisterName.rollout(rollout.number, seal)] = 0
            let isWritten = try writer.write(
                rollout, with: others, entries: writes, expecting: expected, unfinished: .push, beginning: begin)
            if isWritten { return rollout }
        }
        throw OperatorFailure.busy
    }

    private static let attempts = 10

    private func prepare(
        _ values: [PushedKey: PropertyListValue?], to groups: [String], at milliseconds: UInt64,
        choosing choose: (Int64) -> Share
    ) throws -> (rollout: Rollout, expected: [String: Int64]) {
        let found = try entries(
            groups.flatMap { group in values.keys.map { RegisterName.entry($0, of: group, with: seal) } })
        let last = try service.register(RegisterName.last(seal))
        var number: Int64 = 1
        if let last {
            guard let former = Int64(String(decoding: last.contents, as: UTF8.self)), former < .max else {
                throw OperatorFailure.unreadable
            }
            number = former + 1
        }
        let share = choose(number)
        var changes: [Rollout.Change] = []
        // A removal of what isn't there, such as of a misspelled key, would be shown as a change.
        let absent = values.filter { $0.value == nil }.keys.filter { key in
            groups.allSatisfy { found[RegisterName.entry(key, of: $0, with: seal)]?.entry.isRemoval ?? true }
        }
        if let key = absent.min() { throw OperatorFailure.absent(key) }
        var expected = [RegisterName.last(seal): last?.revision ?? 0]
        for group in groups {
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                let name = RegisterName.entry(key, of: group, with: seal)
                let current = found[name]
                expected[name] = current?.revision ?? 0
                var former = FormerValue.none
                // A group that doesn't have the key has none to remove.
                if value == nil, current?.entry.isRemoval ?? true { continue }
                if let entry = current?.entry {
                    if entry.share != .all { throw OperatorFailure.unfinished(entry) }
                    former = FormerValue(value: entry.value, rollout: entry.rollout)
                }
                changes.append(Rollout.Change(group: group, key: key, value: value, former: former))
            }
        }
        var random = SystemRandomNumberGenerator()
        let rollout = Rollout(
            number: number, milliseconds: milliseconds, author: author, share: share, changes: changes,
            marks: [random.next()])
        return (rollout, expected)
    }

    private func write(_ change: Rollout.Change, of rollout: Rollout) throws -> RegisterWrite {
        let entry = PushedEntry(
            change.key, of: change.group, change.value, rollout: rollout.number, share: rollout.share,
            former: change.former)
        return RegisterWrite(
            RegisterName.entry(change.key, of: change.group, with: seal), try entry.sealed(with: seal),
            isTemporary: change.value == nil && rollout.share == .all)
    }

    // MARK: Changing a rollout

    /// Changes the share of machines that have a rollout's values.
    ///
    /// - Returns: The rollout, and the changes of which a later rollout has replaced the values.
    package func set(_ share: Share, of number: Int64) throws -> (rollout: Rollout, replaced: [Rollout.Change]) {
        try change(number) { rollout in
            rollout.share = share
        } entries: { _ in
            { entry, _ in
                var entry = entry
                entry.share = share
                return entry.rollout == number ? entry : nil
            }
        }
    }

    /// Sets the values again that were there before a rollout, unless a later one has replaced them.
    ///
    /// - Returns: The rollout, and the changes of which a later rollout has replaced the values.
    package func undo(_ number: Int64) throws -> (rollout: Rollout, replaced: [Rollout.Change]) {
        try change(number, undoes: true) { rollout in
            rollout.isUndone = true
        } entries: { rollout in
            let earlier = try earlier(than: rollout)
            return { entry, change in
                func before(_ earlier: Rollout) -> FormerValue {
                    earlier.changes.first { $0.group == change.group && $0.key == change.key }?.former ?? .none
                }
                // An earlier rollout that was undone doesn't come back.
                func standing(_ former: FormerValue) -> FormerValue {
                    var former = former
                    while let undone = earlier[former.rollout], undone.isUndone { former = before(undone) }
                    return former
                }
                let former = standing(change.former)
                var entry = entry
                if entry.rollout == number {
                    (entry.value, entry.rollout) = (former.value, former.rollout)
                    (entry.share, entry.former) = (.all, .none)
                    if let rollout = earlier[former.rollout] {
                        (entry.share, entry.former) = (rollout.share, standing(before(rollout)))
                    }
                } else if entry.former.rollout == number {
                    // A later rollout has given its value to some machines only.
                    entry.former = former
                } else {
                    return nil
                }
                return entry
            }
        }
    }

    /// Returns the earlier rollouts that have set a rollout's former values, up to the last one that wasn't undone; and
    /// those before that one, if it isn't for all machines.
    private func earlier(than rollout: Rollout) throws -> [Int64: Rollout] {
        var earlier: [Int64: Rollout] = [:]
        var wanted = rollout.changes.map(\.former.rollout)
        while let next = wanted.popLast() {
            guard next > 0, earlier[next] == nil, let found = try self.rollout(next) else { continue }
            earlier[next] = found
            if found.isUndone || found.share != .all { wanted += found.changes.map(\.former.rollout) }
        }
        return earlier
    }

    /// Returns the removals of a rollout that stand although their entries are gone: the mark of a removal is itself
    /// removed after some time.
    private func standingRemovals(
        of rollout: Rollout, without found: [String: Found]
    ) throws -> [String: PushedEntry] {
        var removals: [String: PushedEntry] = [:]
        for change in rollout.changes where change.value == nil {
            let name = RegisterName.entry(change.key, of: change.group, with: seal)
            guard found[name] == nil else { continue }
            removals[name] = PushedEntry(
                change.key, of: change.group, nil, rollout: rollout.number, share: rollout.share, former: change.former)
        }
        if removals.isEmpty { return [:] }
        // A later rollout may have removed it again, after another one had set it.
        for later in try rollouts() where later.number > rollout.number && !later.isUndone {
            for name in names(of: later) { removals[name] = nil }
        }
        return removals
    }

    private func change(
        _ number: Int64, undoes: Bool = false, record: (inout Rollout) -> Void,
        entries prepare: (Rollout) throws -> (PushedEntry, Rollout.Change) -> PushedEntry?
    ) throws -> (rollout: Rollout, replaced: [Rollout.Change]) {
        let name = RegisterName.rollout(number, seal)
        for _ in 0..<Self.attempts {
            guard let register = try service.register(name), var rollout = Rollout(register, opening: seal) else {
                throw OperatorFailure.unknown(number)
            }
            // An undo may have been interrupted.
            if rollout.isUndone, !undoes { throw OperatorFailure.undone(number) }
            // What was never written can't be shared.
            if rollout.unfinished == .push, !undoes { throw OperatorFailure.partlyPushed(number) }
            let found = try entries(names(of: rollout))
            let removals = try standingRemovals(of: rollout, without: found)
            // Other records are read after the entries, which would show that they have changed since.
            let make = try prepare(rollout)
            var expected = [name: register.revision]
            var writes: [RegisterWrite] = []
            var replaced: [Rollout.Change] = []
            for change in rollout.changes {
                let entryName = RegisterName.entry(change.key, of: change.group, with: seal)
                let current = found[entryName] ?? removals[entryName].map { Found(entry: $0, revision: 0) }
                let isReplaced = current.map { $0.entry.rollout > number } ?? false
                guard let current, let entry = make(current.entry, change) else {
                    if isReplaced { replaced.append(change) }
                    continue
                }
                if isReplaced, current.entry.share == .all { replaced.append(change) }
                expected[entryName] = current.revision
                writes.append(
                    RegisterWrite(
                        entryName, try entry.sealed(with: seal), isTemporary: entry.value == nil && entry.share == .all)
                )
            }
            if writes.isEmpty, rollout.unfinished == nil {
                throw rollout.isUndone ? OperatorFailure.undone(number) : OperatorFailure.replaced(number)
            }
            rollout.unfinished = nil
            record(&rollout)
            var random = SystemRandomNumberGenerator()
            rollout.marks = rollout.marks.suffix(20) + [random.next()]
            let isWritten = try writer.write(
                rollout, entries: writes, expecting: expected, unfinished: undoes ? .undo : .share)
            if isWritten { return (rollout, replaced) }
        }
        throw OperatorFailure.busy
    }
}
