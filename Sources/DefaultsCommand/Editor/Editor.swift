import DefaultsCore
import Glibc
import Linux

/// The user's editor: a shell command from `VISUAL` or `EDITOR`.
struct Editor {
    let command: String

    /// Finds the editor.
    init(_ environment: Environment) {
        command = environment.command(named: "VISUAL") ?? environment.command(named: "EDITOR") ?? "vi"
    }

    /// Returns whether an editor that ran for this time may have left the file open in a window.
    ///
    /// `code` and `subl`, for example, hand the file to a running instance, and end before the user sees it.
    static func mayNotHaveWaited(_ time: Duration) -> Bool { time < .seconds(1) }

    /// Runs the editor on a file, and returns its exit status.
    ///
    /// While the editor runs, Ctrl-C and Ctrl-\ affect only the editor. Any other signal that ends this process is
    /// reported and leaves the editor running.
    func edit(_ path: String) throws(Failure) -> Int32 {
        let signals = try SignalWatch()
        let process = try Failure.translating(
            ChildProcess.start("/bin/sh", with: ["sh", "-c", "\(command) \"$@\"", command, path]))
        while true {
            if case .ended(let status) = try Failure.translating(process.state) { return status }
            switch signals.wait() {
            case .signal(SIGINT), .signal(SIGQUIT), .childChanged, .stop, .timeout: break
            case .signal(let number):
                Failure.report("Interrupted by a signal; nothing was changed. Your text is kept in \(path).")
                signals.end(by: number)
            }
        }
    }
}

extension Environment {
    /// Returns a variable's value as a shell command; `nil` if it is unset or has only blanks.
    func command(named name: String) -> String? {
        self[name].flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }
}

/// A file that only the user can read, in a separate directory where the editor may leave backups.
struct PrivateFile {
    let path: String
    private let directory: String

    /// Creates the directory in `TMPDIR` or `/tmp`, and the file inside.
    init(named name: String, _ bytes: [UInt8]) throws(Failure) {
        let parent = Environment.current["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/defaults-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
        guard made else {
            throw Failure("Can't create a directory in \(parent): \(SystemCall.message(errno)).", .cantCreate)
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(directory)/\(name)"
        do throws(SystemCall.Failure) {
            try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600).write(bytes)
        } catch {
            throw Failure("\(path) can't be written: \(SystemCall.message(error.number)).", .cantCreate)
        }
    }

    /// Returns the current contents of the file.
    func read() throws(Failure) -> [UInt8] { try InputFile.read(FilePath(path)) }

    /// Removes the file, the backups that an editor left beside it, and the directory.
    func remove() {
        _ = try? ChildProcess.start("rm", with: ["rm", "-rf", directory]).waitUntilExit()
    }
}
