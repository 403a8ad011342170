public import DefaultsKit
public import Foundation
public import PropertyList

extension PropertyListValue {
    /// Archives an object as data, as `UserDefaults.set(archiving:forKey:)` stores it.
    ///
    /// Use it wherever a value is needed: in a transaction, a dictionary, or a type of yours that keeps an object in a typed
    /// key.
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
    /// - Parameter object: an object with secure coding.
    /// - Throws: why the object can't be archived; the rules are those of `UserDefaults.set(archiving:forKey:)`.
    public init<Object: NSObject & NSSecureCoding>(archiving object: Object) throws(DefaultsProblem) {
        do {
            self = .data(try KeyedArchive(archiving: object).bytes)
        } catch {
            throw DefaultsProblem(.archive, describedBy: "The object can't be archived: \(error).")
        }
    }

    /// Unarchives the object that this data value holds.
    ///
    /// It accepts what `UserDefaults.unarchivedObject(of:forKey:)` accepts, and throws where Foundation would end the process.
    ///
    /// - Parameter type: the class; a subclass will do.
    /// - Returns: the object.
    /// - Throws: a `DefaultsProblem` that says why there is no such object.
    public func unarchivedObject<Object: NSObject & NSSecureCoding>(
        of type: Object.Type
    ) throws(DefaultsProblem) -> Object {
        var failure = ArchiveFailure("its value is of another class")
        if let object = KeyedArchive.object(of: [type], in: self, { failure = $0 }) as? Object { return object }
        throw KeyedArchive.problem("The value", [type], failure)
    }
}
