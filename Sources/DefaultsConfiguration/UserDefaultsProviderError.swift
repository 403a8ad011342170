#if Configuration
public import Configuration
import PropertyList

/// A stored value that can't be read as the type asked for.
///
/// It doesn't hold the value, which may be a secret.
public struct UserDefaultsProviderError: Error, Hashable, Sendable {
    /// The name of the key, joined by ".".
    public let key: String
    /// The type that was asked for.
    public let requestedType: ConfigType

    private let kind: String

    init(key: String, _ value: PropertyListValue, _ requestedType: ConfigType) {
        self.key = key
        self.requestedType = requestedType
        kind =
            switch value {
            case .string: "a string"
            case .integer, .unsigned: "an integer"
            case .real, .real32: "a real"
            case .boolean: "a Boolean"
            case .date: "a date"
            case .data: "data"
            case .array: "an array"
            case .dictionary: "a dictionary"
            case .uid: "an archive's reference"
            }
    }
}

extension UserDefaultsProviderError: CustomStringConvertible {
    /// What is stored, what was asked for, and what to do.
    public var description: String {
        let remedy =
            kind == "a dictionary"
            ? "ask for the keys in it, such as \"\(key).name\"" : "store one that is, or ask for another type"
        return "The value of \"\(key)\" is \(kind) that can't be read as \(requestedType): \(remedy)."
    }
}
#endif
