public import DefaultsKit
public import Foundation
public import PropertyList

extension PropertyListValue {
    /// Archives an object in data, as `UserDefaults.set(archiving:forKey:)` stores it.
    ///
    /// It is for places that take a value: a transaction, a dictionary, or a type of yours that keeps an object in a typed
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

    /// The object that the value, which is data, is an archive of.
    ///
    /// It decodes what `UserDefaults.unarchivedObject(of:forKey:)` does, and ends no process.
    ///
    /// - Parameter type: the class; a subclass will do.
    /// - Returns: the object.
    /// - Throws: why the value gives no such object.
    public func unarchivedObject<Object: NSObject & NSSecureCoding>(
        of type: Object.Type
    ) throws(DefaultsProblem) -> Object {
        var failure = ArchiveFailure("its value is of another class")
        if let object = KeyedArchive.object(of: [type], in: self, { failure = $0 }) as? Object { return object }
        throw KeyedArchive.problem("The value", [type], failure)
    }
}
