import Foundation
import PropertyList

/// An encoder that creates a keyed archive of an object and never crashes the process; see `KeyedArchiveDecoder`.
///
/// It encodes Foundation's classes itself (`fields(of:as:)`) and passes itself to `encode(with:)` of the program's
/// objects. An object that couldn't be decoded is refused along with the whole archive; after that, calls have no
/// effect.
final class KeyedArchiveEncoder: NSCoder {
    private struct Known {
        /// The object, retained so that no other object can get its address.
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
    /// The objects that are being encoded, innermost last.
    private var frames: [(index: Int, fields: [String: PropertyListValue])] = []
    private var failure: ArchiveFailure?

    /// Returns the archive of an object.
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

    /// Returns a reference to a value, encoding it if necessary; the null reference for `nil`.
    func reference(to value: Any?) throws(ArchiveFailure) -> PropertyListValue {
        guard let value else { return .uid(0) }
        // The cast also bridges native values to objects.
        guard let object = value as? NSObject else {
            let mirror = Mirror(reflecting: value)
            if mirror.displayStyle == .optional, mirror.children.isEmpty { return .uid(0) }
            throw noObject(value)
        }
        if let known = known[ObjectIdentifier(object)] {
            if frames.contains(where: { $0.index == known.index }) {
                throw ArchiveFailure("an object of \(ArchivedClassName(type(of: object))) contains itself")
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

    /// Encodes the contents of an object.
    ///
    /// - Returns: The number of its class.
    private func encode(_ object: NSObject) throws(ArchiveFailure) -> Int {
        if let type = try foundationClass(of: object) {
            frames[frames.count - 1].fields = try fields(of: object, as: type)
            return try number(of: ArchivedClassName(type.rawValue), below: type.ancestors, as: Swift.type(of: object))
        }
        let type: AnyClass = object.classForCoder
        let name = ArchivedClassName(type)
        guard let secure = type as? any NSSecureCoding.Type, secure.supportsSecureCoding,
            let coding = object as? any NSSecureCoding
        else { throw ArchiveFailure("\(name) doesn't support secure coding; make it conform to NSSecureCoding") }
        let ancestors = sequence(first: type) { _getSuperclass($0) }
        // As in decoding, the subclass's `encode(with:)` would call Foundation's.
        if let parent = ancestors.first(where: { FoundationClass.isFoundations($0) && $0 != NSObject.self }) {
            throw ArchiveFailure("\(name) is a subclass of \(ArchivedClassName(parent)), which isn't supported")
        }
        coding.encode(with: self)
        if let failure { throw failure }
        return try number(of: name, below: ancestors.dropFirst().map { ArchivedClassName($0).description }, as: type)
    }

    private func number(
        of name: ArchivedClassName, below ancestors: [String], as type: AnyClass
    ) throws(ArchiveFailure) -> Int {
        if let known = classes[name] {
            guard known.type == type || FoundationClass(rawValue: name.description) != nil else {
                throw ArchiveFailure("two classes have the name \(name)")
            }
            return known.index
        }
        let names = ([name.description] + ancestors).map(PropertyListValue.string)
        let index = add(["$classname": .string(name.description), "$classes": .array(names)])
        classes[name] = (type, index)
        return index
    }

    /// Returns a reference to a plain value; equal values become one object.
    private func reference(toPlain value: PropertyListValue) -> PropertyListValue {
        let index = plain[value] ?? add(value)
        plain[value] = index
        return .uid(UInt64(index))
    }

    private func add(_ value: PropertyListValue) -> Int {
        objects.append(value)
        return objects.count - 1
    }

    /// Resolves conditional references to objects that were encoded elsewhere, and all others to null.
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
            // `NSKeyedArchiver` escapes keys that start with "$" by adding another "$".
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

    // MARK: Unkeyed calls, which a keyed archive can't store

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
