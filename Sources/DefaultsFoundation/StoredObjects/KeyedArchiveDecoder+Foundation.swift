import Foundation
import PropertyList

extension KeyedArchiveDecoder {
    /// The object of one of Foundation's classes that is being decoded.
    ///
    /// Foundation's own `init(coder:)` takes its fields for granted; so there are the classes here whose fields are looked
    /// at, and no others.
    func foundationObject(of name: String) throws(ArchiveFailure) -> NSObject {
        guard let type = FoundationClass(rawValue: name) else {
            throw ArchiveFailure("\(name) is a class of Foundation's that isn't decoded here")
        }
        switch type {
        case .string: return NSString(string: try text("NS.string"))
        case .mutableString: return NSMutableString(string: try text("NS.string"))
        case .data: return NSData(data: try data("NS.data"))
        case .mutableData: return NSMutableData(data: try data("NS.data"))
        case .date:
            guard let date = self["NS.time"]?.double.flatMap({ NSDate(secondsSinceReferenceDate: $0) }) else {
                throw ArchiveFailure("a date is not a number")
            }
            return date
        case .null: return NSNull()
        case .array: return NSArray(array: try elements("NS.objects"))
        case .mutableArray: return NSMutableArray(array: try elements("NS.objects"))
        case .set: return NSSet(array: try hashables("NS.objects"))
        case .mutableSet: return NSMutableSet(array: try hashables("NS.objects"))
        case .orderedSet: return NSOrderedSet(array: distinct(try hashables("NS.objects")))
        case .mutableOrderedSet: return NSMutableOrderedSet(array: distinct(try hashables("NS.objects")))
        case .dictionary: return NSDictionary(dictionary: try dictionary())
        case .mutableDictionary: return NSMutableDictionary(dictionary: try dictionary())
        case .url: return try url()
        case .uuid:
            let bytes = try data("NS.uuidbytes")
            guard bytes.count == 16 else { throw ArchiveFailure("a UUID has not 16 bytes") }
            return NSUUID(uuidBytes: [UInt8](bytes))
        case .locale: return NSLocale(localeIdentifier: try text("NS.identifier"))
        case .timeZone:
            guard let zone = NSTimeZone(name: try text("NS.name")) else {
                throw ArchiveFailure("a time zone is unknown")
            }
            return zone
        }
    }

    /// The elements of a set, or the keys of a dictionary.
    private func hashables(_ key: String) throws(ArchiveFailure) -> [NSObject] {
        let objects = try elements(key)
        // Swift's array and dictionary aren't hashable, and Foundation takes a set of such for a set of Swift's.
        guard !objects.contains(where: { $0 is NSArray || $0 is NSDictionary }) else {
            throw ArchiveFailure("a set or the keys of a dictionary hold an array or a dictionary")
        }
        return objects
    }

    /// An `NSOrderedSet` that is made of an array with an object twice ends the process when it is compared.
    private func distinct(_ objects: [NSObject]) -> [NSObject] {
        var seen: Set<NSObject> = []
        return objects.filter { seen.insert($0).inserted }
    }

    private func text(_ key: String) throws(ArchiveFailure) -> String {
        if case .string(let text)? = self[key] { return text }
        guard let text = try field(key, NSString.self) else { throw ArchiveFailure("\(key) is not text") }
        return "\(text)"
    }

    private func data(_ key: String) throws(ArchiveFailure) -> Data {
        if case .data(let bytes)? = self[key] { return Data(bytes) }
        guard let data = try field(key, NSData.self) else { throw ArchiveFailure("\(key) is not data") }
        return Data(referencing: data)
    }

    private func url() throws(ArchiveFailure) -> NSURL {
        let base = try field("NS.base", NSURL.self).flatMap { ($0 as Any) as? URL }
        // What an `NSURL` takes and a `URL` doesn't would end the process where Foundation makes the one of the other.
        guard let url = NSURL(string: try text("NS.relative"), relativeTo: base), (url as Any) is URL else {
            throw ArchiveFailure("a URL is malformed")
        }
        return url
    }

    private func dictionary() throws(ArchiveFailure) -> [NSObject: NSObject] {
        let keys = try hashables("NS.keys")
        let objects = try elements("NS.objects")
        guard keys.count == objects.count else { throw ArchiveFailure("a dictionary has not as many keys as objects") }
        return Dictionary(zip(keys, objects)) { _, last in last }
    }

    private func field<Object: NSObject>(_ key: String, _ type: Object.Type) throws(ArchiveFailure) -> Object? {
        try self[key].flatMap { reference throws(ArchiveFailure) in try object(reference, of: [type]) } as? Object
    }
}
