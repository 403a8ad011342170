import Foundation
import PropertyList

/// A keyed archive, as `NSKeyedArchiver` makes it on all systems: objects that name each other by number.
///
/// `NSKeyedUnarchiver` is not used, since on Linux it ends the process for many a damaged archive, and for a sound one of
/// another class, instead of throwing: `KeyedArchiveDecoder` decodes it.
struct KeyedArchive {
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
    /// The same object gives the same bytes each time: Foundation writes the entries of a dictionary in any order, and a
    /// bound property would seem to be edited whenever it was looked at.
    init(archiving object: some NSObject & NSSecureCoding) throws {
        let archive = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        try self.init(PropertyListValue(parsing: [UInt8](archive)).write(as: .binary))
    }

    /// The object that was archived.
    func object<Object: NSObject & NSSecureCoding>(of type: Object.Type) throws(ArchiveFailure) -> Object {
        let object = try KeyedArchiveDecoder(self).object(root, of: [type])
        guard let object = object as? Object else { throw ArchiveFailure("it holds none") }
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

    /// The class of an object that has these fields.
    func type(of fields: [String: PropertyListValue]) throws(ArchiveFailure) -> AnyClass {
        guard let reference = fields["$class"], let index = try index(of: reference),
            case .dictionary(let description) = objects[index], case .string(let name)? = description["$classname"]
        else { throw ArchiveFailure("an object has no class") }
        // Of a module, or of Foundation. Other characters may lead the runtime astray, which takes some for instructions.
        guard name.utf8.count < 512, name.count(where: { $0 == "." }) < 2,
            name.unicodeScalars.allSatisfy({ $0 == "." || $0 == "_" || $0.isLetterOrDigit }),
            let type = NSKeyedUnarchiver.class(forClassName: name) ?? NSClassFromString(name)
        else { throw ArchiveFailure("this program has no class \(name.debugDescription)") }
        return type
    }
}

extension Unicode.Scalar {
    fileprivate var isLetterOrDigit: Bool { properties.isAlphabetic || properties.numericType != nil }
}
