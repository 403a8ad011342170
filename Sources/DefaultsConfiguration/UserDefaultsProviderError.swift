#if Configuration
public import Configuration
import PropertyList

/// An error thrown when a stored value can't be read as the requested type.
///
/// The error does not contain the value, which may be a secret.
public struct UserDefaultsProviderError: Error, Hashable, Sendable {
    /// The name of the key, joined by ".".
    public let key: String
    /// The requested type.
    public let requestedType: ConfigType

    private let kind: String

    init(key: String, holding value: PropertyListValue, as requestedType: ConfigType) {
        self.key = key
        self.requestedType = requestedType
        kind = value.kind
    }
}

extension UserDefaultsProviderError: CustomStringConvertible {
    /// The stored kind, the requested type and the remedy.
    public var description: String {
        let remedy =
            kind == "a dictionary"
            ? "Read its keys instead, such as \"\(key).name\"." : "Store such a value, or request another type."
        return "The value of \"\(key)\" is \(kind) that can't be read as \(requestedType). \(remedy)"
    }
}
#endif
