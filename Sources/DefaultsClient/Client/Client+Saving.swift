package import DefaultsCore
import Linux

extension Client {
    /// Waits until all edits are durable and all earlier changes by others have arrived.
    ///
    /// - Returns: The reasons why some edits aren't durable; none if all are.
    package func synchronize() -> [DefaultsError] {
        switch beginSynchronizing() {
        case .waiting(let barrier): barrier.wait() ?? []
        case .finished(let failures): failures
        }
    }

    /// Does the same as `synchronize`, but suspends the task instead of blocking a thread.
    ///
    /// - Returns: The reasons why some edits aren't durable; `nil` if the task was canceled first.
    package func synchronized() async -> [DefaultsError]? {
        switch beginSynchronizing() {
        case .waiting(let barrier): await barrier.finished()
        case .finished(let failures): failures
        }
    }

    private enum Synchronization {
        case waiting(Barrier)
        case finished([DefaultsError])
    }

    private func beginSynchronizing() -> Synchronization {
        if isInMemory {
            reportUnavailability()
            return .finished(unavailability.map { [$0] } ?? [])
        }
        let barrier = Barrier(.durable)
        let mustWake = line.send(barrier) {
            state.withLock { state in state.dequeueEdits().map { ($0, state.domainsInUse) } }
        }
        if let mustWake {
            if mustWake { requests.wake() }
        } else {
            guard wakeThread() else { return .finished([Self.noThread]) }
            requests.ask { $0.barriers.append(barrier) }
        }
        return .waiting(barrier)
    }

    /// Waits until all edits are certain to outlive the process.
    ///
    /// Edits are certain to outlive it once the agent has accepted them or they are in their files. The wait continues
    /// as long as edits are being accepted. If none is accepted for twelve seconds, it ends, and the loss is reported.
    func handOver() {
        guard !isInMemory, state.withLock({ $0.mustHandOver }) else { return }
        let barrier = Barrier(.handedOver)
        guard wakeThread() else { return }
        var remaining = state.withLock { $0.unaccepted }
        requests.ask { $0.barriers.append(barrier) }
        while barrier.wait(milliseconds: AgentTimeouts.handOver) == nil {
            let now = state.withLock { $0.unaccepted }
            guard now < remaining else {
                let edits = now == 0 ? "Edits" : "\(now) edits"
                let error = DefaultsError(
                    .notSaved,
                    "\(edits) could not be saved before the process ended: none was accepted for 12 seconds.")
                return report(error, of: .saving)
            }
            remaining = now
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
