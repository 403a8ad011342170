import DefaultsCore
import Glibc

/// A file that was named to be read, whole; `-` is standard input.
enum InputFile {
    /// The bytes of a file.
    static func read(_ path: String) throws(Failure) -> [UInt8] {
        let name = title(path)
        do throws(SystemCall.Failure) {
            let file =
                path == "-"
                ? FileDescriptor(owning: try SystemCall.run { dup(STDIN_FILENO) })
                : try FileDescriptor(opening: path, O_RDONLY | O_NOCTTY)
            var bytes: [UInt8] = []
            while true {
                let part = try file.read(upTo: 1 << 20)
                if part.isEmpty { return bytes }
                bytes += part
                guard bytes.count <= Frame.standardLimit else {
                    throw SystemCall.Failure(number: EFBIG)
                }
            }
        } catch {
            throw Failure("Could not read data from \(name): \(SystemCall.message(error.number)).", .noInput)
        }
    }

    /// What messages call a file.
    static func title(_ path: String) -> String { path == "-" ? "standard input" : path }
}
