import DefaultsKit
import Foundation
import PropertyList

/// A keyed archive, in `NSKeyedArchiver`'s format on all systems: objects that refer to each other by number.
///
/// `KeyedArchiveDecoder` replaces `NSKeyedUnarchiver`, which on Linux crashes the process instead of throwing, for many
/// damaged archives and for valid archives of another class. `KeyedArchiveEncoder` replaces `NSKeyedArchiver`, which
/// crashes for nested classes and for objects without secure coding, and merges 1 and true into one object.
struct KeyedArchive {
    /// The maximum nesting of objects; deeper archives would exhaust the stack.
    static let maximumDepth = 128
    /// The maximum number of objects when expanded to a tree.
    ///
    /// Comparing, printing and hashing visit shared parts repeatedly, and could take forever.
    static let maximumSize = 1_000_000

    /// The archive as data.
    let bytes: [UInt8]
    private let objects: [PropertyListValue]
    /// The reference to the archived object.
    let root: PropertyListValue

    /// Reads an archive.
    init(_ bytes: [UInt8]) throws(ArchiveFailure) {
        if bytes.dropFirst(2).starts(with: "streamtyped".utf8) {
            throw ArchiveFailure("it is a sequential archive, written by NSArchiver, which isn't supported")
        }
        guard bytes.starts(with: "bplist".utf8),
            case .dictionary(let archive)? = try? PropertyListValue(parsing: bytes),
            archive["$archiver"] == "NSKeyedArchiver", archive["$version"] == 100_000,
            case .array(let objects)? = archive["$objects"], objects.first == "$null",
            case .dictionary(let top)? = archive["$top"], let root = top["root"]
        else { throw ArchiveFailure("it is not a keyed archive") }
        self.bytes = bytes
        self.objects = objects
        self.root = root
    }

    /// Archives an object.
    ///
    /// The same object always results in the same bytes. Otherwise, a bound property would appear edited whenever it is
    /// read.
    init(archiving object: NSObject) throws {
        try self.init(KeyedArchiveEncoder.archive(of: object).write(as: .binary))
        try checkSoundness()
    }

    /// Returns the archived object, which must be an instance of one of the given classes.
    func object(of classes: [AnyClass]) throws(ArchiveFailure) -> NSObject {
        guard let object = try KeyedArchiveDecoder(self).object(root, of: classes) else {
            throw ArchiveFailure("it contains no object")
        }
        return object
    }

    /// Returns the number of the object that a reference points to; `nil` for the null reference.
    func index(of reference: PropertyListValue) throws(ArchiveFailure) -> Int? {
        guard case .uid(let number) = reference, let index = Int(exactly: number), objects.indices.contains(index)
        else { throw ArchiveFailure("a reference is invalid") }
        return index == 0 ? nil : index
    }

    /// Returns the stored form of the object with the given number.
    subscript(index: Int) -> PropertyListValue { objects[index] }

    /// Returns the class name of an object with the given fields.
    func className(of fields: [String: PropertyListValue]) throws(ArchiveFailure) -> String {
        guard let reference = fields["$class"], let index = try index(of: reference),
            case .dictionary(let description) = objects[index], case .string(let name)? = description["$classname"]
        else { throw ArchiveFailure("an object has no class") }
        return name
    }

    /// Returns the class of an object with the given fields, which may be one of the requested classes.
    func type(of fields: [String: PropertyListValue], among asked: [AnyClass]) throws(ArchiveFailure) -> AnyClass {
        let name = ArchivedClassName(try className(of: fields))
        if let type = NSKeyedUnarchiver.class(forClassName: name.description) { return type }
        var found: [AnyClass] = []
        for type in asked where ArchivedClassName(type) == name && !found.contains(where: { $0 == type }) {
            found.append(type)
        }
        guard found.count < 2 else { throw ArchiveFailure("two of the requested classes have the name \(name)") }
        guard let type = found.first ?? name.topLevelClass else {
            throw ArchiveFailure(
                "this program has no class \(name.description.debugDescription), or it must be requested by type"
            )
        }
        return type
    }
}

extension KeyedArchive {
    /// Refuses encoded archives that `KeyedArchiveDecoder` would refuse: cycles, and archives too deep or too large.
    func checkSoundness() throws(ArchiveFailure) {
        var sizes: [Int: Int] = [:]
        var underWay: Set<Int> = []
        _ = try size(of: root, known: &sizes, underWay: &underWay)
    }

    private func size(
        of reference: PropertyListValue, known sizes: inout [Int: Int], underWay: inout Set<Int>
    ) throws(ArchiveFailure) -> Int {
        guard let index = try index(of: reference) else { return 0 }
        if let size = sizes[index] { return size }
        guard case .dictionary(let fields) = self[index] else { return 1 }
        guard underWay.insert(index).inserted else {
            throw ArchiveFailure("an object of \(try className(of: fields)) contains itself")
        }
        guard underWay.count <= Self.maximumDepth else { throw ArchiveFailure("it is too deep") }
        var size = 1
        for (key, value) in fields where key != "$class" {
            let references: [PropertyListValue] = if case .array(let elements) = value { elements } else { [value] }
            for case .uid(let number) in references {
                size += try self.size(of: .uid(number), known: &sizes, underWay: &underWay)
            }
            if size > Self.maximumSize { throw ArchiveFailure("it is too large") }
        }
        underWay.remove(index)
        sizes[index] = size
        return size
    }
}

extension KeyedArchive {
    /// Returns the object archived in a value, or reports why there is none and returns `nil`.
    static func object(
        of classes: [AnyClass], in value: PropertyListValue, _ tell: (ArchiveFailure) -> Void
    ) -> NSObject? {
        do throws(ArchiveFailure) {
            guard case .data(let bytes) = value else { throw ArchiveFailure("its value is not data") }
            return try KeyedArchive(bytes).object(of: classes)
        } catch {
            tell(error)
            return nil
        }
    }

    /// Returns the problem to report for a stored value that can't be unarchived.
    static func problem(_ what: String, as classes: [AnyClass], because failure: ArchiveFailure) -> DefaultsProblem {
        let names = classes.map { "\($0)" }.formatted(.list(type: .or).locale(Locale(identifier: "en")))
        return DefaultsProblem(
            .archive,
            describedBy: "\(what) can't be unarchived as \(names): \(failure). Remove the key, or set it again.")
    }
}

/// The reason why an archive contains no usable object, or an object can't be archived.
struct ArchiveFailure: Error, CustomStringConvertible {
    /// A clause, such as "it is not a keyed archive".
    let description: String

    init(_ description: String) { self.description = description }
}
