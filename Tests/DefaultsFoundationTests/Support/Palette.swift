import Foundation

/// An object that contains one object of each supported Foundation class, and decodes every value as every type.
final class Palette: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    /// The contents.
    private(set) var objects: [String: NSObject] = [
        "dictionary": ["k": NSDate(timeIntervalSinceReferenceDate: 0.5)] as NSDictionary,
        "set": NSSet(array: ["q" as NSString]),
        "ordered": NSOrderedSet(array: [2, "b"]),
        "changing": NSMutableArray(array: [NSMutableString(string: "a"), NSMutableData(data: Data([1]))]),
        "changing set": NSMutableSet(array: [NSNumber(value: true), NSNumber(value: 1.5)]),
        "changing dictionary": NSMutableDictionary(dictionary: ["a": NSNull()]),
        "data": NSData(data: Data([1, 2])),
        "uuid": NSUUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F") ?? NSUUID(),
        "url": NSURL(string: "b", relativeTo: URL(string: "http://a/")) ?? NSNull(),
        "locale": NSLocale(localeIdentifier: "de_DE"),
        "zone": NSTimeZone(name: "Europe/Berlin") ?? NSNull(),
        "number": NSNumber(value: UInt64.max),
        "text": "\u{1F3A8}" as NSString,
        "color": Color(name: "sky", components: [0.5]),
    ]

    private static let classes: [AnyClass] = [
        NSDictionary.self, NSDate.self, NSSet.self, NSOrderedSet.self, NSArray.self, NSString.self, NSData.self,
        NSNumber.self, NSNull.self, NSUUID.self, NSURL.self, NSLocale.self, NSTimeZone.self, Color.self,
    ]

    override init() {}

    func encode(with coder: NSCoder) {
        coder.encode(0.5, forKey: "real")
        coder.encode(true, forKey: "flag")
        coder.encode(7, forKey: "count")
        coder.encode([1, 2], count: 2, forKey: "bytes")
        // Sorted, so that the archive is the same every time.
        for (key, object) in objects.sorted(by: { $0.key < $1.key }) { coder.encode(object, forKey: key) }
    }

    init?(coder: NSCoder) {
        guard coder.decodeDouble(forKey: "real") == 0.5, coder.decodeFloat(forKey: "real") == 0.5,
            coder.decodeBool(forKey: "flag"), coder.decodeInteger(forKey: "count") == 7,
            coder.decodeInt32(forKey: "count") == 7, coder.decodeInt64(forKey: "count") == 7,
            coder.withDecodedUnsafeBytes(forKey: "bytes", body: { $0.map { [UInt8]($0) } }) == [1, 2]
        else { return nil }
        for key in objects.keys {
            objects[key] = coder.decodeObject(of: Self.classes, forKey: key) as? NSObject
            // Used as a program would: described, compared and, in an array, bridged to Swift values.
            let list = NSArray(array: [objects[key]].compactMap(\.self))
            _ = ("\(list)", list.hash, list.isEqual(list))
        }
    }
}

extension NSCoder {
    fileprivate func encode(_ bytes: [UInt8], count: Int, forKey key: String) {
        encodeBytes(bytes, length: count, forKey: key)
    }
}
