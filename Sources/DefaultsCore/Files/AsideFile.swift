import Glibc

/// Copies of files that nobody may lose, put beside the original as `<name>.<reason>-<n>`.
package enum AsideFile {
    /// Why the bytes are kept.
    package enum Reason: String, Sendable {
        /// The file didn't parse when it was about to be replaced.
        case damaged
        /// A foreign writer wrote it just when the file was replaced, and it can't be merged: it doesn't parse, or a crash
        /// came before that.
        case displaced
    }

    /// Writes bytes to the first free name, durably, readable by the user alone.
    ///
    /// - Returns: the path.
    package static func keep(
        _ bytes: [UInt8], of path: String, because reason: Reason
    ) throws(SystemCall.Failure) -> String {
        var number = 1
        while true {
            let copy = "\(path).\(reason.rawValue)-\(number)"
            do throws(SystemCall.Failure) {
                let file = try FileDescriptor(opening: copy, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
                try file.write(bytes)
                try file.synchronize()
                return copy
            } catch {
                guard error.number == EEXIST else { throw error }
                number += 1
            }
        }
    }
}
