import FoundationEssentials
import PropertyList

/// `Codable` values that another library stored as JSON, in a string or as data.
///
/// They are read so that a program that switches to this library keeps its users' settings; new values are stored as a native
/// tree.
enum StoredJSON {
    /// Decodes a value; `nil` when what is stored isn't JSON, or not of this type.
    static func decode<Value: Decodable>(_ type: Value.Type, from value: PropertyListValue) -> Value? {
        let bytes: [UInt8]
        switch value {
        case .string(let text): bytes = [UInt8](text.utf8)
        case .data(let data): bytes = data
        default: return nil
        }
        guard begins(bytes) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(bytes))
    }

    /// Whether bytes may be an object, an array or a string; a number or a Boolean is read without JSON.
    private static func begins(_ bytes: [UInt8]) -> Bool {
        let first = bytes.first { byte in !" \t\r\n".utf8.contains(byte) }
        return first.map("{[\"".utf8.contains) ?? false
    }
}
