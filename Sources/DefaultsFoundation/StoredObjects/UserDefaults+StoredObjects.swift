public import DefaultsKit
public import Foundation
import PropertyList

extension DefaultsKit.UserDefaults {
    /// Sets a key to data that an object is archived in; `nil` removes it.
    ///
    /// The data is a keyed archive, as Foundation makes it on all systems. An object that can't be archived is told to
    /// `onProblem`, and nothing is set. A type of your own is better kept as a Codable value, which is a native tree that
    /// people can read and edit.
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
            set(try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true), forKey: key)
        } catch {
            Self.report(
                DefaultsProblem(
                    .archive,
                    describedBy: "\"\(key)\": the object can't be archived, and nothing was set: \(error). "
                        + "See that all it encodes has secure coding."))
        }
    }

    /// The object that a key's data is an archive of.
    ///
    /// Data that is damaged, or made to do harm, is refused before Foundation sees it, since that would end the process:
    /// an archive is looked through as far as Foundation's own classes go. Some that hold URLs, dates, sets and the like
    /// still get through and end it, so don't give it data from an enemy. What a class of yours takes for granted in
    /// `init(coder:)` it must look at itself.
    ///
    /// - Parameters:
    ///   - type: the class; a subclass will do.
    ///   - key: the key.
    /// - Returns: the object; `nil` when there is no value, and when it is no such archive, which `onProblem` is told.
    public func unarchivedObject<Object: NSObject & NSSecureCoding>(
        of type: Object.Type, forKey key: String
    ) -> Object? {
        guard let value = propertyListValue(forKey: key) else { return nil }
        guard case .data(let bytes) = value, let archive = KeyedArchive(bytes), archive.isSound else {
            return refuse(key, type, "its value is not a sound archive of classes that this program knows")
        }
        do {
            if let object = try NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: Data(bytes)) { return object }
            return refuse(key, type, "its archive holds no such object")
        } catch {
            return refuse(key, type, "its archive can't be decoded: \(error)")
        }
    }

    private func refuse<Object>(_ key: String, _ type: Object.Type, _ reason: String) -> Object? {
        Self.report(
            DefaultsProblem(
                .archive,
                describedBy: "\"\(key)\" gives no \(type): \(reason). Remove the key, or set it again."))
        return nil
    }
}
