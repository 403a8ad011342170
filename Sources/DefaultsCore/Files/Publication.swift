/// What came of an attempt to publish a version of a file.
package enum Publication: Sendable {
    /// The file isn't what it was expected to be, and was left as it is. Read it, merge, try again.
    case overtaken
    /// The new version is in place and durable; `nil` when the file was removed. The version it replaced is still to be
    /// examined: someone may have written it in the last moment.
    case done(FileVersion?, displaced: DisplacedFile?)
    /// The new version is in place, but its directory couldn't be made durable: a crash may bring the old one back. What
    /// it displaced is to be examined all the same.
    case doneUnsafely(FileVersion?, DefaultsError, displaced: DisplacedFile?)
}
