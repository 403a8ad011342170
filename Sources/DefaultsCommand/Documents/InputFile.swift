import DefaultsCore
import Glibc

/// A file that was named to be read, whole; `-` is standard input.
enum InputFile {
    /// The most that is read.
    private static let limit = 1 << 30

    /// The bytes of a file.
    ///
    /// - Throws: why it can't be read, with the status for a missing input where it is the name's fault.
    static func read(_ path: FilePath) throws(Failure) -> [UInt8] {
        do throws(SystemCall.Failure) {
            // A number of its own, since whoever opened standard input closes it.
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

    /// What messages call a file, at the beginning of a sentence.
    static func title(_ path: FilePath) -> String {
        switch path.description {
        case "-": "Standard input"
        case "": "The file \"\""
        case let text: text
        }
    }
}
