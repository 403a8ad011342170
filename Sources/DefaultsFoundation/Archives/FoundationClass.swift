public import Foundation

/// The Foundation classes that can be archived and unarchived.
///
/// Encoding and decoding share this list, so that everything stored can be read back. Numbers, immutable text and
/// immutable data are plain values in an archive.
enum FoundationClass: String {
    case string = "NSString"
    case mutableString = "NSMutableString"
    case data = "NSData"
    case mutableData = "NSMutableData"
    case date = "NSDate"
    case null = "NSNull"
    case array = "NSArray"
    case mutableArray = "NSMutableArray"
    case set = "NSSet"
    case mutableSet = "NSMutableSet"
    case orderedSet = "NSOrderedSet"
    case mutableOrderedSet = "NSMutableOrderedSet"
    case dictionary = "NSDictionary"
    case mutableDictionary = "NSMutableDictionary"
    case url = "NSURL"
    case uuid = "NSUUID"
    case locale = "NSLocale"
    case timeZone = "NSTimeZone"

    /// The names of the superclasses in an archive, nearest first.
    var ancestors: [String] {
        let name = rawValue
        let immutable = name.replacing("Mutable", with: "")
        return (immutable == name ? [] : [immutable]) + ["NSObject"]
    }

    /// Returns whether a class is one of Foundation's, in any of its libraries.
    static func isFoundations(_ type: AnyClass) -> Bool {
        let module = String(reflecting: type).prefix { $0 != "." }
        return ["Foundation", "FoundationEssentials", "FoundationNetworking", "FoundationXML"].contains(module)
    }
}

/// The name of a class in an archive, the same in every run of the program.
///
/// For a top-level class, this is the name from `NSStringFromClass`. That function crashes for nested, private, local
/// and generic classes, which are found only if they are among the requested classes.
struct ArchivedClassName: Hashable, CustomStringConvertible {
    /// The name: "Module.Color", "Module.Outer.Color", "NSArray".
    let description: String

    init(_ type: AnyClass) {
        let name = String(reflecting: type)
        let isTopLevel = name.count(where: { $0 == "." }) == 1 && !name.contains("<")
        // A private class's name contains an address, which differs in each run.
        description =
            isTopLevel ? NSStringFromClass(type) : name.replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
    }

    init(_ name: String) { description = name }

    /// The class of this name that `NSClassFromString` finds.
    var topLevelClass: AnyClass? {
        // Accept only a plain name with at most one module prefix. Other characters may crash the runtime, which treats
        // some of them as mangling.
        guard description.utf8.count < 512, description.count(where: { $0 == "." }) < 2,
            description.unicodeScalars.allSatisfy({ $0 == "." || $0 == "_" || $0.isLetterOrDigit })
        else { return nil }
        return NSClassFromString(description)
    }
}

extension Unicode.Scalar {
    fileprivate var isLetterOrDigit: Bool { properties.isAlphabetic || properties.numericType != nil }
}

/// An optional archived object, as presented by `DefaultsTransformer.unarchiveFromData`.
///
/// `Optional` conforms if it wraps a class with secure coding; no other type needs to.
public protocol UnarchivedObject: SendableMetatype {
    /// The object's class.
    associatedtype Object: NSObject & NSSecureCoding
    /// The object, if there is one.
    var object: Object? { get }
    /// Creates a value from an object, or from `nil`.
    init(object: Object?)
}

extension Optional: UnarchivedObject where Wrapped: NSObject & NSSecureCoding & SendableMetatype {
    /// The object, if there is one.
    public var object: Wrapped? { self }
    /// Creates a value from an object, or from `nil`.
    public init(object: Wrapped?) { self = object }
}
