/// What came of a look at a domain's file.
package enum FileReading: Sendable {
    /// No file has the name.
    case missing
    /// The file holds the bytes that it held before; its identity may have moved.
    case unchanged(FileVersion)
    /// The file holds something else.
    case contents(FileContents)
    /// Someone has the file open for writing; look again in a moment.
    case beingWritten
    /// The file can't be taken as it is: it doesn't parse, is empty, too large, no regular file, or can't be read.
    case unusable(FileDamage)

    /// Whether there is nothing to be had of the file; which may be for want of its directory.
    var isBadNews: Bool {
        switch self {
        case .missing, .unusable: true
        case .unchanged, .contents, .beingWritten: false
        }
    }

    /// Whether it is bad news that wasn't known: in a moment it may be otherwise.
    func isNews(after version: FileVersion?, _ damage: FileDamage?) -> Bool {
        switch self {
        case .missing: version != nil
        case .unusable(let new): damage?.version?.hash != new.version?.hash || damage?.error != new.error
        case .unchanged, .contents, .beingWritten: false
        }
    }
}

/// Why a file can't be taken, told once for each state of the file.
package struct FileDamage: Hashable, Sendable {
    /// The kind of failure and a sentence with file, line or byte, and remedy.
    package var error: DefaultsError
    /// The state of the file, where it could be read at all.
    package var version: FileVersion?
    /// Whether the file isn't replaced even after a copy: it is behind a link, or was named by its path, and may never have
    /// been meant for preferences.
    package var isProtected = false

    /// The error of an edit that would have to replace the file.
    package var refusal: DefaultsError {
        DefaultsError(
            .damaged,
            "\(error) It may not be a preferences file, so it was not replaced. Repair it, move it away, or run "
                + "`defaults write --force`.")
    }
}
