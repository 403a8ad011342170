/// The lifetime of a store, which decides what a save may leave for later, and whether edits may be refused as late.
package enum StoreLifetime: Sendable {
    /// The store stays: it examines displaced files again, and retries failed saves.
    case resident
    /// The store may end at any time: files that it displaces must be completely written first, and a failure is final.
    case transient

    /// The consequence for edits that can't be saved, as a sentence.
    var consequence: String {
        switch self {
        case .resident: "Edits are kept in memory, and saving is retried."
        case .transient: "Nothing is saved."
        }
    }

    /// Returns an error that also tells a caller waiting for a save that its edits are kept in memory.
    ///
    /// This applies to a resident store's errors about the directory, a lock or a writer; other errors are returned
    /// unchanged.
    func explaining(_ error: DefaultsError) -> DefaultsError {
        guard self == .resident, [.directory, .locked, .openForWriting].contains(error.code) else { return error }
        return error.adding(consequence)
    }
}

/// The way to deal with temporary obstacles to a save.
///
/// An obstacle is another process that holds the directory's lock, has the file open for writing, or keeps rewriting
/// it.
package enum ObstaclePolicy: Sendable {
    /// Wait up to ten seconds for the lock, and up to one second (three in a transient store) for a writer.
    ///
    /// After that, a resident store replaces the file and examines the writer's changes later; a transient store fails.
    case wait
    /// Throw `locked` or `openForWriting` almost immediately, for a thread that must not wait.
    case report
    /// Like `report`, but replace a file that is open for writing: its writer has had enough time.
    case override

    /// The number of attempts to save a file that keeps changing.
    var maximumAttempts: Int { self == .wait ? 100 : 10 }

    /// Returns whether this policy reports an error for a retry, rather than as a failure.
    package func isReported(_ error: DefaultsError) -> Bool {
        self != .wait && [.locked, .openForWriting].contains(error.code)
    }
}

/// The outcome of an attempt to save a version of a file.
package enum SaveResult: Sendable {
    /// The file wasn't in the expected state and was left unchanged: reload it, merge, and retry.
    case fileChanged
    /// A program has the file open for writing, so it was left unchanged.
    case openForWriting
    /// The new version is in place and durable; `nil` if the file was removed.
    ///
    /// The displaced file must be examined, since a foreign writer may have written to it at the last moment. A
    /// displaced file that couldn't be opened isn't returned, and is left under its hidden name, as after a crash.
    case saved(FileVersion?, displaced: DisplacedFile?)
    /// The new version is in place, but its directory couldn't be made durable: a crash may bring the old version back.
    ///
    /// The displaced file must be examined nevertheless.
    case savedUnsafely(FileVersion?, DefaultsError, displaced: DisplacedFile?)

    /// The displaced file, if there is one.
    var displaced: DisplacedFile? {
        switch self {
        case .saved(_, let displaced), .savedUnsafely(_, _, let displaced): displaced
        case .fileChanged, .openForWriting: nil
        }
    }
}
