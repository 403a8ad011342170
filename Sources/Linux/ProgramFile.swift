import Glibc

/// The file of a process's program, as `/proc/PID/exe` names it.
package struct ProgramFile: Equatable {
    /// The path from which the program was started, even if another file is there now.
    package let path: String
    /// Whether the file was replaced or deleted since.
    package let isReplaced: Bool

    /// Finds the program of a process, or of this one; fails if the process has ended or belongs to another user.
    package init?(ofProcess pid: Int32? = nil) {
        let process = pid.map { "\($0)" } ?? "self"
        guard let target = SystemCall.target(ofLink: "/proc/\(process)/exe") else { return nil }
        self.init(target: String(decoding: target, as: UTF8.self))
    }

    /// Reads the link's target, to which the kernel adds a mark if the file is gone.
    package init(target: String) {
        let mark = " (deleted)".utf8
        isReplaced = target.utf8.reversed().starts(with: mark.reversed()) && access(target, F_OK) != 0
        path = isReplaced ? String(Substring(target.utf8.dropLast(mark.count))) : target
    }
}
