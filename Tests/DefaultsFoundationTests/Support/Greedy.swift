import Foundation

/// An object that makes one of all possible calls of a coder for each of its keys, whatever the archive contains.
final class Greedy: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    /// The contents of the archive by key.
    private static var objects: [String: NSObject] {
        [
            "text": "a" as NSString, "number": NSNumber(value: 1.5), "list": ["a", 1] as NSArray,
            "tree": ["a": 1] as NSDictionary, "color": Color(name: "sky", components: [0.5]),
        ]
    }

    /// The index of the call that it makes while decoding.
    @TaskLocal static var call = 0

    private static let calls: [@Sendable (NSCoder, String) -> Void] = [
        { _ = $0.containsValue(forKey: $1) }, { _ = $0.decodeObject(forKey: $1) },
        { _ = $0.decodeObject(of: NSString.self, forKey: $1) }, { _ = $0.decodeObject(of: Color.self, forKey: $1) },
        { _ = $0.decodeObject(of: NSArray.self, forKey: $1) }, { _ = $0.decodeObject(of: [NSObject.self], forKey: $1) },
        { _ = $0.decodeObject(of: [NSDictionary.self], forKey: $1) }, { _ = $0.decodeObject(of: nil, forKey: $1) },
        { _ = $0.decodeObject(of: [], forKey: $1) }, { _ = $0.decodePropertyList(forKey: $1) },
        { _ = $0.decodeBool(forKey: $1) }, { _ = $0.decodeInteger(forKey: $1) }, { _ = $0.decodeInt32(forKey: $1) },
        { _ = $0.decodeInt64(forKey: $1) }, { _ = $0.decodeCInt(forKey: $1) }, { _ = $0.decodeFloat(forKey: $1) },
        { _ = $0.decodeDouble(forKey: $1) }, { _ = $0.withDecodedUnsafeBytes(forKey: $1) { $0?.count } },
        { _ = $0.withDecodedUnsafeBufferPointer(forKey: $1) { $0?.count } }, { _ = $0.decodePoint(forKey: $1) },
        { _ = $0.decodeSize(forKey: $1) }, { _ = $0.decodeRect(forKey: $1) },
        { coder, _ in coder.failWithError(CocoaError(.coderReadCorrupt)) }, { coder, _ in _ = coder.decodeObject() },
        { coder, _ in _ = coder.decodePropertyList() }, { coder, _ in _ = coder.decodeData() },
        { coder, _ in
            var number: Int32 = 0
            coder.decodeValue(ofObjCType: "i", at: &number)
            coder.decodeArray(ofObjCType: "i", count: 1, at: &number)
        },
        { coder, _ in
            _ = (coder.allowedClasses, coder.error, coder.requiresSecureCoding, coder.allowsKeyedCoding)
            _ = (coder.decodingFailurePolicy, coder.systemVersion, coder.version(forClassName: "NSArray"))
        },
    ]

    /// The number of different calls.
    static var numberOfCalls: Int { calls.count }

    override init() {}

    func encode(with coder: NSCoder) {
        coder.encode(1.5, forKey: "real")
        coder.encode(Int64.max, forKey: "large")
        coder.encode(true, forKey: "flag")
        for (key, object) in Self.objects.sorted(by: { $0.key < $1.key }) { coder.encode(object, forKey: key) }
    }

    init?(coder: NSCoder) {
        for key in ["real", "large", "flag", "none", "$class", ""] + Self.objects.keys.sorted() {
            Self.calls[Self.call](coder, key)
        }
    }
}
