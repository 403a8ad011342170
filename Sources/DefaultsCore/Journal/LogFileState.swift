import Glibc
import Linux

/// The state of the change log file, which `Journal.logFile` protects.
struct LogFileState: ~Copyable {
    enum Phase {
        /// The log is only in memory, since it hasn't begun, or has been closed.
        case none
        /// Entries are written to the file.
        case writing(ChangeLogFile)
        /// Entries aren't written anymore; the file, if there is one, stays for its records.
        case suspended(ChangeLogFile?, because: DefaultsError)
    }

    var phase = Phase.none
    /// The lock of the log, while this agent has it.
    var lock: LockFile?
    /// Whether other agents might use the same files, so that they are written only with the lock.
    let needsLock: Bool
    /// The size above which the file is replaced.
    var sizeLimit = 0
    /// The reason why records aren't being moved to the archive; they stay in the file.
    var archiveProblem: DefaultsError?
    /// The keys whose values are stored neither in the file nor in the archive.
    private(set) var exclusions = HistoryExclusions()
    /// The random number of the last removal of such values from the archive, or 0; `nil` if the file or the archive
    /// may have such values.
    var redaction: UInt64? = 0
    /// Whether the observer has been asked to maintain the history.
    var isMaintenanceRequested = false
    /// Whether the loss of the file has been reported.
    var isLossReported = false

    init(lock: consuming LockFile?, needsLock: Bool) {
        self.lock = lock
        self.needsLock = needsLock
    }

    /// Acquires the lock if this agent doesn't have it, or if it has been removed.
    mutating func renewLock(at location: LogLocation) throws(SystemCall.Failure) {
        if isLockCurrent { return }
        guard let lock = try location.lock() else { throw SystemCall.Failure(number: EBUSY) }
        self.lock = consume lock
    }

    var file: ChangeLogFile? {
        switch phase {
        case .none: nil
        case .writing(let file): file
        case .suspended(let file, _): file
        }
    }

    /// Whether the log has begun and hasn't been closed.
    var isOpen: Bool { if case .none = phase { false } else { true } }

    /// The file, if entries are written to it.
    var writtenFile: ChangeLogFile? { if case .writing(let file) = phase { file } else { nil } }

    /// The reason why the log isn't being written to the file.
    var problem: DefaultsError? { if case .suspended(_, let problem) = phase { problem } else { nil } }

    /// Whether the file and its lock are where a later agent looks for them, and the file is whole.
    var isInPlace: Bool { isLockCurrent && file.map { $0.isNamed && $0.isWhole } != false }

    var isLockCurrent: Bool {
        switch lock {
        case let lock?: lock.isCurrent
        case nil: !needsLock
        }
    }

    /// Whether a new version of the file must be written.
    var needsNewVersion: Bool {
        switch phase {
        case .none: false
        case .writing(let file): redaction == nil || file.isOversized || archiveProblem != nil || !isInPlace
        case .suspended: true
        }
    }

    /// Returns whether the observer must be asked to maintain the history.
    mutating func requestsMaintenance() -> Bool {
        guard case .writing(let file) = phase, file.isOversized, !isMaintenanceRequested else { return false }
        isMaintenanceRequested = true
        return true
    }

    /// Sets `archiveProblem`.
    mutating func report(_ failure: SystemCall.Failure, as problem: String, consequence: String? = nil) {
        let error = DefaultsError(
            .notSaved, errno: failure.number, problem, remedy: "Free disk space, or check the permissions.")
        archiveProblem = consequence.map { error.adding($0) } ?? error
    }

    // MARK: Exclusions

    /// Sets the exclusions of a log that begins, or continues an earlier one.
    mutating func begin(_ exclusions: HistoryExclusions, at location: LogLocation, continuing earlier: RecoveredLog?) {
        self.exclusions = exclusions
        let file = ExclusionsFile(besideLog: location.log)
        let known = file.contents
        // Any other log, and the archive, may have been replaced by an older file.
        let isOwn = earlier.map { $0.path == location.log && $0.isInFile && $0.isIdentified } ?? false
        let applied = known.flatMap { exclusions.areAll(in: $0.exclusions) ? $0.redaction : nil }
        let number = HistoryArchive(path: location.archive).redaction
        // Without an archive, nothing has to be removed from it.
        let isOwnArchive = number == nil || number != 0 && number == applied
        redaction = isOwn && isOwnArchive ? applied : nil
        if exclusions.ofEarlierEntries.isEmpty { redaction = redaction ?? known?.redaction ?? 0 }
        if !exclusions.areUnknown, let known, known.exclusions != exclusions { file.forget() }
    }

    /// Replaces the exclusions.
    mutating func exclude(_ exclusions: HistoryExclusions, at location: LogLocation) {
        if exclusions == self.exclusions { return }
        if !exclusions.areAll(in: self.exclusions.ofEarlierEntries) { redaction = nil }
        self.exclusions = exclusions
        if !isOpen { return }
        // From now on, values of keys that were excluded get into the log. If the agent ended before it records that,
        // and the keys were excluded again, these values would stay.
        ExclusionsFile(besideLog: location.log).forget()
        file?.exclusions = exclusions
    }
}
