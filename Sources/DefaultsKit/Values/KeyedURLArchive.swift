import PropertyList

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An `NSURL` as `NSKeyedArchiver` writes it: a binary property list of objects that refer to each other by number.
///
/// ```
/// $top      { root = 1; }
/// $objects  ( "$null",
///             { $class = 2; NS.base = 0; NS.relative = 3; },   0 is nil; else another NSURL's number
///             { $classname = NSURL; $classes = ( NSURL, NSObject ); },
///             "http://example.com/a?b" )
/// ```
///
/// See `NSURL.encode(with:)` and `NSKeyedArchiver.swift` in swift-corelibs-foundation.
enum KeyedURLArchive {
    /// The maximum number of nested bases: a longer chain is circular, or is meant to exhaust the stack.
    private static let maximumBases = 32

    /// Returns the archive of a URL.
    static func bytes(of url: URL) throws(PropertyListError) -> [UInt8] {
        var objects: [PropertyListValue] = ["$null", Self.class]
        let root = add(url, to: &objects, bases: 0)
        let archive: PropertyListValue = [
            "$archiver": "NSKeyedArchiver",
            "$version": 100_000,
            "$top": ["root": .uid(root)],
            "$objects": .array(objects),
        ]
        return try archive.write(as: .binary)
    }

    /// Returns the URL in an archive, binary or XML; `nil` if its root isn't an `NSURL`, or anything is malformed.
    static func url(in bytes: [UInt8]) -> URL? {
        guard PropertyListFormat.detect(bytes) != .oldStyle, let archive = try? PropertyListValue(parsing: bytes),
            archive["$archiver"] == "NSKeyedArchiver", case .array(let objects)? = archive["$objects"],
            let root = archive["$top"]?["root"]
        else { return nil }
        return url(root, in: objects, bases: 0)
    }

    private static let `class`: PropertyListValue = ["$classname": "NSURL", "$classes": ["NSURL", "NSObject"]]

    /// Adds a URL after its base and its text, and returns the number of the URL.
    private static func add(_ url: URL, to objects: inout [PropertyListValue], bases: Int) -> UInt64 {
        var base: UInt64 = 0
        if let url = url.baseURL, bases < maximumBases { base = add(url, to: &objects, bases: bases + 1) }
        objects.append(.string(url.relativeString))
        let text = UInt64(objects.count - 1)
        objects.append(["$class": .uid(1), "NS.base": .uid(base), "NS.relative": .uid(text)])
        return UInt64(objects.count - 1)
    }

    private static func url(_ reference: PropertyListValue, in objects: [PropertyListValue], bases: Int) -> URL? {
        guard bases <= maximumBases, let object = object(reference, in: objects),
            let type = self.object(object["$class"], in: objects), isURL(type),
            case .string(let relative)? = self.object(object["NS.relative"], in: objects)
        else { return nil }
        guard let base = object["NS.base"], number(base) != 0 else { return URL(string: relative) }
        guard let baseURL = url(base, in: objects, bases: bases + 1) else { return nil }
        return URL(string: relative, relativeTo: baseURL)
    }

    private static func isURL(_ type: PropertyListValue) -> Bool {
        if type["$classname"] == "NSURL" { return true }
        // The entry of a subclass lists its superclasses.
        guard case .array(let classes)? = type["$classes"] else { return false }
        return classes.contains("NSURL")
    }

    private static func object(_ reference: PropertyListValue?, in objects: [PropertyListValue]) -> PropertyListValue? {
        guard let reference, let number = number(reference), number < objects.count else { return nil }
        return objects[number]
    }

    /// Returns the number in a reference, which XML writes as a dictionary.
    private static func number(_ reference: PropertyListValue) -> Int? {
        switch reference {
        case .uid(let number): Int(exactly: number)
        case .dictionary(let fields):
            if fields.count == 1, case .integer(let number)? = fields["CF$UID"], number >= 0 {
                Int(exactly: number)
            } else {
                nil
            }
        default: nil
        }
    }
}

extension PropertyListValue {
    /// The value for a key of a dictionary; `nil` if there is none, or if this value isn't a dictionary.
    fileprivate subscript(key: String) -> PropertyListValue? {
        guard case .dictionary(let values) = self else { return nil }
        return values[key]
    }
}
