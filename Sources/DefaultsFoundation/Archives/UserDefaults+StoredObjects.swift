public import DefaultsKit
public import Foundation
import PropertyList

extension DefaultsKit.UserDefaults {
    /// Sets a key to data that contains an archived object; `nil` removes the key.
    ///
    /// The data is a keyed archive in Foundation's format for all systems. If an object can't be archived, nothing is
    /// set, and the problem is reported to the handler of `setProblemHandler(_:)`. That happens if a part of the object
    /// doesn't support secure coding, encodes without keys, contains itself, or is of a Foundation class that
    /// `unarchivedObject(of:forKey:)` doesn't return. A class is archived under its module's name and its own.
    ///
    /// The coder that a class of yours receives in `encode(with:)` isn't an `NSKeyedArchiver`. The unkeyed calls for
    /// points, sizes and rectangles crash the process inside Foundation. Prefer to store a type of your own as a
    /// Codable value: a native tree that people can read and edit.
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
    /// Damaged or malicious data can't crash the process: it is decoded here and not by Foundation's
    /// `NSKeyedUnarchiver`, which such data can crash on Linux. Only Foundation classes whose fields are checked can be
    /// decoded: strings, numbers, data, dates, `NSNull`, arrays, sets, ordered sets, dictionaries, URLs, UUIDs, locales
    /// and time zones. The result is `nil` if the archive contains another Foundation class, a subclass of one, an
    /// object that contains itself, or a set of arrays or dictionaries.
    ///
    /// The coder that a class of yours receives in `init(coder:)` isn't an `NSKeyedUnarchiver`. All keyed calls are
    /// safe: if the archive has a value of another type, the call returns `nil` or zero, and the whole archive is
    /// refused. The unkeyed calls for points, sizes and rectangles crash the process inside Foundation, whatever the
    /// archive contains. The class must validate everything else itself, such as the types of an array's elements, or a
    /// number used as an index.
    ///
    /// - Parameters:
    ///   - type: The class; the object may be of a subclass.
    ///   - key: The key.
    /// - Returns: The object; `nil` if there is no value, or if it isn't an archive of the class, which is reported to
    ///   the handler of `setProblemHandler(_:)`.
    public func unarchivedObject<Object: NSObject & NSSecureCoding>(
        of type: Object.Type, forKey key: String
    ) -> Object? {
        unarchivedObject(ofClasses: [type], forKey: key) as? Object
    }

    /// Returns the object archived in a key's data, which may be of one of several classes: a collection and its
    /// contents.
    ///
    /// This is `unarchivedObject(of:forKey:)` for several classes. A collection may contain numbers, text, data and
    /// dates without naming their classes.
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
    /// - Returns: The object; `nil` if there is no value, or if it isn't an archive of the classes, which is reported
    ///   to the handler of `setProblemHandler(_:)`.
    public func unarchivedObject(ofClasses classes: [AnyClass], forKey key: String) -> Any? {
        guard let value = propertyListValue(forKey: key) else { return nil }
        return KeyedArchive.object(of: classes, in: value) { failure in
            Self.report(KeyedArchive.problem(describe(key, having: value), classes, failure))
        }
    }
}
