import Foundation
import PropertyList

/// A keyed archive, as `NSKeyedArchiver` makes it on all systems: objects that name each other by number.
///
/// `NSKeyedUnarchiver` is not used, since on Linux it ends the process for many a damaged archive, and for a sound one of
/// another class, instead of throwing: `KeyedArchiveDecoder` decodes it. Nor is `NSKeyedArchiver`, which ends it for a nested
/// class and for an object without secure coding, and takes 1 and true for one object: `KeyedArchiveEncoder` makes it.
struct KeyedArchive {
    /// Objects within objects; deeper ones would exhaust the stack.
    static let maximumDepth = 128
    /// Laid out as a tree; comparing, printing and hashing don't see that parts are shared, and would take for ever.
    static let maximumSize = 1_000_000

    /// The archive as data.
    let bytes: [UInt8]
    private let objects: [PropertyListValue]
    /// The reference to the object that was archived.
    let root: PropertyListValue

    /// Reads an archive.
    init(_ bytes: [UInt8]) throws(ArchiveFailure) {
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
    /// The same object gives the same bytes each time; else a bound property would seem to be edited whenever it was looked
    /// at.
    init(archiving object: NSObject) throws {
        try self.init(KeyedArchiveEncoder.archive(of: object).write(as: .binary))
        try checkSoundness()
    }

    /// The object that was archived, of one of some classes.
    func object(of classes: [AnyClass]) throws(ArchiveFailure) -> NSObject {
        guard let object = try KeyedArchiveDecoder(self).object(root, of: classes) else {
            throw ArchiveFailure("it holds none")
        }
        return object
    }

    /// The number of the object that a reference leads to; nil for a reference to none.
    func index(of reference: PropertyListValue) throws(ArchiveFailure) -> Int? {
        guard case .uid(let number) = reference, let index = Int(exactly: number), objects.indices.contains(index)
        else { throw ArchiveFailure("a reference leads nowhere") }
        return index == 0 ? nil : index
    }

    /// What is kept of the object with a number.
    subscript(index: Int) -> PropertyListValue { objects[index] }

    /// The name of the class of an object that has these fields.
    func className(of fields: [String: PropertyListValue]) throws(ArchiveFailure) -> String {
        guard let reference = fields["$class"], let index = try index(of: reference),
            case .dictionary(let description) = objects[index], case .string(let name)? = description["$classname"]
        else { throw ArchiveFailure("an object has no class") }
        return name
    }

    /// The class of an object that has these fields, which may be one of those that are asked for.
    func type(of fields: [String: PropertyListValue], among asked: [AnyClass]) throws(ArchiveFailure) -> AnyClass {
        let name = ArchivedClassName(try className(of: fields))
        if let type = NSKeyedUnarchiver.class(forClassName: name.description) { return type }
        var found: [AnyClass] = []
        for type in asked where ArchivedClassName(type) == name && !found.contains(where: { $0 == type }) {
            found.append(type)
        }
        guard found.count < 2 else { throw ArchiveFailure("two of the classes asked for are called \(name)") }
        guard let type = found.first ?? name.topLevelClass else {
            throw ArchiveFailure(
                "this program has no class \(name.description.debugDescription), or none that is found unless asked for"
            )
        }
        return type
    }
}
