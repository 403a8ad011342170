import DefaultsCore
import Glibc
import PropertyList

/// A property list that a person gave, in a file or on standard input.
struct InputDocument {
    /// What messages call it.
    let name: String
    let value: PropertyListValue
    let format: PropertyListFormat

    /// The most that is read of an input that doesn't say how long it is.
    private static let limit = 1 << 30

    /// Reads a file, or standard input for "-".
    init(_ operand: String) throws(Failure) {
        name = operand == "-" ? "Standard input" : operand
        let bytes = try Self.read(operand, name)
        do throws(PropertyListError) {
            (value, format) = try PropertyListValue.read(bytes)
        } catch {
            throw Failure("\(name): \(error)", .dataError)
        }
    }

    private static func read(_ operand: String, _ name: String) throws(Failure) -> [UInt8] {
        do throws(SystemCall.Failure) {
            // A number of its own, since whoever opened standard input closes it.
            let file =
                operand == "-"
                ? FileDescriptor(owning: try SystemCall.run { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) })
                : try FileDescriptor(opening: operand, O_RDONLY)
            var bytes: [UInt8] = []
            while bytes.count < limit {
                let more = try file.read(upTo: 1 << 16)
                if more.isEmpty { break }
                bytes += more
            }
            return bytes
        } catch {
            let status: ExitStatus = [ENOENT, ENOTDIR, EACCES, EISDIR].contains(error.number) ? .noInput : .inputOutput
            throw Failure("\(name) can't be read: \(SystemCall.message(error.number)).", status)
        }
    }
}
