public import DefaultsKit
public import Foundation
public import PropertyList

extension PropertyListValue {
    /// A plain value of an archive as a Foundation object; `nil` for a composite value.
    var foundationScalar: NSObject? {
        switch self {
        case .string(let text): NSString(string: text)
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .real32(let number): NSNumber(value: number)
        case .boolean(let flag): NSNumber(value: flag)
        case .data(let bytes): NSData(data: Data(bytes))
        case .date(let date): NSDate(secondsSinceReferenceDate: date.secondsSinceReferenceDate)
        case .array, .dictionary, .uid: nil
        }
    }

    /// Returns a number, rounded toward zero; `nil` if the value isn't a number, or doesn't fit.
    func integer<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        switch self {
        case .integer(let number): Number(exactly: number)
        case .unsigned(let number): Number(exactly: number)
        case .boolean(let flag): flag ? 1 : 0
        default: double.flatMap { Number(exactly: $0.rounded(.towardZero)) }
        }
    }

    /// A number as a `Double`; `nil` if the value isn't a number.
    var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .unsigned(let number): Double(number)
        case .real(let number): number
        case .real32(let number): Double(number)
        default: nil
        }
    }
}

extension NSDate {
    /// Creates a date; `nil` for a value that isn't finite, since describing such a date crashes the process.
    convenience init?(secondsSinceReferenceDate seconds: Double) {
        guard seconds.isFinite else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds)
    }
}

extension PropertyListValue {
    /// Archives an object as data, as `UserDefaults.set(archiving:forKey:)` stores it.
    ///
    /// Use it wherever you need a value: in a transaction, in a dictionary, or in your own type that stores an object
    /// under a typed key.
    ///
    /// ```swift
    /// extension Tint: DefaultsValue {
    ///     init?(propertyListValue: PropertyListValue) {
    ///         guard let color = try? propertyListValue.unarchivedObject(of: Color.self) else { return nil }
    ///         self.init(color)
    ///     }
    ///     var propertyListValue: PropertyListValue? {
    ///         get throws { try PropertyListValue(archiving: color) }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameter object: An object with secure coding.
    /// - Throws: A `DefaultsProblem` if the object can't be archived, for the reasons listed at
    ///   `UserDefaults.set(archiving:forKey:)`.
    public init<Object: NSObject & NSSecureCoding>(archiving object: Object) throws(DefaultsProblem) {
        do {
            self = .data(try KeyedArchive(archiving: object).bytes)
        } catch {
            throw DefaultsProblem(.archive, describedBy: "The object can't be archived: \(error).")
        }
    }

    /// Unarchives the object in this data value.
    ///
    /// It accepts the same archives as `UserDefaults.unarchivedObject(of:forKey:)`, and throws where Foundation would
    /// crash.
    ///
    /// - Parameter type: The object's class; subclasses are accepted.
    /// - Returns: The object.
    /// - Throws: A `DefaultsProblem` that explains why there is no such object.
    public func unarchivedObject<Object: NSObject & NSSecureCoding>(
        of type: Object.Type
    ) throws(DefaultsProblem) -> Object {
        var failure = ArchiveFailure("its value is of another class")
        if let object = KeyedArchive.object(of: [type], in: self, { failure = $0 }) as? Object { return object }
        throw KeyedArchive.problem("The value", as: [type], because: failure)
    }
}
