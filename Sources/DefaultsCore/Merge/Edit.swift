package import PropertyList

/// A value that was set or removed and isn't yet in its file.
package struct Edit: Hashable, Sendable {
    /// The new value; `nil` removes the key.
    package var value: PropertyListValue?
    /// When it was set.
    package var time: Timestamp
    /// Who set it.
    package var writer: Writer
    /// Its place in the order of apps' edits, from 1 on; `unordered` for what a merge made pending.
    package var sequence: UInt64

    /// The place of what a merge made pending: before every app's edit, so that each attempt to publish takes it in.
    package static let unordered: UInt64 = 0

    package init(value: PropertyListValue?, time: Timestamp, writer: Writer, sequence: UInt64) {
        self.value = value
        self.time = time
        self.writer = writer
        self.sequence = sequence
    }
}
