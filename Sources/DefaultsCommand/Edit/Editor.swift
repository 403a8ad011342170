import DefaultsCore
import Glibc

/// The editor that a person uses, as `VISUAL` or `EDITOR` names it: a command of the shell.
struct Editor {
    let command: String

    /// Finds the editor.
    init(_ environment: Environment) {
        command = environment["VISUAL"] ?? environment["EDITOR"] ?? "vi"
    }

    /// Edits a file, and gives the editor's status.
    ///
    /// While it runs, what is typed to end programs is meant for it.
    func edit(_ path: String) throws(Failure) -> Int32 {
        let former = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
        defer { for (number, handler) in former { signal(number, handler) } }
        let process = try ChildProcess.start("/bin/sh", ["sh", "-c", "\(command) \"$@\"", command, path])
        return try process.waitUntilExit()
    }
}
