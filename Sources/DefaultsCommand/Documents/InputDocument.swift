import ArgumentParser
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// A property list or JSON document from a file or standard input.
struct InputDocument {
    /// The name of the document in messages.
    let name: String
    let value: PropertyListValue
    let format: PropertyListFormat
    let isJSON: Bool

    /// Reads a file, or standard input for "-", within the size and depth limits of a domain's file.
    ///
    /// - Parameter path: The file; `-` is standard input.
    /// - Throws: If it can't be read or parsed.
    init(_ path: FilePath) throws(Failure) { try self.init(InputFile.read(path), named: InputFile.title(path)) }

    /// Reads the bytes of a file, within the size and depth limits of a domain's file.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - name: The name of the document in messages.
    /// - Throws: If it can't be parsed.
    init(_ bytes: [UInt8], named name: String) throws(Failure) {
        self.name = name
        do throws(PropertyListError) {
            (value, format) = try PropertyListValue.read(bytes, limits: PropertyListLimits.domainFile)
            isJSON = false
        } catch {
            guard JSONReader.isLikely(bytes) else { throw Failure("\(name): \(error)", .dataError) }
            do throws(Failure) {
                // Like the binary format, our JSON distinguishes all types.
                (value, format) = (try JSONReader.read(bytes, limits: PropertyListLimits.domainFile), .binary)
                isJSON = true
            } catch {
                throw Failure("\(name): \(error.message)", error.status)
            }
        }
    }

    /// Returns the keys and values of the document.
    ///
    /// - Parameter consequence: The end of the error message, saying what was not done.
    /// - Returns: The entries of the top-level dictionary.
    /// - Throws: If the document isn't a dictionary.
    func values(_ consequence: String = "") throws(Failure) -> DomainValues {
        guard case .dictionary(let values) = value else {
            throw Failure(
                "\(name) holds a value of type \(value.typeName), not a dictionary, so it has no keys\(consequence).",
                .dataError)
        }
        return values
    }
}

/// The input file of a verb; `-` is standard input.
enum InputFile {
    /// The maximum size, in bytes.
    private static let limit = 1 << 30

    /// Returns the bytes of a file.
    ///
    /// - Throws: If it can't be read. The status is `noInput` if the path is the cause.
    static func read(_ path: FilePath) throws(Failure) -> [UInt8] {
        do throws(SystemCall.Failure) {
            // Use a duplicate: `FileDescriptor` closes its number, but standard input must stay open.
            let file =
                path.isStandard
                ? FileDescriptor(owning: try SystemCall.run { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
                : try FileDescriptor(opening: path.cString, O_RDONLY | O_NOCTTY)
            var bytes: [UInt8] = []
            while true {
                let part = try file.read(upTo: 1 << 20)
                if part.isEmpty { return bytes }
                bytes += part
                guard bytes.count <= limit else { throw SystemCall.Failure(number: EFBIG) }
            }
        } catch {
            let isOfName = [ENOENT, ENOTDIR, EACCES, EISDIR, ELOOP, ENAMETOOLONG].contains(error.number)
            throw Failure(
                "\(title(path)) can't be read: \(SystemCall.message(error.number)).", isOfName ? .noInput : .inputOutput
            )
        }
    }

    /// Returns the name of a file for the beginning of a sentence.
    static func title(_ path: FilePath) -> String {
        switch path.description {
        case "-": "Standard input"
        case "": "The file \"\""
        case let text: text
        }
    }
}
