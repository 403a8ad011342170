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
        guard self == .lasting, [.directory, .locked].contains(error.code) else { return error }
        return DefaultsError(error.code, "\(error) Edits are kept in memory and tried again.", errno: error.errno)
    }
}

/// What came of an attempt to publish a version of a file.
package enum Publication: Sendable {
    /// The file isn't what it was expected to be, and was left as it is. Read it, merge, try again.
    case overtaken
    /// Someone has the file open for writing, and it was left as it is, since nobody stays to see what comes of that.
    case openForWriting
    /// The new version is in place and durable; `nil` when the file was removed. The version it replaced is still to be
    /// examined: someone may have written it in the last moment.
    case done(FileVersion?, displaced: DisplacedFile?)
    /// The new version is in place, but its directory couldn't be made durable: a crash may bring the old one back. What
    /// it displaced is to be examined all the same.
    case doneUnsafely(FileVersion?, DefaultsError, displaced: DisplacedFile?)
}
