public import DefaultsKit
public import Foundation
import PropertyList

extension DefaultsKit.UserDefaults {
    /// Sets a key to data that an object is archived in; `nil` removes it.
    ///
    /// The data is a keyed archive, as Foundation makes it on all systems. An object that can't be archived is told to
    /// `onProblem`, and nothing is set: one of which a part has no secure coding, encodes without keys, holds itself, or is of
    /// a class of Foundation's that `unarchivedObject(of:forKey:)` doesn't give back. A class is called by its module and its
    /// name.
    ///
    /// A class of yours is given a coder in `encode(with:)` that isn't an `NSKeyedArchiver`. Of the calls without a key, those
    /// for points, sizes and rectangles end the process in Foundation. A type of your own is better kept as a Codable value,
    /// which is a native tree that people can read and edit.
    ///
    /// ```swift
    /// extension UserDefaults {
    ///     func setColor(_ color: Color?, forKey key: String) { set(archiving: color, forKey: key) }
    ///     func color(forKey key: String) -> Color? { unarchivedObject(of: Color.self, forKey: key) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - object: an object with secure coding, as what can be had back has it.
    ///   - key: the key.
    public func set<Object: NSObject & NSSecureCoding>(archiving object: Object?, forKey key: String) {
        guard let object else { return removeObject(forKey: key) }
        do {
            set(Data(try KeyedArchive(archiving: object).bytes), forKey: key)
        } catch {
            Self.report(
                DefaultsProblem(
                    .archive,
                    describedBy: "\"\(key)\": the object can't be archived, and nothing was set: \(error)."))
        }
    }

    /// The object that a key's data is an archive of.
    ///
    /// Data that is damaged, or made to do harm, ends no process: it isn't given to Foundation's `NSKeyedUnarchiver`, which it
    /// can end on Linux, but decoded here. Of Foundation's classes those are decoded whose fields are looked at: strings,
    /// numbers, data, dates, `NSNull`, arrays, sets, ordered sets, dictionaries, URLs, UUIDs, locales and time zones. An
    /// archive that holds another, a subclass of one, an object that holds itself, or a set of arrays or dictionaries, gives
    /// `nil`.
    ///
    /// A class of yours is given a coder in `init(coder:)` that isn't an `NSKeyedUnarchiver`. Any call with a key may be made:
    /// where the archive has something of another type, it gives `nil` or zero, and the whole archive is refused. Of the calls
    /// without a key, those for points, sizes and rectangles end the process in Foundation, whatever the archive holds. What
    /// a class takes for granted beyond that it must look at itself: the types of an array's elements, or that a number may be
    /// an index.
    ///
    /// - Parameters:
    ///   - type: the class; a subclass will do.
    ///   - key: the key.
    /// - Returns: the object; `nil` when there is no value, and when it is no such archive, which `onProblem` is told.
    public func unarchivedObject<Object: NSObject & NSSecureCoding>(
        of type: Object.Type, forKey key: String
    ) -> Object? {
        unarchivedObject(ofClasses: [type], forKey: key) as? Object
    }

    /// The object that a key's data is an archive of, of one of some classes: a collection, and what it holds.
    ///
    /// It does what `unarchivedObject(of:forKey:)` does with one class. Numbers, text, data and dates may be in a collection
    /// without their classes' being named.
    ///
    /// ```swift
    /// defaults.set(archiving: [sky, sun] as NSArray, forKey: "recentColors")
    /// let colors = defaults.unarchivedObject(ofClasses: [NSArray.self, Color.self], forKey: "recentColors") as? [Color]
    /// ```
    ///
    /// - Parameters:
    ///   - classes: the classes of the object and of those in it, with secure coding; subclasses will do.
    ///   - key: the key.
    /// - Returns: the object; `nil` when there is no value, and when it is no such archive, which `onProblem` is told.
    public func unarchivedObject(ofClasses classes: [AnyClass], forKey key: String) -> Any? {
        guard let value = propertyListValue(forKey: key) else { return nil }
        return KeyedArchive.object(of: classes, in: value) { failure in
            Self.report(KeyedArchive.problem(describe(key, having: value), classes, failure))
        }
    }
}
