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
    /// While it runs, what is typed to end programs is meant for it. What else ends this process leaves it alone, and is
    /// told of.
    func edit(_ path: String) throws(Failure) -> Int32 {
        let signals = try SignalWatch()
        let process = try ChildProcess.start("/bin/sh", ["sh", "-c", "\(command) \"$@\"", command, path])
        while true {
            if case .ended(let status) = try process.state { return status }
            switch signals.wait() {
            case .signal(SIGINT), .signal(SIGQUIT), .somethingHappened, .stop, .timeIsOver: break
            case .signal(let number):
                Failure.note("Ended by a signal; nothing is set. Your text is kept in \(path).")
                signals.end(by: number)
            }
        }
    }
}
