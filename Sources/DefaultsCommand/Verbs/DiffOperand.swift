import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// One side of `diff`: the values of a domain, or of a property list in a file.
struct DiffOperand {
    let values: DomainValues
    /// The format that limits how precisely the values can be compared; binary if nothing was lost.
    let format: PropertyListFormat
    /// Whether the values are from JSON, whose numbers may have lost their type.
    var isJSON = false

    /// Creates an operand of a domain's values.
    init(_ values: DomainValues) {
        (self.values, format) = (values, .binary)
    }

    /// Reads an operand: "-" is standard input, a name with "/" or ".plist" is a file, anything else is a domain.
    init(_ operand: String, at options: LocationOptions, _ backend: () throws -> BackendChoice) throws {
        if operand == "-" || Path.hasSeparator(operand) || operand.hasSuffix(".plist") || ByteArgument.isOne(operand) {
            // The path of a domain's file names the domain, because the agent may have edits that are not in the file
            // yet.
            guard DomainLocation.isPath(operand), let location = try? options.find(operand), location.directory == nil
            else {
                let document = try InputDocument(Self.path(operand))
                (values, format, isJSON) = (try document.values(), document.format, document.isJSON)
                return
            }
            (values, format) = (try Self.values(of: location, options, backend), .binary)
        } else {
            do {
                (values, format) = (try Self.values(of: options.find(operand), options, backend), .binary)
            } catch let failure as Failure where failure.status == .noInput && access(operand, F_OK) == 0 {
                throw Failure("\(failure.message) To compare the file of that name, use ./\(operand).", .noInput)
            }
        }
    }

    private static func values(
        of location: DomainLocation, _ options: LocationOptions, _ backend: () throws -> BackendChoice
    ) throws -> DomainValues {
        do {
            return try OpenDomain(location: location, opened: backend(), choice: options)
                .values("Comparing its last good values.")
        } catch let failure as Failure where failure.status == .notFound {
            // For `diff`, status 1 means that the operands differ, so "not found" needs another one.
            throw Failure(failure.message, .noInput)
        }
    }

    /// Returns the path of a file, from which ".plist" may be omitted, as with every verb.
    private static func path(_ operand: String) -> FilePath {
        if ByteArgument.isOne(operand) { return FilePath(argument: operand) }
        let path = Environment.current.expandingTilde(operand)
        let isThere = operand == "-" || access(path, F_OK) == 0 || access("\(path).plist", F_OK) != 0
        return FilePath(isThere ? path : "\(path).plist")
    }

    /// Returns the changes that turn these values into the other operand's.
    ///
    /// Two values count as equal if the format of either side can't tell them apart: XML drops fractions of a second,
    /// and old-style text has only strings. Programs that write JSON may not distinguish numbers of different types.
    func changes(to other: DiffOperand) -> [KeyChange] {
        let olds = isJSON && !other.isJSON ? values.preservingNumbers(of: other.values) : values
        let news = other.isJSON ? other.values.preservingNumbers(of: values) : other.values
        return Set(olds.keys).union(news.keys).sorted().compactMap { key in
            let (old, new) = (olds[key], news[key])
            let isSame =
                PropertyListValue.areSame(old, new, readFrom: other.format)
                || PropertyListValue.areSame(new, old, readFrom: format)
            return isSame ? nil : KeyChange(key: key, old: old, new: new)
        }
    }
}
