package import PropertyList

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension PropertyListValue {
    /// The value as the classic `object(forKey:)` returns it.
    ///
    /// It is a `String`, `Int` (`UInt64` beyond `Int.max`), `Double` (`Float` for a 32-bit real), `Bool`, `Date`,
    /// `Data`, `[Any]` or `[String: Any]`, with no `Optional` among the elements. The object number of an archive stays
    /// a `PropertyListValue`, so that it can be set again.
    package var anyValue: Any {
        switch self {
        case .string(let text): text
        case .integer(let number): Int(exactly: number).map { $0 as Any } ?? number
        case .unsigned(let number): number
        case .real(let number): number
        case .real32(let number): number
        case .boolean(let flag): flag
        case .date(let date): Date(date)
        case .data(let bytes): Data(bytes)
        case .array(let values): values.map(\.anyValue)
        case .dictionary(let values): values.mapValues(\.anyValue)
        case .uid: self
        }
    }

    /// Converts a value of any type; `nil` if there is none.
    static func stored(any value: Any) throws(UnstorableValue) -> PropertyListValue? {
        try converted(value, depth: 0)
    }

    /// Converts a value of a type that can be stored; `nil` if there is none.
    static func stored(_ value: some PropertyListConvertible) throws(UnstorableValue) -> PropertyListValue? {
        try converted(value, depth: 0)
    }

    private static func converted(_ value: Any, depth: Int) throws(UnstorableValue) -> PropertyListValue? {
        // A cast alone isn't enough: with Foundation loaded, an NSNumber of 1 is a Bool, an Int and a Double.
        let type = type(of: value)
        if type == String.self, let text = value as? String { return .string(text) }
        if type == Int.self, let number = value as? Int { return .integer(Int64(number)) }
        if type == Bool.self, let flag = value as? Bool { return .boolean(flag) }
        if type == Double.self, let number = value as? Double { return .real(number) }
        if type == Data.self, let data = value as? Data { return .data([UInt8](data)) }
        if type == Date.self, let date = value as? Date { return .date(PropertyListDate(date)) }
        if type == [String].self, let texts = value as? [String] { return .array(texts.map(PropertyListValue.string)) }
        if type == [Any].self, let elements = value as? [Any] { return try converted(elements: elements, depth) }
        if type == [String: Any].self, let entries = value as? [String: Any] {
            return try converted(entries: entries, depth)
        }
        if let optional = value as? any OptionalValue {
            guard let wrapped = optional.wrapped else { return nil }
            return try converted(wrapped, depth: depth)
        }
        if let elements = value as? any ElementsInOrder { return try converted(elements: elements.elements, depth) }
        if let dictionary = value as? any EntriesByKey {
            guard let entries = dictionary.entries else { throw .otherKeys(type) }
            return try converted(entries: entries, depth)
        }
        guard let convertible = value as? any PropertyListConvertible else { throw .unknownType(type) }
        return try converted(convertible, depth: depth)
    }

    private static func converted(
        _ value: some PropertyListConvertible, depth: Int
    ) throws(UnstorableValue) -> PropertyListValue? {
        let converted: PropertyListValue?
        do {
            converted = try value.propertyListValue
        } catch {
            throw .unconvertible(Swift.type(of: value), because: error)
        }
        if let converted, converted.isDeeper(than: maximumDepth - depth) { throw .tooDeep }
        return converted
    }

    private static func converted(elements: [Any], _ depth: Int) throws(UnstorableValue) -> PropertyListValue {
        guard depth < maximumDepth else { throw .tooDeep }
        var values: [PropertyListValue] = []
        values.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do throws(UnstorableValue) {
                guard let value = try converted(element, depth: depth + 1) else { throw .nilElement }
                values.append(value)
            } catch {
                throw error.inside("[\(index)]")
            }
        }
        return .array(values)
    }

    private static func converted(entries: [String: Any], _ depth: Int) throws(UnstorableValue) -> PropertyListValue {
        guard depth < maximumDepth else { throw .tooDeep }
        var values: [String: PropertyListValue] = [:]
        values.reserveCapacity(entries.count)
        for (key, element) in entries {
            do throws(UnstorableValue) {
                if let value = try converted(element, depth: depth + 1) { values[key] = value }
            } catch {
                throw error.inside(".\(key)")
            }
        }
        return .dictionary(values)
    }
}

extension PropertyListValue {
    /// The maximum nesting of containers in a stored value: one level less than a file allows, since the domain itself
    /// is one.
    ///
    /// A more deeply nested value would make the file unreadable, and thus endanger the domain's other keys.
    package static var maximumDepth: Int { PropertyListLimits.domainFile.depth - 1 }

    /// Returns whether containers are nested more deeply than a limit allows.
    package func isDeeper(than limit: Int) -> Bool {
        switch self {
        case .array(let values): limit <= 0 || values.contains { $0.isDeeper(than: limit - 1) }
        case .dictionary(let values): limit <= 0 || values.values.contains { $0.isDeeper(than: limit - 1) }
        default: false
        }
    }
}
