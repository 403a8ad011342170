import DefaultsCore
import NIOCore
import Synchronization

/// Saving edits, when it is time, without waiting for what stands in the way.
extension Engine {
    func schedulePublishing(_ domain: Domain, _ urgency: StoreUrgency) {
        switch urgency {
        case .atOnce:
            waiting.withLock { $0.remove(domain) }
            agenda.add(.publish(domain), at: .now())
        case .soon:
            // A directory that refuses is tried again at its own pace.
            guard failures[domain] == nil, let time = timeToPublish(domain) else { return }
            agenda.move(.publish(domain), to: time)
        }
        armTimer()
    }

    private func timeToPublish(_ domain: Domain) -> NIODeadline? {
        waiting.withLock {
            $0.end(
                of: domain, pause: .milliseconds(Int64(settings.publishDelay)),
                limit: .milliseconds(Int64(settings.publishLimit)))
        }
    }

    /// Publishes a domain's edits, unless more have come and the time to wait isn't over.
    func publishIfDue(_ domain: Domain) {
        if failures[domain] == nil, let time = timeToPublish(domain), time > .now() {
            agenda.move(.publish(domain), to: time)
        } else {
            publish(domain)
        }
    }

    /// The outcome of an attempt to save a domain's edits.
    private enum SaveAttempt {
        case saved
        /// Something stands in the way for the moment; it is tried again in a few milliseconds.
        case blocked(DefaultsError)
        case failed(DefaultsError)
    }

    private static let blockedPause = TimeAmount.milliseconds(5)

    /// Saves a domain's edits, without waiting for what stands in the way.
    @discardableResult
    private func publish(_ domain: Domain) -> SaveAttempt {
        waiting.withLock { $0.remove(domain) }
        let policy = policy(for: domain)
        do throws(DefaultsError) {
            try store.publish(domain, policy)
            return noteAttempt(domain, policy, nil)
        } catch {
            return noteAttempt(domain, policy, error)
        }
    }

    /// Saves the edits of domains, trying again while something stands in the way.
    ///
    /// - Parameters:
    ///   - domains: the domains.
    ///   - end: when to leave what is still blocked.
    /// - Returns: what couldn't be saved, and why.
    func publish(
        _ domains: [Domain], until end: NIODeadline = .distantFuture
    ) async -> [(domain: Domain, error: DefaultsError)] {
        var failures: [(Domain, DefaultsError)] = []
        var left = domains
        while !left.isEmpty {
            let isLast = NIODeadline.now() >= end
            var blocked: [Domain] = []
            for domain in left {
                agenda.remove(.publish(domain))
                switch publish(domain) {
                case .saved: break
                case .blocked where !isLast: blocked.append(domain)
                case .blocked(let error), .failed(let error): failures.append((domain, error))
                }
            }
            left = blocked
            if !left.isEmpty { await pause() }
        }
        return failures
    }

    private func policy(for domain: Domain) -> ObstaclePolicy { obstacles.policy(for: domain, at: .now()) }

    private func pause() async {
        _ = try? await eventLoop.scheduleTask(in: Self.blockedPause) {}.futureResult.get()
    }

    /// Plans what follows an attempt to save.
    @discardableResult
    private func noteAttempt(
        _ domain: Domain, _ policy: ObstaclePolicy, _ failure: DefaultsError?
    ) -> SaveAttempt {
        if let failure, policy.isReported(failure) {
            obstacles.note(failure, of: domain, at: .now())
            if !obstacles.areTooLong(of: domain, at: .now()) {
                plan(.publish(domain), in: Self.blockedPause)
                return .blocked(failure)
            }
            store.giveUp(domain, failure)
        } else {
            obstacles.remove(domain)
        }
        let count = failures.removeValue(forKey: domain) ?? 0
        if failure != nil {
            failures[domain] = count + 1
            plan(.publish(domain), in: Self.pause(after: count))
        }
        // What was replaced just now is young again.
        examinations = 0
        plan(.examineDisplaced, in: Self.displacedAge)
        return failure.map { .failed($0) } ?? .saved
    }

    /// The time after which a replaced version is let go: a writer that had found the file by its name has opened it by then.
    static let displacedAge = TimeAmount.seconds(1)

    // MARK: Edits on a condition

    /// Takes an edit that expects what its domain holds, which is what the file holds now, and publishes it at once.
    ///
    /// By memory alone the edit would seem to hold while someone else, a command that found no agent say, has the file in
    /// hand; and the later of the two would undo what the other has been told is saved.
    ///
    /// - Returns: the revision of its record, as `Store.commit` does.
    /// - Throws: `locked` when another process has held the lock for ten seconds, and else as `Store.commit`.
    func commit(_ request: EditRequest) async throws(DefaultsError) -> Revision {
        let end = NIODeadline.now() + SaveObstacles.limit
        while true {
            let policy = policy(for: request.domain)
            do throws(DefaultsError) {
                let (revision, failure) = try store.commit(request, policy)
                noteAttempt(request.domain, policy, failure)
                return revision
            } catch {
                guard error.code == .locked, .now() < end else { throw error }
            }
            await pause()
        }
    }
}
