/// Who publishes, and so what may be left for later.
package enum Publisher: Sendable {
    /// It stays: it looks again at what it has displaced, and tries again what has failed.
    case lasting
    /// It may end at once: what it displaces must be complete, and what fails has failed.
    case passing

    /// What becomes of edits that can't be saved, to follow a semicolon.
    var consequence: String {
        switch self {
        case .lasting: "its edits are kept in memory and tried again"
        case .passing: "nothing is saved"
        }
    }

    /// An error for whoever waits to have edits saved: where it is of the directory, and edits are kept, it says so.
    func told(_ error: DefaultsError) -> DefaultsError {
        guard self == .lasting, [.directory, .locked, .openForWriting].contains(error.code) else { return error }
        return DefaultsError(error.code, "\(error) Edits are kept in memory and tried again.", errno: error.errno)
    }
}

/// The way to deal with what stands in the way of a save for a moment: another process holds the directory's lock, has the
/// file open for writing, or keeps rewriting it.
package enum ObstaclePolicy: Sendable {
    /// Wait ten seconds for the lock, and one for a writer, or three in a process that may end at once. After that a lasting
    /// publisher replaces the file, and looks later at what the writer did; a passing one fails.
    case wait
    /// Throw `locked` or `openForWriting` at once, for a thread that must not wait.
    case report
    /// As `report`, but replace a file that is open for writing: its writer has had its time.
    case override

    /// The number of times a file that changes under the save is read again before it is given up.
    var rounds: Int { self == .wait ? 100 : 10 }

    /// Whether an error is one that this policy reports, to be tried again, and no failure.
    package func isReported(_ error: DefaultsError) -> Bool {
        self != .wait && [.locked, .openForWriting].contains(error.code)
    }
}

/// What came of an attempt to publish a version of a file.
package enum Publication: Sendable {
    /// The file isn't what it was expected to be, and was left as it is. Read it, merge, try again.
    case overtaken
    /// Someone has the file open for writing, and it was left as it is.
    case openForWriting
    /// The new version is in place and durable; `nil` when the file was removed. The version it replaced is still to be
    /// examined: someone may have written it in the last moment. One that was replaced and isn't handed back is left to
    /// recovery, under its hidden name.
    case done(FileVersion?, displaced: DisplacedFile?)
    /// The new version is in place, but its directory couldn't be made durable: a crash may bring the old one back. What
    /// it displaced is to be examined all the same.
    case doneUnsafely(FileVersion?, DefaultsError, displaced: DisplacedFile?)
}
