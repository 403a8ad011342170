#if OVER_FOUNDATION
import Foundation
import PropertyList

extension PropertyListValue {
    /// Creates the value of an object that Foundation's class returned; `nil` if no property list can hold it.
    ///
    /// Apple's Foundation returns objects of its own classes, and Foundation on Linux returns Swift's types.
    init?(foundation object: Any) {
        // An NSNumber of 1 is also a Bool, an Int and a Double, so it must come first. Conversely, on Apple's systems a
        // Bool is also an NSNumber.
        if type(of: object) is AnyClass, let number = object as? NSNumber {
            self = Self.stored(number)
            return
        }
        switch object {
        case let text as String: self = .string(text)
        case let flag as Bool: self = .boolean(flag)
        case let number as Int: self = .integer(Int64(number))
        case let number as Double: self = .real(number)
        case let number as Float: self = .real32(number)
        case let date as Date: self = .date(PropertyListDate(date))
        case let data as Data: self = .data([UInt8](data))
        case let elements as [Any]:
            var values: [PropertyListValue] = []
            values.reserveCapacity(elements.count)
            for element in elements {
                guard let value = PropertyListValue(foundation: element) else { return nil }
                values.append(value)
            }
            self = .array(values)
        case let entries as [String: Any]:
            var values: [String: PropertyListValue] = [:]
            values.reserveCapacity(entries.count)
            for (key, element) in entries {
                guard let value = PropertyListValue(foundation: element) else { return nil }
                values[key] = value
            }
            self = .dictionary(values)
        case let number as any FixedWidthInteger & DefaultsValue:
            guard let value = try? Self.stored(number) else { return nil }
            self = value
        default: return nil
        }
    }

    /// The number, in the kind that it was created with.
    private static func stored(_ number: NSNumber) -> PropertyListValue {
        // Compare identities: Foundation has one object for each Boolean, but its type is "c", like that of 8-bit
        // integers.
        if number === NSNumber(value: true) || number === NSNumber(value: false) { return .boolean(number.boolValue) }
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"): return .real32(number.floatValue)
        case UInt8(ascii: "d"): return .real(number.doubleValue)
        case UInt8(ascii: "Q"):
            return Int64(exactly: number.uint64Value).map(PropertyListValue.integer) ?? .unsigned(number.uint64Value)
        default: return .integer(number.int64Value)
        }
    }

    /// Whether the value is or contains an archive's object number, which only files hold.
    var holdsObjectNumber: Bool {
        switch self {
        case .uid: true
        case .array(let values): values.contains(where: \.holdsObjectNumber)
        case .dictionary(let values): values.values.contains(where: \.holdsObjectNumber)
        default: false
        }
    }
}

extension HomeDirectory {
    /// The home directory of the user who runs this process; in a sandbox, that of the app.
    static var current: HomeDirectory { HomeDirectory(path: NSHomeDirectory()) }
}
#endif
