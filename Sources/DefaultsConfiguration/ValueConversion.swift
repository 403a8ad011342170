#if Configuration
import Configuration
import DefaultsKit
import PropertyList

/// The conversion of stored values to configuration values.
struct ValueConversion: Sendable {
    let secretsSpecifier: SecretsSpecifier<String, PropertyListValue>
    let bytesDecoder: any ConfigBytesFromStringDecoder
    let arraySeparator: Character

    /// Returns the result of a lookup.
    func result(
        _ value: PropertyListValue?, for key: SearchedKey, as type: ConfigType
    ) throws(UserDefaultsProviderError) -> LookupResult {
        guard let value else { return LookupResult(encodedKey: key.name, value: nil) }
        guard let content = content(of: value, as: type) else {
            throw UserDefaultsProviderError(key: key.name, holding: value, as: type)
        }
        let isSecret = secretsSpecifier.isSecret(key: key.name, value: value)
        return LookupResult(encodedKey: key.name, value: ConfigValue(content, isSecret: isSecret))
    }

    /// Returns a value as a type, or `nil` if it can't be read as that type.
    private func content(of value: PropertyListValue, as type: ConfigType) -> ConfigContent? {
        switch type {
        case .string: text(value).map(ConfigContent.string)
        case .int: integer(value).map(ConfigContent.int)
        case .double: real(value).map(ConfigContent.double)
        case .bool: boolean(value).map(ConfigContent.bool)
        case .bytes: bytes(value).map(ConfigContent.bytes)
        case .stringArray: elements(value, text).map(ConfigContent.stringArray)
        case .intArray: elements(value, integer).map(ConfigContent.intArray)
        case .doubleArray: elements(value, real).map(ConfigContent.doubleArray)
        case .boolArray: elements(value, boolean).map(ConfigContent.boolArray)
        case .byteChunkArray: elements(value, bytes).map(ConfigContent.byteChunkArray)
        }
    }

    // MARK: Arrays

    /// Returns the elements of an array, or of a string split at the separator; `nil` if any element can't be read.
    private func elements<Element>(
        _ value: PropertyListValue, _ read: (PropertyListValue) -> Element?
    ) -> [Element]? {
        let values: [PropertyListValue]
        switch value {
        case .array(let elements): values = elements
        case .string(let text):
            // As in EnvironmentVariablesProvider, empty elements count, and whitespace around elements is ignored.
            values = text.split(separator: arraySeparator, omittingEmptySubsequences: false)
                .map { .string(Self.trimmed($0)) }
        default: return nil
        }
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for value in values {
            guard let element = read(value) else { return nil }
            elements.append(element)
        }
        return elements
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }

    // MARK: Single values

    private func text(_ value: PropertyListValue) -> String? {
        guard case .date(let date) = value else { return value.coercedString }
        // A date in a year that ISO 8601 can't express has a description that can't be parsed.
        let text = date.description
        return PropertyListDate(text) == nil ? nil : text
    }

    private func integer(_ value: PropertyListValue) -> Int? {
        switch value {
        case .string(let text): Int(text)
        case .integer(let number): Int(exactly: number)
        case .unsigned(let number): Int(exactly: number)
        case .real(let number): Int(exactly: number)
        case .real32(let number): Int(exactly: number)
        case .boolean(let flag): flag ? 1 : 0
        case .date, .data, .array, .dictionary, .uid: nil
        }
    }

    private func real(_ value: PropertyListValue) -> Double? {
        switch value {
        case .string(let text): Double(text)
        case .integer(let number): Double(exactly: number)
        case .unsigned(let number): Double(exactly: number)
        case .real(let number): number
        case .real32(let number): Double(number)
        case .boolean(let flag): flag ? 1 : 0
        case .date, .data, .array, .dictionary, .uid: nil
        }
    }

    private func boolean(_ value: PropertyListValue) -> Bool? {
        switch value {
        case .string(let text):
            switch text.lowercased() {
            case "true", "yes", "1": true
            case "false", "no", "0": false
            default: nil
            }
        case .integer, .unsigned, .real, .real32, .boolean: value.coercedBool
        case .date, .data, .array, .dictionary, .uid: nil
        }
    }

    private func bytes(_ value: PropertyListValue) -> [UInt8]? {
        switch value {
        case .data(let bytes): bytes
        case .string(let text): bytesDecoder.decode(text)
        default: nil
        }
    }
}
#endif
