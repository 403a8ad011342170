package import PropertyList

/// One key's change.
package struct KeyChange: Hashable, Sendable {
    package var key: String
    /// The value before, `nil` when there was none.
    package var old: PropertyListValue?
    /// The value since, `nil` when the key was removed.
    package var new: PropertyListValue?

    package init(key: String, old: PropertyListValue?, new: PropertyListValue?) {
        self.key = key
        self.old = old
        self.new = new
    }
}
