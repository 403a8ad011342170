import Foundation
import PropertyList

/// A decoder of the objects of a keyed archive that never crashes the process.
///
/// It decodes Foundation's classes itself (`foundationObject(of:)`) and passes itself to `init(coder:)` of the
/// program's classes. A request for a missing value or a value of another type returns `nil` or zero. After a failure,
/// every request does so, and the whole archive is refused. A missing key isn't a failure.
final class KeyedArchiveDecoder: NSCoder {
    private struct Decoded {
        var object: NSObject
        var size: Int
    }

    private struct Frame {
        var fields: [String: PropertyListValue]
        var classes: [AnyClass]
        var size = 1
    }

    private let archive: KeyedArchive
    private var decoded: [Int: Decoded] = [:]
    private var underWay: Set<Int> = []
    private var frames: [Frame] = []
    private var failure: ArchiveFailure?

    init(_ archive: KeyedArchive) {
        self.archive = archive
    }

    /// The value of a key of the object that is being decoded.
    subscript(key: String) -> PropertyListValue? {
        // `NSKeyedArchiver` escapes keys that start with "$" by adding another "$".
        failure == nil ? frames.last?.fields[key.hasPrefix("$") ? "$" + key : key] : nil
    }

    // MARK: Objects

    /// Returns the referenced object, which must be an instance of one of the given classes; `nil` for the null
    /// reference.
    func object(_ reference: PropertyListValue, of classes: [AnyClass]) throws(ArchiveFailure) -> NSObject? {
        guard let index = try archive.index(of: reference) else { return nil }
        let known: Decoded
        if let earlier = decoded[index] {
            known = earlier
        } else {
            known = try decode(index, as: classes)
            decoded[index] = known
        }
        if let last = frames.indices.last {
            frames[last].size += known.size
            if frames[last].size > KeyedArchive.maximumSize {
                throw ArchiveFailure("it is too large")
            }
        }
        guard classes.contains(where: { known.object.isKind(of: $0) }) else {
            throw ArchiveFailure("\(ArchivedClassName(type(of: known.object))) is not one of the requested classes")
        }
        return known.object
    }

    private func decode(_ index: Int, as classes: [AnyClass]) throws(ArchiveFailure) -> Decoded {
        guard case .dictionary(let fields) = archive[index] else {
            guard let object = archive[index].foundationScalar else { throw ArchiveFailure("an object has no class") }
            return Decoded(object: object, size: 1)
        }
        guard underWay.insert(index).inserted else { throw ArchiveFailure("an object contains itself") }
        defer { underWay.remove(index) }
        guard frames.count < KeyedArchive.maximumDepth else { throw ArchiveFailure("it is too deep") }
        frames.append(Frame(fields: fields, classes: classes))
        defer { frames.removeLast() }
        let object = try object(of: archive.type(of: fields, among: classes), classes)
        if let failure { throw failure }
        return Decoded(object: object, size: frames.last?.size ?? 1)
    }

    private func object(of type: AnyClass, _ classes: [AnyClass]) throws(ArchiveFailure) -> NSObject {
        let name = ArchivedClassName(type)
        let ancestors = sequence(first: type) { _getSuperclass($0) }
        // Instantiate only requested classes, so that an archive can't run the code of other classes in the program.
        guard ancestors.contains(where: { ancestor in classes.contains { $0 == ancestor } }) else {
            throw ArchiveFailure("\(name) is not one of the requested classes")
        }
        if FoundationClass.isFoundations(type) { return try foundationObject(of: name.description) }
        guard let secure = type as? any NSSecureCoding.Type, secure.supportsSecureCoding else {
            throw ArchiveFailure("\(name) doesn't support secure coding")
        }
        // The subclass's `init(coder:)` calls Foundation's, which trusts fields that aren't checked here.
        if let parent = ancestors.first(where: { FoundationClass.isFoundations($0) && $0 != NSObject.self }) {
            throw ArchiveFailure("\(name) is a subclass of \(ArchivedClassName(parent)), which isn't supported")
        }
        guard let object = secure.init(coder: self) as? NSObject else {
            throw failure ?? ArchiveFailure("the initializer of \(name) returned nil")
        }
        return object
    }

    /// Returns the elements of a collection, each of a requested class or a plain value.
    func elements(_ key: String) throws(ArchiveFailure) -> [NSObject] {
        let classes = (frames.last?.classes ?? []) + [NSString.self, NSNumber.self, NSData.self, NSDate.self]
        var references: [PropertyListValue] = []
        if case .array(let all)? = self[key] {
            references = all
        } else if self[key] == nil {
            // A class that doesn't use the archiver's encoding of lists has "NS.object.0" and so on instead of
            // "NS.objects".
            while let reference = self["\(key.dropLast()).\(references.count)"] { references.append(reference) }
        } else {
            throw ArchiveFailure("\(key) is not a list")
        }
        return try references.map { reference throws(ArchiveFailure) in
            guard let object = try object(reference, of: classes) else {
                throw ArchiveFailure("\(key) has a missing element")
            }
            return object
        }
    }

