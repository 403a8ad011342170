package import DefaultsCore

/// An edit that was made from values, and holds as long as they do.
package struct ConditionalEdit {
    /// The keys to be set or removed.
    package var values: Difference
    /// What keys must still hold.
    package var expected: Difference
}
