import DefaultsCore

/// An edit that was made from values, and holds as long as they do.
struct ConditionalEdit {
    /// The keys to be set or removed.
    var values: Difference
    /// What keys must still hold.
    var expected: Difference
}