    private func attempt<Result>(_ body: () throws(ArchiveFailure) -> Result?) -> Result? {
        do {
            return try body()
        } catch {
            failure = failure ?? error
            return nil
        }
    }

    private func number<Number>(forKey key: String, ifAbsent absent: Number, _ convert: (PropertyListValue) -> Number?)
        -> Number
    {
        attempt { () throws(ArchiveFailure) in
            guard let value = self[key] else { return absent }
            guard let number = convert(value) else { throw ArchiveFailure("\(key) is not a \(Number.self)") }
            return number
        } ?? absent
    }

    // MARK: NSCoder

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }
    override var allowedClasses: [AnyClass]? { frames.last?.classes }
    override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
    override var error: (any Error)? { failure }
    override var systemVersion: UInt32 { 0 }

    override func failWithError(_ error: any Error) { failure = failure ?? ArchiveFailure("\(error)") }

    override func version(forClassName className: String) -> Int { 0 }

    override func containsValue(forKey key: String) -> Bool { self[key] != nil }

    override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
        attempt { () throws(ArchiveFailure) in
            try self[key].flatMap { value throws(ArchiveFailure) in
                try object(value, of: classes ?? frames.last?.classes ?? [])
            }
        }
    }

    override func decodeObject<Object: NSObject & NSCoding>(of type: Object.Type, forKey key: String) -> Object? {
        decodeObject(of: [type], forKey: key) as? Object
    }

    override func decodeObject(forKey key: String) -> Any? {
        decodeObject(of: (frames.last?.classes ?? []) + Self.propertyListClasses, forKey: key)
    }

    override func decodePropertyList(forKey key: String) -> Any? {
        decodeObject(of: Self.propertyListClasses, forKey: key)
    }

    private static let propertyListClasses: [AnyClass] = [
        NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSData.self, NSDate.self,
    ]

    override func decodeBool(forKey key: String) -> Bool {
        number(forKey: key, ifAbsent: false) { value in
            if case .boolean(let flag) = value { return flag }
            return value.integer(Int64.self).map { $0 != 0 }
        }
    }

    override func decodeInteger(forKey key: String) -> Int { number(forKey: key, ifAbsent: 0) { $0.integer(Int.self) } }
    override func decodeInt32(forKey key: String) -> Int32 {
        number(forKey: key, ifAbsent: 0) { $0.integer(Int32.self) }
    }
    override func decodeInt64(forKey key: String) -> Int64 {
        number(forKey: key, ifAbsent: 0) { $0.integer(Int64.self) }
    }
    override func decodeCInt(forKey key: String) -> Int32 { decodeInt32(forKey: key) }
    override func decodeDouble(forKey key: String) -> Double { number(forKey: key, ifAbsent: 0) { $0.double } }
    override func decodeFloat(forKey key: String) -> Float {
        number(forKey: key, ifAbsent: 0) { $0.double.map { Float($0) } }
    }

    override func withDecodedUnsafeBufferPointer<Result>(
        forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
        let bytes = number(forKey: key, ifAbsent: [UInt8]?.none) { value in
            if case .data(let bytes) = value { return .some(bytes) }
            return nil
        }
        return try bytes?.withUnsafeBufferPointer { try body($0) } ?? body(nil)
    }

    override func withDecodedUnsafeBytes<Result>(
        forKey key: String, body: (UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
        try withDecodedUnsafeBufferPointer(forKey: key) { try body($0.map { UnsafeRawBufferPointer($0) }) }
    }

    // MARK: Unkeyed calls, which a keyed archive can't answer

    override func decodeObject() -> Any? { refuseUnkeyed() }
    override func decodePropertyList() -> Any? { refuseUnkeyed() }
    override func decodeData() -> Data? { refuseUnkeyed() }
    override func decodeValue(ofObjCType type: UnsafePointer<Int8>, at data: UnsafeMutableRawPointer) {
        _ = refuseUnkeyed() as Void?
    }
    override func decodeArray(
        ofObjCType itemType: UnsafePointer<Int8>, count: Int, at array: UnsafeMutableRawPointer
    ) { _ = refuseUnkeyed() as Void? }

    private func refuseUnkeyed<Result>() -> Result? {
        attempt { () throws(ArchiveFailure) in throw ArchiveFailure("a class decodes without keys") }
    }
}
