import Glibc
import Linux
package import PropertyList

/// The domains of one directory: reads and publishes their files, merges, and keeps the change log.
///
/// Beside them it reads those of the system's directories, which are nobody's to edit here.
///
/// The agent has one, and so has a process that works with no agent. All methods may be called from any thread and are
/// synchronous; those that say so wait for the disk.
///
/// Locks, in their order: `files`, then `logFile`, then `state`. None but `files` is held while the observer is called.
package final class Store: Sendable {
    package let directory: PreferencesDirectory
    /// The directories of the domains that aren't the current user's.
    package let system: SystemDirectories
    /// What a file may be; larger or deeper ones are reported as damaged.
    package let limits: PropertyListLimits
    /// Whether the store stays to see what comes of its publications.
    let publisher: Publisher
    /// Whether files that are no property lists may be replaced once they are copied aside.
    let mayReplaceDamage: Bool

    /// What only one thread at a time may do: look at files and publish them.
    ///
    /// Held during I/O.
    let files = ForkSafeMutex(FilesInHand())
    /// The domains and the log.
    ///
    /// Only transitions run under it: no I/O, no call to anyone else.
    let state: ForkSafeMutex<StoreState>
    /// The log's file, if it has one.
    ///
    /// Held while it is written, so that entries reach it in their order.
    let logFile = ForkSafeMutex(LogKeeping())
    /// Who is told of records and of edits to publish.
    ///
    /// Set once, before the store is used by several threads.
    private let observer = ForkSafeMutex<WeakObserver>(WeakObserver())

    /// Files that a thread has in hand.
    struct FilesInHand {
        /// Replaced versions that a late writer may still write to, with what they were seen to hold.
        var displaced: [Displaced] = []
        /// The number of them at which the oldest are let go early, since each is an open file.
        static let capacity = 256
        /// Whether what a crash left behind has been looked for, and whether nothing of it is left.
        var hasLooked = false
        var hasRecovered = false
        /// The leftovers that are merged, and stay until that is saved: the content of each, by its path.
        var mergedLeftovers: [String: ContentHash] = [:]
        /// When the directory of the domain at hand had last changed before it was locked.
        var directoryChange = Timestamp(nanoseconds: 0)

        var temporaryPaths: [String] { displaced.map(\.file.temporaryPath) }
    }

    /// A version that was replaced.
    struct Displaced {
        var file: DisplacedFile
        var domain: Domain
        /// The content that it had when it was replaced.
        var expected: ContentHash?
        /// What it was seen to hold.
        var known: FileVersion?
        /// `VersionHistory.total` before the publication that replaced it.
        var total: Int
        /// When it was replaced.
        let since = ContinuousClock.now
        /// Whether all that it was seen to hold is merged, or copied.
        var isMerged = true
        /// Whether its hidden name is removed.
        var isGone = false
    }

    /// Where the log is kept.
    struct LogKeeping {
        var file: ChangeLogFile?
        /// The file's path, once it was named, and how large it may become.
        var place: (path: String, sizeLimit: Int?)?
        /// Why the file isn't kept.
        var problem: DefaultsError?
    }

    private struct WeakObserver {
        weak var object: (any StoreObserver)?
    }

    /// Makes a store that keeps its log in memory alone, until it is told a file.
    package init(
        directory: PreferencesDirectory, system: SystemDirectories = .none,
        limits: PropertyListLimits = DomainFile.standardLimits, log: ChangeLog = ChangeLog(),
        publisher: Publisher = .lasting, mayReplaceDamage: Bool = true
    ) {
        self.directory = directory
        self.system = system.excluding(directory)
        self.limits = limits
        self.publisher = publisher
        self.mayReplaceDamage = mayReplaceDamage
        self.state = ForkSafeMutex(StoreState(log: log))
    }

    /// Names who is told; it isn't retained.
    package func observe(with object: any StoreObserver) {
        observer.withLock { $0.object = object }
    }

    /// Runs a transition, and then what it asks for.
    func transition<Value>(_ body: (inout StoreState) -> (Value, [StoreAction])) -> Value {
        let (value, actions) = state.withLock { state in body(&state) }
        perform(actions)
        return value
    }

    /// Does what transitions asked for, each thing once.
    func perform(_ actions: [StoreAction]) {
        writeLog()
        guard !actions.isEmpty, let observer = observer.withLock({ $0.object }) else { return }
        for case .announce(let domain) in actions { observer.storePosted(in: domain) }
        for case .tell(let event) in actions { observer.storeTold(event) }
        for case .publish(let domain, let urgency) in actions {
            observer.storeNeedsPublishing(domain, urgency)
        }
    }

    /// Tells that the log's file was given up.
    func tellLostLog(_ error: DefaultsError) {
        observer.withLock { $0.object }?.storeLostLog(error)
    }

    /// Tells of a copy that was kept beside a file.
    func tellKept(_ copy: String) {
        observer.withLock { $0.object }?.storeKept(copy)
    }

    // MARK: Reading

    /// A domain's values in force.
    ///
    /// Reads no file: what was last seen.
    package func snapshot(of domain: Domain) -> DomainSnapshot {
        withWrittenLog { $0.snapshot(of: domain) }
    }

    /// The current user's domains that have values or are damaged, in order.
    package func domains() -> [Domain] { snapshots().map(\.domain) }

    /// The current user's domains that have values or are damaged, as they are in force, in order.
    package func snapshots() -> [DomainSnapshot] {
        withWrittenLog { $0.snapshots() }.filter { $0.domain.user == .current }
    }

    /// Where the log ends, as far as it is in its file.
    package var cursor: Cursor { withWrittenLog { $0.log.cursor } }

    /// Keeps more or less of the log, from the next record on.
    package func setLogCapacity(_ capacity: ChangeLog.Capacity) {
        state.withLock { $0.log.capacity = capacity }
    }

    // MARK: Editing

    /// Takes an app's edit as `edit` does, unless there is something against it.
    ///
    /// - Returns: the revision of its record, or the log's head when it changed nothing.
    /// - Throws: `readOnly` or `invalidValue`; `damaged`, when the file may not be replaced; `late`, when it comes so late that
    ///   it would undo what others have done since it was set; or `changed`, when it expects other values than those in force.
    package func submit(_ request: EditRequest) throws(DefaultsError) -> Revision {
        try request.check()
        return try take(request)
    }

    /// Takes an edit as `submit` does, once it has been checked.
    func take(_ request: EditRequest) throws(DefaultsError) -> Revision {
        let outcome: Result<Revision, DefaultsError> = transition { state in
            let now = Timestamp.now()
            if let refusal = state.refusal(of: request.domain) { return (.failure(refusal), []) }
            if state.isLate(request, now: now) {
                let error = DefaultsError(
                    .late,
                    "An edit of \(request.domain) came seconds after it was made, and others have written since; "
                        + "it was left out: set the value again.")
                return (.failure(error), [])
            }
            if state.isRefuted(request) { return (.failure(Self.refutation(of: request.domain)), []) }
            let (revision, actions) = state.edit(request, now: now)
            return (.success(revision), actions)
        }
        let revision = try outcome.get()
        // What is in force already may be in no file any more, which nobody has seen yet.
        if state.withLock({ !$0.unchanged(by: request).isEmpty }), !isAsKnown(request.domain) {
            transition { state in ((), state.keep(request, now: .now())) }
        }
        return revision
    }

    /// The error of an edit whose condition doesn't hold.
    package static func refutation(of domain: Domain) -> DefaultsError {
        DefaultsError(
            .changed, "\(domain) was changed by another program. Read it again, then retry.")
    }

    /// Whether a domain's file is what it was when it was last seen, by its times.
    private func isAsKnown(_ domain: Domain) -> Bool {
        let (known, isDamaged) = state.withLock { ($0.domains[domain]?.file, $0.domains[domain]?.damage != nil) }
        guard let file = file(of: domain) else { return true }
        var status = stat()
        guard stat(file.path, &status) == 0 else { return known == nil && errno == ENOENT }
        return !isDamaged && known?.identity == FileIdentity(status)
    }

    /// Why edits of a domain are refused at present: its file is damaged and may not be replaced.
    package func refusal(of domain: Domain) -> DefaultsError? { state.withLock { $0.refusal(of: domain) } }

    /// Takes an app's edits: they are in force at once, and pending until published.
    ///
    /// Edits of a domain that can only be read change nothing; `Domain.checkWritable` tells before.
    ///
    /// - Returns: the revision of their record, or the log's head when they changed nothing.
    @discardableResult
    package func edit(_ request: EditRequest) -> Revision {
        guard request.domain.user == .current else { return cursor.revision }
        return transition { $0.edit(request, now: .now()) }
    }

    /// The domains that have edits which their files don't hold, in order, and how many edits.
    package func pending() -> [(domain: Domain, edits: Int)] {
        state.withLock { state in
            state.domains.compactMap { $1.merge.pending.isEmpty ? nil : ($0, $1.merge.pending.count) }
        }.sorted { $0.domain < $1.domain }
    }

    /// Those of some domains that have edits which their files don't hold, in order; however many other domains there are.
    package func pending(among domains: Set<Domain>) -> [Domain] {
        state.withLock { state in
            domains.filter { state.domains[$0]?.merge.pending.isEmpty == false }
        }.sorted()
    }

    /// What is wrong with domains: files that can't be taken, edits that can't be saved.
    package func failures() -> [(domain: Domain, error: DefaultsError)] {
        state.withLock { state in
            state.domains.flatMap { domain, state in
                [state.damage?.error, state.failure].compactMap { $0 }.map { (domain, $0) }
            }
        }.sorted { $0.domain < $1.domain }
    }
}
