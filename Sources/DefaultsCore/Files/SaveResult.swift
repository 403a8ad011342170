/// The lifetime of a store, which decides what a save may leave for later, and whether edits may come too late.
package enum StoreLifetime: Sendable {
    /// The store stays: it examines displaced files again, and retries failed saves.
    case resident
    /// The store may end immediately: the files that it displaces must be complete, and a failure is final.
    case transient

    /// The consequence for edits that can't be saved, to follow a semicolon.
    var consequence: String {
        switch self {
        case .resident: "its edits are kept in memory, and saving is retried"
        case .transient: "nothing is saved"
        }
    }

    /// Returns an error for a caller that waits for a save.
    ///
    /// If the store keeps the edits, and the error is about the directory, a lock or a writer, the error says that they
    /// are kept.
    func explaining(_ error: DefaultsError) -> DefaultsError {
        guard self == .resident, [.directory, .locked, .openForWriting].contains(error.code) else { return error }
        return DefaultsError(
            error.code, "\(error) Edits are kept in memory, and saving is retried.", errno: error.errno)
    }
}

/// The way to deal with temporary obstacles to a save.
///
/// Such an obstacle is another process that holds the directory's lock, has the file open for writing, or keeps
/// rewriting it.
package enum ObstaclePolicy: Sendable {
    /// Wait up to ten seconds for the lock, and one second for a writer, or three in a transient store.
    ///
    /// After that, a resident store replaces the file and examines the writer's changes later; a transient store fails.
    case wait
    /// Throw `locked` or `openForWriting` with hardly any delay, for a thread that must not wait.
    case report
    /// Like `report`, but replace a file that is open for writing: its writer has had enough time.
    case override

    /// The number of attempts after which the save of a file that keeps changing is given up.
    var maximumAttempts: Int { self == .wait ? 100 : 10 }

    /// Returns whether an error is one that this policy reports for a retry, and isn't a failure.
    package func isReported(_ error: DefaultsError) -> Bool {
        self != .wait && [.locked, .openForWriting].contains(error.code)
    }
}

/// The outcome of an attempt to save a version of a file.
package enum SaveResult: Sendable {
    /// The file wasn't in the expected state, and was left as it is: reload it, merge, and retry.
    case fileChanged
    /// A program has the file open for writing, and it was left as it is.
    case openForWriting
    /// The new version is in place and durable; `nil` if the file was removed.
    ///
    /// The displaced file must be examined, since a foreign writer may have written it at the last moment. If one was
    /// displaced and isn't returned, it is left to recovery under its hidden name.
    case saved(FileVersion?, displaced: DisplacedFile?)
    /// The new version is in place, but its directory couldn't be made durable: a crash may bring the old version back.
    ///
    /// The displaced file must be examined nevertheless.
    case savedUnsafely(FileVersion?, DefaultsError, displaced: DisplacedFile?)
}
