package import PropertyList

/// What a merge set aside: the older of two writers' values for one key.
package struct Overruled: Hashable, Sendable {
    package var key: String
    /// The value that lost; `nil` when what lost was a removal.
    package var value: PropertyListValue?
    /// Whose it was.
    package var writer: Writer

    package init(key: String, value: PropertyListValue?, writer: Writer) {
        self.key = key
        self.value = value
        self.writer = writer
    }
}
