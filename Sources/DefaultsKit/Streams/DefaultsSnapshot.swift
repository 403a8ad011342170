public import PropertyList

/// All that a search found at one moment.
public struct DefaultsSnapshot: Hashable, Sendable {
    /// The values by key.
    public let values: [String: PropertyListValue]

    init(values: [String: PropertyListValue]) {
        self.values = values
    }

    /// A typed key's value, or its default.
    public subscript<Value>(key: DefaultsKey<Value>) -> Value { key.read(values[key.name]) }
}
