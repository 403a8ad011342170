public import DefaultsKit
public import Foundation
import PropertyList

extension DefaultsKit.UserDefaults {
    /// Sets a key to data that contains an archived object; `nil` removes the key.
    ///
    /// The data is a keyed archive in the format that Foundation uses on all systems. If an object can't be archived,
    /// nothing is set, and the problem is reported to the handler set with `setProblemHandler(_:)`. That happens if any
    /// part of the object doesn't support secure coding, encodes itself without keys, contains itself, or is an
    /// instance of a Foundation class that `unarchivedObject(of:forKey:)` doesn't return. A class is archived under its
    /// name, qualified by its module.
    ///
    /// The coder that your class receives in `encode(with:)` isn't an `NSKeyedArchiver`. The unkeyed calls for points,
    /// sizes and rectangles crash the process inside Foundation. Prefer to store your own types as Codable values:
    /// native trees that people can read and edit.
    ///
    /// ```swift
    /// extension UserDefaults {
    ///     func setColor(_ color: Color?, forKey key: String) { set(archiving: color, forKey: key) }
    ///     func color(forKey key: String) -> Color? { unarchivedObject(of: Color.self, forKey: key) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - object: An object with secure coding, which unarchiving requires.
    ///   - key: The key.
    public func set<Object: NSObject & NSSecureCoding>(archiving object: Object?, forKey key: String) {
        guard let object else { return removeObject(forKey: key) }
        do {
            set(Data(try KeyedArchive(archiving: object).bytes), forKey: key)
        } catch {
            Self.report(
                DefaultsProblem(
                    .archive,
                    describedBy: "Can't archive the object for \"\(key)\": \(error). Nothing was set."))
        }
    }

    /// Returns the object archived in a key's data.
    ///
    /// Damaged or malicious data can't crash the process, because it isn't decoded by Foundation's `NSKeyedUnarchiver`,
    /// which such data can crash on Linux. Only Foundation classes whose fields are checked can be decoded: strings,
    /// numbers, data, dates, `NSNull`, arrays, sets, ordered sets, dictionaries, URLs, UUIDs, locales and time zones.
    /// The result is `nil` if the archive contains any other Foundation class, a subclass of a Foundation class other
    /// than `NSObject`, an object that contains itself, or a set of arrays or dictionaries.
    ///
    /// The coder that your class receives in `init(coder:)` isn't an `NSKeyedUnarchiver`. All keyed calls are safe: if
    /// the archive has a value of another type, the call returns `nil` or zero, and the whole archive is refused. The
    /// unkeyed calls for points, sizes and rectangles crash the process inside Foundation, whatever the archive
    /// contains. The class must validate everything else itself, such as the types of an array's elements, or a number
    /// used as an index.
    ///
    /// - Parameters:
    ///   - type: The object's class; subclasses are accepted.
    ///   - key: The key.
    /// - Returns: The object, or `nil` if there is no value or if it isn't an archive of the class; the latter is
    ///   reported to the handler set with `setProblemHandler(_:)`.
    public func unarchivedObject<Object: NSObject & NSSecureCoding>(
        of type: Object.Type, forKey key: String
    ) -> Object? {
        unarchivedObject(ofClasses: [type], forKey: key) as? Object
    }

    /// Returns the object archived in a key's data, given the classes of the object and its contents.
    ///
    /// This is `unarchivedObject(of:forKey:)` for several classes. A collection may contain numbers, text, data and
    /// dates even if their classes aren't listed.
    ///
    /// ```swift
    /// defaults.set(archiving: [sky, sun] as NSArray, forKey: "recentColors")
    /// let colors =
    ///     defaults.unarchivedObject(ofClasses: [NSArray.self, Color.self], forKey: "recentColors") as? [Color]
    /// ```
    ///
    /// - Parameters:
    ///   - classes: The classes of the object and of its contents, with secure coding; subclasses are accepted.
    ///   - key: The key.
    /// - Returns: The object, or `nil` if there is no value or if it isn't an archive of the classes; the latter is
    ///   reported to the handler set with `setProblemHandler(_:)`.
    public func unarchivedObject(ofClasses classes: [AnyClass], forKey key: String) -> Any? {
        guard let value = propertyListValue(forKey: key) else { return nil }
        return KeyedArchive.object(of: classes, in: value) { failure in
            Self.report(KeyedArchive.problem(describe(key, having: value), as: classes, because: failure))
        }
    }
}
