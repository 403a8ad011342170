import PropertyList

/// The change of a key's value as a search list finds it.
struct EffectiveChange: Hashable, Sendable {
    var key: String
    var old: PropertyListValue?
    var new: PropertyListValue?
}
