import DefaultsCore
import Linux
import NIOCore

/// The saving of edits when they are due, without blocking on obstacles.
extension Engine {
    func scheduleSave(of domain: Domain, urgency timing: SaveTiming) {
        switch timing {
        case .immediate:
            delayedSaves.withLock { $0.remove(domain) }
            plan(.save(domain), in: .zero)
        case .delayed:
            // After a failure, the save is retried with its own backoff.
            guard !schedule.hasFailed(.save(domain)), let time = saveTime(domain) else { return }
            schedule.move(.save(domain), to: time)
        }
    }

    private func saveTime(_ domain: Domain) -> NIODeadline? {
        delayedSaves.withLock {
            $0.end(
                of: domain, pause: .milliseconds(Int64(settings.saveDelay)),
                limit: .milliseconds(Int64(settings.saveLimit)))
        }
    }

    /// Saves a domain's edits, unless newer edits have moved the due time.
    func saveIfDue(_ domain: Domain) async {
        if !schedule.hasFailed(.save(domain)), let time = saveTime(domain), time > .now() {
            schedule.move(.save(domain), to: time)
        } else {
            _ = await attempt([domain])
        }
    }

    /// The outcome of an attempt to save a domain's edits.
    enum SaveAttempt {
        case saved
        /// An obstacle currently prevents the save, which is retried in a few milliseconds.
        case blocked(DefaultsError)
        case failed(DefaultsError)
    }

    private static let blockedPause = TimeAmount.milliseconds(5)

    /// Saves some domains' edits, without waiting for an obstacle.
    ///
    /// All who ask for the same domains before the save begins share it.
    ///
    /// - Returns: The outcome for each domain.
    private func attempt(_ domains: [Domain]) async -> [Domain: SaveAttempt] {
        for domain in domains { delayedSaves.withLock { $0.remove(domain) } }
        if let lastSave, lastSave.job.includes(domains) {
            return await lastSave.task.value.filter { domains.contains($0.key) }
        }
        let job = SaveJob(policies: Dictionary(uniqueKeysWithValues: domains.map { ($0, policy(for: $0)) }))
        let task = Task(executorPreference: executor) { await self.perform(job) }
        lastSave = (job, task)
        return await task.value
    }

    private func perform(_ job: SaveJob) async -> [Domain: SaveAttempt] {
        let failures = await onDiskSaving { job.run(on: $0) }
        var attempts: [Domain: SaveAttempt] = [:]
        for (domain, policy) in job.policies {
            attempts[domain] = recordAttempt(of: domain, policy: policy, failure: failures[domain])
        }
        return attempts
    }

    /// Saves the edits of some domains, retrying while there is an obstacle.
    ///
    /// - Parameters:
    ///   - domains: The domains to save.
    ///   - end: The deadline after which blocked saves are no longer retried.
    ///   - retriesFailures: Whether saves that fail are retried, too.
    /// - Returns: The domains that couldn't be saved, with their errors.
    func save(
        _ domains: [Domain], until end: NIODeadline = .distantFuture, retriesFailures: Bool = false
    ) async -> [(domain: Domain, error: DefaultsError)] {
        var failures: [(Domain, DefaultsError)] = []
        var remaining = domains
        while !remaining.isEmpty {
            let isLast = NIODeadline.now() >= end
            var blocked: [Domain] = []
            for domain in remaining { schedule.remove(.save(domain)) }
            for (domain, attempt) in await attempt(remaining) {
                switch attempt {
                case .saved: break
                case .blocked where !isLast: blocked.append(domain)
                case .failed where !isLast && retriesFailures: blocked.append(domain)
                case .blocked(let error), .failed(let error): failures.append((domain, error))
                }
            }
            remaining = blocked
            if !remaining.isEmpty { await pause() }
        }
        return failures
    }

    private func policy(for domain: Domain) -> ObstaclePolicy { obstacles.policy(for: domain, at: .now()) }

    private func pause() async { await eventLoop.sleep(until: .now() + Self.blockedPause) }

