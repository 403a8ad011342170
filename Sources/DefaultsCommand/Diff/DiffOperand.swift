import DefaultsCore
import DefaultsKit
import Glibc
import Linux
import PropertyList

/// One side of `diff`: a domain's values, or those of a property list in a file.
struct DiffOperand {
    let values: DomainValues
    /// What the values can be told apart by; binary where they are whole.
    let format: PropertyListFormat

    /// Finds an operand: "-" is standard input, a name with "/" or ".plist" is a file, all else a domain.
    init(_ operand: String, _ options: PlaceOptions, _ backend: () throws -> any Backend) throws {
        if operand == "-" || Path.hasSeparator(operand) || operand.hasSuffix(".plist") || ByteArgument.isOne(operand) {
            // A domain's own file is that domain: the agent may know more than it holds.
            guard DomainPlace.isPath(operand), let place = try? options.find(operand), place.directory == nil else {
                let document = try InputDocument(Self.path(operand))
                (values, format) = (try document.values(), document.format)
                return
            }
            (values, format) = (try Self.values(of: place, backend), .binary)
        } else {
            do {
                (values, format) = (try Self.values(of: options.find(operand), backend), .binary)
            } catch let failure as Failure where failure.status == .noInput && access(operand, F_OK) == 0 {
                throw Failure("\(failure.message) For the file of that name write ./\(operand).", .noInput)
            }
        }
    }

    private static func values(of place: DomainPlace, _ backend: () throws -> any Backend) throws -> DomainValues {
        do {
            return try OpenDomain(place: place, backend: backend()).values("The last good state is compared.")
        } catch let failure as Failure where failure.status == .notFound {
            // That status says that they differ.
            throw Failure(failure.message, .noInput)
        }
    }

    /// The path of a file that may be named without its ".plist", as everywhere.
    private static func path(_ operand: String) -> FilePath {
        if ByteArgument.isOne(operand) { return FilePath(argument: operand) }
        let path = Environment.current.expandingTilde(operand)
        let isThere = operand == "-" || access(path, F_OK) == 0 || access("\(path).plist", F_OK) != 0
        return FilePath(isThere ? path : "\(path).plist")
    }

    /// The changes that make other values of these.
    ///
    /// Values are the same when either side's format can't tell them apart: XML keeps no fractions of a second, and
    /// old-style text knows strings alone.
    func changes(to other: DiffOperand) -> [KeyChange] {
        Set(values.keys).union(other.values.keys).sorted().compactMap { key in
            let (old, new) = (values[key], other.values[key])
            let isSame =
                PropertyListValue.areSame(old, new, readFrom: other.format)
                || PropertyListValue.areSame(new, old, readFrom: format)
            return isSame ? nil : KeyChange(key: key, old: old, new: new)
        }
    }
}
