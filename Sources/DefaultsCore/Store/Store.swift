import Glibc
import Linux
package import Manifests
package import PropertyList

/// A store for the domains in one directory, which reads and saves their files, merges changes, and maintains the
/// change log.
///
/// A store also reads the domains in the system's directories, which are read-only.
///
/// The agent has one store, and so does a process that works without an agent. All methods are synchronous and may be
/// called from any thread; those that wait for the disk say so.
///
/// The lock order is `saving`, then the `DirectoryLock`, then one of `fileLocks`, then the journal's `logFile`, then
/// `state`; only the first three may be held while the observer is called. The journal's `archive` comes before
/// `logFile`, and isn't held together with the first three.
package final class Store: Sendable {
    package let directory: PreferencesDirectory
    /// The directories of the domains that aren't the current user's.
    package let system: SystemDirectories
    /// The limits of a file's size and depth; a file that exceeds them counts as damaged.
    package let limits: PropertyListLimits
    /// The lifetime of the store, which decides whether a save may leave work for later, and whether edits may be
    /// refused as late.
    let lifetime: StoreLifetime
    /// Whether files that aren't property lists may be replaced after a backup.
    let replacesDamagedFiles: Bool

    /// The saver, under the lock that lets only one thread at a time save files and examine displaced ones.
    ///
    /// Held during I/O, so only threads that may wait for the disk acquire it. `nil` until the first use.
    let saving = ForkSafeMutex<Saver?>(nil)
    /// The locks of the domains' files.
    ///
    /// Held during I/O, but only briefly while a file is read.
    let fileLocks = FileLocks()
    /// The directory that the path led to last; `nil` if it couldn't be opened, and in a transient store.
    ///
    /// The lock is held during I/O, but only briefly. No other lock is acquired under it.
    let openDirectory = ForkSafeMutex<FileDescriptor?>(nil)
    /// The lock for the domains and the log.
    ///
    /// Only transitions run under this lock: no I/O, and no calls to other objects.
    let state: ForkSafeMutex<StoreState>
    /// The log on disk; `nil` for a log that is only in memory.
    package let journal: Journal?
    /// The object that is notified of records and of edits to save.
    ///
    /// Set once, before several threads use the store.
    let observer = ForkSafeMutex<WeakObserver>(WeakObserver())

    struct WeakObserver {
        weak var object: (any StoreObserver)?
    }

    /// Creates a store, whose journal begins with `beginJournal`.
    package init(
        directory: PreferencesDirectory, system: SystemDirectories = .none,
        limits: PropertyListLimits = PropertyListLimits.domainFile, log: ChangeLog = ChangeLog(),
        journal: Journal? = nil, lifetime: StoreLifetime = .resident, replacesDamagedFiles: Bool = true
    ) {
        self.directory = directory
        self.system = system.excluding(directory)
        self.limits = limits
        self.lifetime = lifetime
        self.replacesDamagedFiles = replacesDamagedFiles
        self.journal = journal
        self.state = ForkSafeMutex(StoreState(log: log))
    }

    /// Sets the observer, which isn't retained.
    package func observe(with object: any StoreObserver) {
        observer.withLock { $0.object = object }
    }

    /// Runs a transition, then performs the actions that it returns.
    func transition<Value>(_ body: (inout StoreState) -> (Value, [StoreAction])) -> Value {
        let (value, actions) = state.withLock { state in
            state.notice(.now())
            return body(&state)
        }
        perform(actions)
        return value
    }

    /// Brings the log file up to date, and performs the actions of transitions.
    func perform(_ actions: [StoreAction]) {
        writeLog()
        guard !actions.isEmpty, let observer = observer.withLock({ $0.object }) else { return }
        for case .published(let domain) in actions { observer.storePublished(in: domain) }
        for case .report(let event) in actions { observer.storeReported(event) }
        for case .save(let domain, let timing) in actions {
            observer.storeNeedsSaving(domain, urgency: timing)
        }
    }

    /// Reports that the log file can't be written anymore, if there is a reason.
    func reportLostLog(_ error: DefaultsError?) {
        if let error { observer.withLock { $0.object }?.storeLostLog(error) }
    }

    /// Reports a backup copy.
    func reportCopy(_ copy: String) {
        observer.withLock { $0.object }?.storeMadeCopy(copy)
    }

    // MARK: Reading

    /// Returns a domain's values in effect.
    ///
    /// No file is read: the values are the last known ones.
    package func snapshot(of domain: Domain) -> DomainSnapshot {
        withWrittenLog { $0.snapshot(of: domain) }
    }

    /// Returns the current user's domains that have values or are damaged, in order.
    package func domains() -> [Domain] { snapshots().map(\.domain) }

    /// Returns snapshots of a layer's domains that have values or are damaged, in order.
    package func snapshots(of user: DomainUser = .current) -> [DomainSnapshot] {
        withWrittenLog { $0.snapshots(of: user) }
    }

    /// The end of the log; all records up to here are in the log file.
    package var cursor: Cursor { withWrittenLog { $0.log.cursor } }

    /// Sets the maximum size of the log, which takes effect with the next record.
    package func setLogCapacity(_ capacity: ChangeLog.Capacity) {
        state.withLock { $0.log.capacity = capacity }
    }

    /// Sets the manifests by which changes are checked from now on.
    package func setManifests(_ manifests: ManifestSet) { state.withLock { $0.manifests = manifests } }

    /// Returns what the values in effect break in the manifests of their domains, in order.
    package func violations() -> [(domain: Domain, violations: [Violation])] {
        let manifests = state.withLock(\.manifests)
        if manifests.isEmpty { return [] }
        return withWrittenLog { $0.snapshots() }.compactMap { snapshot in
            guard let entry = manifests.entry(for: snapshot.domain.name) else { return nil }
            let violations = entry.violations(of: snapshot.values.keys, in: snapshot.values)
            return violations.isEmpty ? nil : (snapshot.domain, violations)
        }
    }

    // MARK: Editing

    /// Applies an app's edit: it is in effect immediately, and pending until it is saved.
    ///
    /// - Returns: The cursor of the edit's record, or the log's end if nothing changed.
    /// - Throws: `readOnly` or `invalidValue`; `damaged`, if the file may not be replaced; `late`, in a resident store,
    ///   if the edit arrives so late that it would undo what others have done in the meantime; or `changed`, if the
    ///   edit expects values other than those in effect.
    package func submit(_ request: EditRequest) throws(DefaultsError) -> Cursor {
        try request.check()
        return try apply(request)
    }

    /// Applies an edit like `submit`, after it has been checked.
    func apply(_ request: EditRequest) throws(DefaultsError) -> Cursor {
        try checkFit(of: request)
        let outcome: Result<Revision, DefaultsError> = transition { state in
            let now = Timestamp.now()
            if let refusal = state.refusal(of: request, by: lifetime, now: now) { return (.failure(refusal), []) }
            let (revision, actions) = state.edit(request, now: now)
            return (.success(revision), actions)
        }
        let revision = try outcome.get()
        // The epoch of the log as it has just been written.
        let (epoch, changesAll) = state.withLock { ($0.log.epoch, $0.unchanged(by: request).isEmpty) }
        // A foreign writer may just have removed a value from the file that is still in effect here, because its change
        // hasn't been read yet.
        if !changesAll, !isAsKnown(request.domain) {
            transition { state in ((), state.makePending(request, now: .now())) }
        }
        return Cursor(epoch: epoch, revision: revision)
    }

    /// Checks that a domain's file could hold the values in effect after an edit, unless the edit is small or doesn't
    /// make them larger.
    ///
    /// Otherwise, the edit would stay pending, and would fail the saves of every other client.
    ///
    /// - Throws: `invalidValue`.
    func checkFit(of request: EditRequest) throws(DefaultsError) {
        let found = state.withLock { state in
            // Most edits are small, so the refusal, which is looked for again when the edit is applied, comes second.
            guard let found = state.valuesToCheck(request, limit: limits.bytes),
                state.refusal(of: request, by: lifetime, now: .now()) == nil
            else { return nil as (values: DomainValues, format: PropertyListFormat)? }
            return found
        }
        guard let (values, format) = found else { return }
        do throws(DefaultsError) { _ = try encode(values, as: format, for: request.domain) } catch {
            throw .excess(of: request.values.keys, error)
        }
    }

    /// Encodes values anew, in the format of their domain's file if possible.
    ///
    /// Text stays text: old-style text with a value of another type becomes XML, so that the value keeps its type. The
    /// result is binary if the file is, if XML can't represent a value, or if the text would be too large to read back.
    ///
    /// - Throws: `invalidValue`, for example if the file would be too large.
    func encode(
        _ values: DomainValues, as format: PropertyListFormat, for domain: Domain
    ) throws(DefaultsError) -> (bytes: [UInt8]?, format: PropertyListFormat) {
        let value = PropertyListValue.dictionary(values)
        let isOldStyle = format == .oldStyle && value.asStored(in: .oldStyle) == value
        let textFormats: [PropertyListFormat] = format == .binary ? [] : isOldStyle ? [.oldStyle, .xml] : [.xml]
        for format in textFormats {
            if let bytes = try? value.write(as: format), bytes.count <= limits.bytes { return (bytes, format) }
        }
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try value.write(as: .binary)
        } catch {
            throw DefaultsError(.invalidValue, "The domain \(domain) can't be written: \(error)")
        }
        guard bytes.count <= limits.bytes else {
            throw DefaultsError(
                .invalidValue,
                "The file of \(domain) would be larger than \(limits.bytes) bytes, the limit.",
                remedy: "Remove a key, and store large data in a separate file.")
        }
        return (bytes, .binary)
    }

    /// Returns whether a domain's file is in its last known state, judging by its metadata.
    private func isAsKnown(_ domain: Domain) -> Bool {
        let (known, isDamaged) = state.withLock { ($0.domains[domain]?.file, $0.domains[domain]?.damage != nil) }
        return !isDamaged && isFile(of: domain, known) == true
    }

    /// Returns whether a domain's file is a version, judging by its metadata.
    ///
    /// - Parameters:
    ///   - domain: The domain.
    ///   - version: The version; `nil` if there should be no file.
    /// - Returns: The answer; `nil` if the metadata can't be read now.
    func isFile(of domain: Domain, _ version: FileVersion?) -> Bool? {
        guard let file = file(of: domain) else { return true }
        var status = stat()
        if stat(file.path, &status) == 0 { return version?.identity == FileIdentity(status) }
        return errno == ENOENT || errno == ENOTDIR ? version == nil : nil
    }

    /// Returns the domains whose files have changed since they were last read, judging by their metadata.
    ///
    /// A file that couldn't be read at all isn't returned. Takes a few microseconds for each domain.
    ///
    /// - Parameter domains: The domains to look at; `nil` for all that are known.
    /// - Returns: The domains, in no particular order.
    package func changedFiles(among domains: Set<Domain>?) -> [Domain] {
        let known = state.withLock { state in
            (domains.map(Array.init) ?? state.domains.keys).map { domain in
                (domain: domain, file: state.domains[domain]?.file, damage: state.domains[domain]?.damage)
            }
        }
        return known.filter { domain, file, damage in
            guard let damage else { return isFile(of: domain, file) == false }
            return damage.version.map { isFile(of: domain, $0) == false } ?? false
        }.map(\.domain)
    }

    /// Returns the domains with pending edits, in order, and the number of pending edits in each.
    package func pending() -> [(domain: Domain, edits: Int)] {
        state.withLock { state in
            state.domains.inUse.compactMap { $1.merge.pending.isEmpty ? nil : ($0, $1.merge.pending.count) }
        }.sorted { $0.domain < $1.domain }
    }

    /// Returns which of the given domains have pending edits, in order.
    ///
    /// The time taken doesn't depend on the number of other domains.
    package func pending(among domains: Set<Domain>) -> [Domain] {
        state.withLock { state in
            domains.filter { state.domains.inUse[$0]?.merge.pending.isEmpty == false }
        }.sorted()
    }

    /// Returns the problems of all domains: files that can't be used, and edits that can't be saved.
    package func failures() -> [(domain: Domain, error: DefaultsError)] {
        state.withLock { state in
            state.domains.inUse.flatMap { domain, state in
                [state.damage?.error, state.failure].compactMap { $0 }.map { (domain, $0) }
            }
        }.sorted { $0.domain < $1.domain }
    }
}
