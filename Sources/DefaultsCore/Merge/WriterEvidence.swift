/// The evidence of how a foreign writer came to write a file.
package struct WriterEvidence: Hashable, Sendable {
    /// Whether no program had read the version before (see `Seal`), so that the writer had loaded an older one, or
    /// none; `nil` if that isn't known.
    package var isUnread: Bool?
    /// Whether the writer wrote into the file of the version before, rather than a new one.
    package var isInPlace: Bool
    /// The time when the file was written, which may be before it was moved into place.
    package var written: Timestamp

    package init(written: Timestamp, isUnread: Bool? = nil, isInPlace: Bool = false) {
        self.written = written
        self.isUnread = isUnread
        self.isInPlace = isInPlace
    }
}