    /// Plans the work that follows an attempt to save.
    @discardableResult
    private func recordAttempt(
        of domain: Domain, policy: ObstaclePolicy, failure: DefaultsError?
    ) -> SaveAttempt {
        if let failure, policy.isReported(failure) {
            obstacles.record(failure, of: domain, at: .now())
            if !obstacles.areTooLong(of: domain, at: .now()) {
                plan(.save(domain), in: Self.blockedPause)
                return .blocked(failure)
            }
            store.recordSaveFailure(of: domain, because: failure)
        } else {
            obstacles.remove(domain)
        }
        // A retry of an edit that is too large can only fail, and must not delay later edits.
        if failure == nil || failure?.code == .invalidValue {
            schedule.succeed(.save(domain))
        } else {
            fail(.save(domain))
        }
        if failure == nil, maintenance.awaitsSaves, !store.hasExcludedEdits { maintainJournal() }
        // A file was just displaced, so examinations start over with short intervals.
        schedule.succeed(.examineDisplaced)
        plan(.examineDisplaced, in: Self.displacedAge)
        return failure.map { .failed($0) } ?? .saved
    }

    /// The age at which a displaced file is removed; a writer that resolved the file's name will have opened it by
    /// then.
    static let displacedAge = TimeAmount.seconds(1)

    // MARK: Edits that are saved at once

    /// Applies an edit of which the change log may hold only a part, and saves it.
    ///
    /// If the file can't be saved before the client stops waiting, the edit is in effect and pending, like any other.
    ///
    /// - Parameter request: The edit to apply.
    /// - Returns: The cursor of the edit's record, as from `Store.submit`.
    /// - Throws: The errors of `Store.submit`.
    func commitOrSubmit(_ request: EditRequest) async throws(DefaultsError) -> Cursor {
        let end = NIODeadline.now() + .seconds(2)
        do throws(DefaultsError) {
            let cursor = try await commit(request, until: end)
            _ = await save(store.pending(among: [request.domain]), until: end)
            return cursor
        } catch {
            // This edit has no condition, so it can be made without the directory's lock.
            return try store.submit(request)
        }
    }

    /// Applies a conditional edit, and saves it immediately.
    ///
    /// The condition is checked against the file, under the directory's lock. If it were checked only in memory, it
    /// might seem to hold while another process (such as a command that found no agent) is replacing the file. The
    /// later of the two saves would then undo an edit that was already confirmed.
    ///
    /// - Parameters:
    ///   - request: The edit to apply.
    ///   - end: The deadline for the lock; `nil` if it is ten seconds from now.
    /// - Returns: The cursor of the edit's record, as from `Store.commit`.
    /// - Throws: `locked` if another process has held the lock until then, and the errors of `Store.commit`.
    func commit(_ request: EditRequest, until end: NIODeadline? = nil) async throws(DefaultsError) -> Cursor {
        let end = end ?? .now() + SaveObstacles.limit
        while true {
            let policy = policy(for: request.domain)
            let outcome = await onDiskSaving { store in
                Result { () throws(DefaultsError) in try store.commit(request, onObstacle: policy) }
            }
            switch outcome {
            case .success(let (cursor, failure)):
                recordAttempt(of: request.domain, policy: policy, failure: failure)
                return cursor
            case .failure(let error):
                guard error.code == .locked, .now() < end else { throw error }
            }
            await pause()
        }
    }
}

/// A save of some domains' edits by the saving thread.
final class SaveJob: Sendable {
    /// The domains to save, and the way to deal with obstacles to each.
    let policies: [Domain: ObstaclePolicy]
    private let hasBegun = ForkSafeMutex(false)

    init(policies: [Domain: ObstaclePolicy]) {
        self.policies = policies
    }

    /// Returns whether edits of some domains that were made before this call will be saved.
    func includes(_ domains: [Domain]) -> Bool {
        domains.allSatisfy { policies[$0] != nil } && !hasBegun.withLock(\.self)
    }

    /// Saves the edits, and returns the errors of those that can't be saved.
    func run(on store: Store) -> [Domain: DefaultsError] {
        hasBegun.withLock { $0 = true }
        var failures: [Domain: DefaultsError] = [:]
        for (domain, policy) in policies.sorted(by: { $0.key < $1.key }) {
            do throws(DefaultsError) { try store.save(domain, onObstacle: policy) } catch { failures[domain] = error }
        }
        return failures
    }
}
