import Foundation
import PropertyList

extension KeyedArchiveDecoder {
    /// Decodes the current object as an instance of a Foundation class.
    ///
    /// Foundation's own `init(coder:)` trusts the object's fields, so only classes whose fields are checked here can be
    /// decoded.
    func foundationObject(of name: String) throws(ArchiveFailure) -> NSObject {
        guard let type = FoundationClass(rawValue: name) else {
            throw ArchiveFailure("the Foundation class \(name) isn't supported")
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
            guard bytes.count == 16 else { throw ArchiveFailure("a UUID doesn't have 16 bytes") }
            return NSUUID(uuidBytes: [UInt8](bytes))
        case .locale: return NSLocale(localeIdentifier: try text("NS.identifier"))
        case .timeZone:
            guard let zone = NSTimeZone(name: try text("NS.name")) else {
                throw ArchiveFailure("a time zone is unknown")
            }
            return zone
        }
    }

    /// Returns the elements of a set, or the keys of a dictionary.
    private func hashables(_ key: String) throws(ArchiveFailure) -> [NSObject] {
        let objects = try elements(key)
        // Swift's arrays and dictionaries aren't hashable, but Foundation bridges a set of them to a Swift set.
        guard !objects.contains(where: { $0 is NSArray || $0 is NSDictionary }) else {
            throw ArchiveFailure("a set or the keys of a dictionary contain an array or a dictionary")
        }
        return objects
    }

    /// Removes duplicates.
    ///
    /// Comparing an `NSOrderedSet` that was created from an array with duplicates crashes the process.
    private func distinct(_ objects: [NSObject]) -> [NSObject] {
        var seen: Set<NSObject> = []
        return objects.filter { seen.insert($0).inserted }
    }

    private func text(_ key: String) throws(ArchiveFailure) -> String {
        if case .string(let text)? = self[key] { return text }
        guard let text = try field(key, as: NSString.self) else { throw ArchiveFailure("\(key) is not text") }
        return "\(text)"
    }

    private func data(_ key: String) throws(ArchiveFailure) -> Data {
        if case .data(let bytes)? = self[key] { return Data(bytes) }
        guard let data = try field(key, as: NSData.self) else { throw ArchiveFailure("\(key) is not data") }
        return Data(referencing: data)
    }

    private func url() throws(ArchiveFailure) -> NSURL {
        let base = try field("NS.base", as: NSURL.self).flatMap { ($0 as Any) as? URL }
        // Foundation crashes when it bridges an `NSURL` that `URL` doesn't accept.
        guard let url = NSURL(string: try text("NS.relative"), relativeTo: base), (url as Any) is URL else {
            throw ArchiveFailure("a URL is malformed")
        }
        return url
    }

    private func dictionary() throws(ArchiveFailure) -> [NSObject: NSObject] {
        let keys = try hashables("NS.keys")
        let objects = try elements("NS.objects")
        guard keys.count == objects.count else {
            throw ArchiveFailure("a dictionary has different numbers of keys and objects")
        }
        return Dictionary(zip(keys, objects)) { _, last in last }
    }

    private func field<Object: NSObject>(_ key: String, as type: Object.Type) throws(ArchiveFailure) -> Object? {
        try self[key].flatMap { reference throws(ArchiveFailure) in try object(reference, of: [type]) } as? Object
    }
}
