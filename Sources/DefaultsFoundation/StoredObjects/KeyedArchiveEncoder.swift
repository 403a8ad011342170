import Foundation
import PropertyList

/// Makes a keyed archive of an object, and ends the process for none; `KeyedArchiveDecoder` the other way round.
///
/// Of Foundation's own classes it takes what it needs (`fields(of:as:)`); an object of the program's is given the encoder, in
/// `encode(with:)`. What can't be had back is refused, all of it; after that, calls do nothing.
final class KeyedArchiveEncoder: NSCoder {
    private struct Known {
        /// Kept, so that no other object is given its address.
        var object: NSObject
        var index: Int
    }

    private struct Conditional {
        var holder: Int
        var key: String
        var object: NSObject
    }

    private var objects: [PropertyListValue] = ["$null"]
    private var known: [ObjectIdentifier: Known] = [:]
    private var plain: [PropertyListValue: Int] = [:]
    private var classes: [ArchivedClassName: (type: AnyClass, index: Int)] = [:]
    private var conditionals: [Conditional] = []
    /// The objects that are being encoded, the innermost last.
    private var frames: [(index: Int, fields: [String: PropertyListValue])] = []
    private var failure: ArchiveFailure?

    /// The archive of an object.
    static func archive(of object: NSObject) throws(ArchiveFailure) -> PropertyListValue {
        let encoder = KeyedArchiveEncoder()
        let root = try encoder.reference(to: object)
        encoder.encodeConditionals()
        return [
            "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": root],
            "$objects": .array(encoder.objects),
        ]
    }

    // MARK: Objects

    /// A reference to what is to be encoded, which is encoded if it wasn't yet; to none for nil.
    func reference(to value: Any?) throws(ArchiveFailure) -> PropertyListValue {
        guard let value else { return .uid(0) }
        // A cast makes an object of a native value, too.
        guard let object = value as? NSObject else {
            let mirror = Mirror(reflecting: value)
            if mirror.displayStyle == .optional, mirror.children.isEmpty { return .uid(0) }
            throw noObject(value)
        }
        if let known = known[ObjectIdentifier(object)] {
            if frames.contains(where: { $0.index == known.index }) {
                throw ArchiveFailure("an object of \(ArchivedClassName(type(of: object))) holds itself")
            }
            return .uid(UInt64(known.index))
        }
        if let value = try plainValue(of: object) { return reference(toPlain: value) }
        guard frames.count < KeyedArchive.maximumDepth else { throw ArchiveFailure("it is too deep") }
        let index = add(.dictionary([:]))
        known[ObjectIdentifier(object)] = Known(object: object, index: index)
        frames.append((index, [:]))
        defer { frames.removeLast() }
        let type = try encode(object)
        if let failure { throw failure }
        var fields = frames.last?.fields ?? [:]
        fields["$class"] = .uid(UInt64(type))
        objects[index] = .dictionary(fields)
        return .uid(UInt64(index))
    }

    /// Encodes what an object holds.
    ///
    /// - Returns: the number of its class.
    private func encode(_ object: NSObject) throws(ArchiveFailure) -> Int {
        if let type = try foundationClass(of: object) {
            frames[frames.count - 1].fields = try fields(of: object, as: type)
            return try number(ofClass: ArchivedClassName(type.rawValue), type.ancestors, Swift.type(of: object))
        }
        let type: AnyClass = object.classForCoder
        let name = ArchivedClassName(type)
        guard let secure = type as? any NSSecureCoding.Type, secure.supportsSecureCoding,
            let coding = object as? any NSSecureCoding
        else { throw ArchiveFailure("\(name) has no secure coding; have it conform to NSSecureCoding") }
        let ancestors = sequence(first: type) { _getSuperclass($0) }
        // As in decoding: it would go on in Foundation's.
        if let parent = ancestors.first(where: { FoundationClass.isFoundations($0) && $0 != NSObject.self }) {
            throw ArchiveFailure("\(name) is a \(ArchivedClassName(parent)), and subclasses of it aren't archived here")
        }
        coding.encode(with: self)
        if let failure { throw failure }
        return try number(ofClass: name, ancestors.dropFirst().map { ArchivedClassName($0).description }, type)
    }

    private func number(
        ofClass name: ArchivedClassName, _ ancestors: [String], _ type: AnyClass
    ) throws(ArchiveFailure) -> Int {
        if let known = classes[name] {
            guard known.type == type || FoundationClass(rawValue: name.description) != nil else {
                throw ArchiveFailure("two classes are called \(name), and couldn't be told apart")
            }
            return known.index
        }
        let names = ([name.description] + ancestors).map(PropertyListValue.string)
        let index = add(["$classname": .string(name.description), "$classes": .array(names)])
        classes[name] = (type, index)
        return index
    }

    /// A reference to text, a number or the like; equal ones are one object.
    private func reference(toPlain value: PropertyListValue) -> PropertyListValue {
        let index = plain[value] ?? add(value)
        plain[value] = index
        return .uid(UInt64(index))
    }

    private func add(_ value: PropertyListValue) -> Int {
        objects.append(value)
        return objects.count - 1
    }

    /// References to what was encoded besides; to none for what wasn't.
    private func encodeConditionals() {
        for conditional in conditionals {
            guard case .dictionary(var fields) = objects[conditional.holder] else { continue }
            let index = known[ObjectIdentifier(conditional.object)]?.index ?? 0
            fields[conditional.key] = .uid(UInt64(index))
            objects[conditional.holder] = .dictionary(fields)
        }
    }

    private func put(_ key: String, _ value: () throws(ArchiveFailure) -> PropertyListValue) {
        guard failure == nil, !frames.isEmpty else { return }
        do {
            let value = try value()
            // `NSKeyedArchiver` sets its own keys apart in this way.
            frames[frames.count - 1].fields[key.hasPrefix("$") ? "$" + key : key] = value
        } catch {
            failure = error
        }
    }

    private func refuseUnkeyed() {
        guard failure == nil else { return }
        let object = frames.last.flatMap { frame in known.values.first { $0.index == frame.index } }?.object
        let name = object.map { "\(ArchivedClassName(Swift.type(of: $0)))" } ?? "a class"
        failure = ArchiveFailure("\(name) encodes without keys")
    }

    // MARK: NSCoder

    override var allowsKeyedCoding: Bool { true }
    override var requiresSecureCoding: Bool { true }
    override var systemVersion: UInt32 { 0 }
    override var error: (any Error)? { failure }

    override func failWithError(_ error: any Error) { failure = failure ?? ArchiveFailure("\(error)") }

    override func version(forClassName className: String) -> Int { 0 }

    override func encode(_ objv: Any?, forKey key: String) {
        put(key) { () throws(ArchiveFailure) in try reference(to: objv) }
    }

    override func encodeConditionalObject(_ objv: Any?, forKey key: String) {
        put(key) { .uid(0) }
        guard failure == nil, let object = objv as? NSObject, let holder = frames.last?.index else { return }
        conditionals.append(
            Conditional(holder: holder, key: key.hasPrefix("$") ? "$" + key : key, object: object))
    }

    override func encode(_ boolv: Bool, forKey key: String) { put(key) { .boolean(boolv) } }
    override func encode(_ intv: Int, forKey key: String) { put(key) { .integer(Int64(intv)) } }
    override func encode(_ intv: Int32, forKey key: String) { put(key) { .integer(Int64(intv)) } }
    override func encode(_ intv: Int64, forKey key: String) { put(key) { .integer(intv) } }
    override func encode(_ realv: Float, forKey key: String) { put(key) { .real32(realv) } }
    override func encode(_ realv: Double, forKey key: String) { put(key) { .real(realv) } }

    override func encodeBytes(_ bytesp: UnsafePointer<UInt8>?, length lenv: Int, forKey key: String) {
        put(key) { .data([UInt8](UnsafeBufferPointer(start: bytesp, count: bytesp == nil ? 0 : max(0, lenv)))) }
    }

    // MARK: Calls without a key, for which a keyed archive has no place

    override func encode(_ object: Any?) { refuseUnkeyed() }
    override func encode(_ data: Data) { refuseUnkeyed() }
    override func encodeRootObject(_ rootObject: Any) { refuseUnkeyed() }
    override func encodeBycopyObject(_ anObject: Any?) { refuseUnkeyed() }
    override func encodeByrefObject(_ anObject: Any?) { refuseUnkeyed() }
    override func encodeConditionalObject(_ object: Any?) { refuseUnkeyed() }
    override func encodePropertyList(_ aPropertyList: Any) { refuseUnkeyed() }
    override func encodeBytes(_ byteaddr: UnsafeRawPointer?, length: Int) { refuseUnkeyed() }
    override func encodeValue(ofObjCType type: UnsafePointer<Int8>, at addr: UnsafeRawPointer) { refuseUnkeyed() }
    override func encodeArray(ofObjCType type: UnsafePointer<Int8>, count: Int, at array: UnsafeRawPointer) {
        refuseUnkeyed()
    }
}
