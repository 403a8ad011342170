/// What came of an attempt to publish a version of a file.
package enum Publication: Sendable {
    /// The file isn't what it was expected to be, and was left as it is. Read it, merge, try again.
    case overtaken
    /// The new version is in place and durable; `nil` when the file was removed. The version it replaced is still to be
    /// examined: someone may have written it in the last moment.
    case done(FileVersion?, displaced: DisplacedFile?)
}
