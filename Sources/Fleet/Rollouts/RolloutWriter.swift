import Linux

/// The writing of a rollout: its record and its entries, together or in parts.
///
/// Until the last part is written, the record says that the rollout is unfinished. Whoever is interrupted leaves it so.
struct RolloutWriter {
    private let service: any RegisterService
    private let seal: any FleetSeal
    /// The number of changes that are written together.
    private let changesAtOnce: Int
    /// The time to wait after a failure, before the next attempt.
    private let delay: Duration

    init(
        _ service: any RegisterService, with seal: any FleetSeal, writing changesAtOnce: Int,
        retryingAfter delay: Duration
    ) {
        (self.service, self.seal) = (service, seal)
        (self.changesAtOnce, self.delay) = (changesAtOnce, delay)
    }

    /// Writes the record of a rollout and entries, in parts if there are many.
    ///
    /// - Parameters:
    ///   - rollout: The rollout as it is when everything is written.
    ///   - others: Registers to write with the first part.
    ///   - entries: The entries.
    ///   - expected: The revisions that registers must have.
    ///   - work: The work that is unfinished until the last part is written.
    ///   - begin: A function that is called when the first of several parts is written.
    /// - Returns: Whether they are written; not if registers weren't as expected.
    /// - Throws: `OperatorFailure`, `RegisterFailure`
    func write(
        _ rollout: Rollout, with others: [RegisterWrite] = [], entries: [RegisterWrite],
        expecting expected: [String: Int64], unfinished work: Rollout.Work,
        beginning begin: (Rollout) -> Void = { _ in }
    ) throws -> Bool {
        let name = RegisterName.rollout(rollout.number, seal)
        let record = RegisterWrite(name, try rollout.sealed(with: seal))
        var first = rollout
        first.unfinished = work
        let firstRecord = RegisterWrite(name, try first.sealed(with: seal))
        // Each part has room for the record.
        let recordSize = others.reduce(max(record.size, firstRecord.size)) { $0 + $1.size }
        // Nothing is begun that can't be finished.
        if let size = entries.map({ $0.size + recordSize }).max(), size > RegisterLimits.bytes {
            throw OperatorFailure.tooLarge(size)
        }
        var parts: [[RegisterWrite]] = [[]]
        var size = recordSize
        for entry in entries {
            if parts[parts.count - 1].count == changesAtOnce || size + entry.size > RegisterLimits.bytes {
                parts.append([])
                size = recordSize
            }
            parts[parts.count - 1].append(entry)
            size += entry.size
        }
        func conditions(of writes: [RegisterWrite]) -> [String: Int64] {
            var conditions: [String: Int64] = [:]
            for write in writes { conditions[write.name] = expected[write.name] }
            return conditions
        }
        let firstWrites = [parts.count == 1 ? record : firstRecord] + others + parts[0]
        guard
            var revision = try write(
                firstWrites, expecting: conditions(of: firstWrites), recording: parts.count == 1 ? rollout : first)
        else { return false }
        if parts.count > 1 { begin(rollout) }
        for (index, part) in parts.enumerated().dropFirst() {
            // Nobody has changed it since. That it is written again tells others that they haven't read all of it.
            let writes = part + [index == parts.count - 1 ? record : firstRecord]
            let expected = conditions(of: part).merging([name: revision]) { $1 }
            do {
                guard let new = try write(writes, expecting: expected, recording: nil) else {
                    throw OperatorFailure.incomplete(rollout.number, nil)
                }
                revision = new
            } catch let failure as RegisterFailure {
                throw OperatorFailure.incomplete(rollout.number, failure)
            }
        }
        return true
    }

    /// Writes registers, if need be several times: conditions keep them from being written twice.
    ///
    /// - Parameters:
    ///   - writes: The registers, the first of which is read back.
    ///   - conditions: The revisions that registers must have.
    ///   - rollout: The rollout whose record is the first one; `nil` if that is another register.
    /// - Returns: The revision; `nil` if registers weren't as expected.
    /// - Throws: `OperatorFailure`, `RegisterFailure`
    private func write(
        _ writes: [RegisterWrite], expecting conditions: [String: Int64], recording rollout: Rollout?
    ) throws -> Int64? {
        var isUnknown = false
        for attempt in 1...Self.attempts {
            do throws(RegisterFailure) {
                if let revision = try service.write(writes, expecting: conditions) { return revision }
                if !isUnknown { return nil }
                // Nobody knows whether it was written, except for whoever reads it back.
                if let rollout {
                    guard let register = try service.register(RegisterName.rollout(rollout.number, seal)),
                        let found = Rollout(register, opening: seal), let mark = rollout.marks.last,
                        found.marks.contains(mark)
                    else { return nil }
                    // If somebody has changed it since, nothing more may be written: no register has revision 0.
                    return rollout.unfinished == nil || register.contents == writes.first?.contents
                        ? register.revision : 0
                }
                guard let write = writes.first, let register = try service.register(write.name) else { return nil }
                return register.contents == write.contents ? register.revision : nil
            } catch {
                let isLast: Bool
                if case .unavailable = error { isLast = attempt == Self.attempts } else { isLast = true }
                if isLast, let rollout, isUnknown { throw OperatorFailure.unknownOutcome(rollout.number, error) }
                if isLast { throw error }
                isUnknown = true
                Backoff.pause(delay * attempt)
            }
        }
        return nil
    }

    private static let attempts = 10
}
