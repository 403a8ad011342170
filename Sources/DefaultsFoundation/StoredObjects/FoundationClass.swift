import Foundation

/// The classes of Foundation's that are archived, and had back.
///
/// One list for both ways, so that what is stored can be had back. Numbers are plain values in an archive, and so are text
/// and data that don't change.
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

    /// The superclasses' names in an archive, the nearest first.
    var ancestors: [String] {
        let name = rawValue
        let immutable = name.replacing("Mutable", with: "")
        return (immutable == name ? [] : [immutable]) + ["NSObject"]
    }

    /// Whether a class is one of Foundation's, whichever of its libraries it is in.
    static func isFoundations(_ type: AnyClass) -> Bool {
        let module = String(reflecting: type).prefix { $0 != "." }
        return ["Foundation", "FoundationEssentials", "FoundationNetworking", "FoundationXML"].contains(module)
    }
}
