import DefaultsCore
import Linux

extension Client {
    /// Waits until all edits are durable and all earlier changes by others have arrived.
    ///
    /// - Returns: The reasons why some edits aren't durable, or were refused.
    package func synchronize() -> SavingOutcome {
        switch beginSynchronizing() {
        case .waiting(let barrier): barrier.wait() ?? SavingOutcome()
        case .finished(let outcome): outcome
        }
    }

    /// Does the same as `synchronize`, but suspends the task instead of blocking a thread.
    ///
    /// - Returns: The reasons why some edits aren't durable, or were refused; `nil` if the task was canceled first.
    package func synchronized() async -> SavingOutcome? {
        switch beginSynchronizing() {
        case .waiting(let barrier):
            let outcome = await barrier.finished()
            if outcome == nil { state.withLock { $0.leave(barrier) } }
            return outcome
        case .finished(let outcome):
            return outcome
        }
    }

    private enum Synchronization {
        case waiting(Barrier)
        case finished(SavingOutcome)
    }

    private func beginSynchronizing() -> Synchronization {
        if isInMemory {
            reportUnavailability()
            return .finished(SavingOutcome(failures: unavailability.map { [$0] } ?? []))
        }
        let barrier = state.withLock { $0.beginBarrier() }
        let mustWake = line.send(barrier) {
            state.withLock { state in state.dequeueEdits().map { ($0, state.domainsInUse) } }
        }
        if let mustWake {
            if mustWake { requests.wake() }
        } else {
            if !wakeThread(asking: { $0.barriers.append(barrier) }) { barrier.finish([Self.noThread]) }
        }
        return .waiting(barrier)
    }

    /// Waits until the edits made so far are certain to outlive the process.
    ///
    /// Edits are certain to outlive it once the agent has accepted them or they are in their files. The wait goes on as
    /// long as they are being accepted, or the thread is working, which may take long on a busy machine. After twelve
    /// seconds of neither, it ends, and the loss is reported. It isn't repeated for the same edits, so only the thread
    /// that ends the process may call this.
    ///
    /// - Parameters:
    ///   - milliseconds: The time without progress after which the wait ends.
    ///   - work: The processor time that the thread has used, in milliseconds; `nil` to ask the system.
    func handOver(timeout milliseconds: Int = AgentTimeouts.handOver, work: (() -> Int)? = nil) {
        guard !isInMemory, state.withLock({ $0.mustHandOver }) else { return }
        let barrier = Barrier(.handedOver)
        guard wakeThread() else { return }
        let work = work ?? { [self] in threadClock.withLock { $0 }?.milliseconds ?? 0 }
        var (remaining, worked) = (
            state.withLock { state in
                state.beginHandingOver()
                return state.awaitedEdits
            }, work()
        )
        guard wakeThread(asking: { $0.barriers.append(barrier) }) else { return }
        while barrier.wait(milliseconds: milliseconds) == nil {
            let (now, used) = (state.withLock { $0.awaitedEdits }, work())
            guard now < remaining || used - worked > milliseconds / AgentTimeouts.idleShare else {
                let edits = now == 0 ? "Edits" : now == 1 ? "One edit" : "\(now) edits"
                let error = DefaultsError(
                    .notSaved,
                    "\(edits) could not be saved before the process ended: no progress for "
                        + "\(milliseconds / 1_000) seconds.")
                return report(error, of: .saving)
            }
            (remaining, worked) = (now, used)
        }
    }

    /// Ends the thread after handing over the edits.
    ///
    /// Call this on a client that is no longer used. The shared client is used until the process ends.
    package func close() {
        handOver()
        requests.ask { $0.mustEnd = true }
    }
}
