import DefaultsCore
import Glibc
import Linux

/// The program that runs this command, which has often ended by the time the user asks who made a change.
enum Caller {
    /// The environment variable that names the caller; if it is empty, no caller is recorded.
    static let variable = "DEFAULTS_ORIGIN"

    /// Returns the origin of this command's edits.
    static func origin(_ purpose: Origin.Purpose? = nil) -> Origin? {
        program == nil && purpose == nil ? nil : Origin(program: program, purpose: purpose)
    }

    /// The caller's name or path: a script, another program, or the service that runs a shell; `nil` for a person at a
    /// terminal, or if it is unknown.
    static let program: String? = {
        let given = getenv(variable).map { String(cString: $0) }
        guard let found = given ?? found() else { return nil }
        if found.isEmpty { return nil }
        return found.utf8.count <= Origin.maximumLength ? found : Path.lastName(of: found).prefix(bytes: 255)
    }()

    /// The programs that run a command on behalf of their caller.
    private static let runners: Set = ["doas", "setsid", "su", "sudo", "timeout", "xargs"]
    private static let shells: Set = ["ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "sh", "zsh"]
    private static let interpreters: Set = ["lua", "node", "perl", "php", "python", "ruby", "tclsh"]

    /// Finds the caller among the processes that led to this one.
    private static func found() -> String? {
        var pid = getppid()
        for _ in 0..<16 {
            guard pid > 1, let process = RunningProcess(pid) else { break }
            let name = Path.lastName(of: process.program)
            if name == "systemd" { break }
            // "python3.12" is a Python, but "sh-agent" isn't a shell.
            let letters = name.prefix { $0.isLetter }
            let kind = name.dropFirst(letters.count).allSatisfy { "0123456789.-".contains($0) } ? String(letters) : name
            if shells.contains(kind) || interpreters.contains(kind), let script = process.script { return script }
            guard shells.contains(kind) || runners.contains(name) else { return process.program }
            if shells.contains(kind), process.isAtTerminal { return nil }
            pid = process.parent
        }
        return service
    }

    /// The service that this process belongs to.
    private static var service: String? {
        let unit = ProcessText.of("/proc/self/cgroup").split(separator: "\n").last
            .map { Path.lastName(of: String($0)) }
        guard let unit, unit.hasSuffix(".service"), !unit.hasPrefix("user@") else { return nil }
        return unit
    }
}

/// A process, as `/proc` shows it.
private struct RunningProcess {
    let parent: pid_t
    /// The path of the program, or else its name.
    let program: String
    /// Whether the process is a person's shell: it has begun the session of a terminal.
    let isAtTerminal: Bool
    private let pid: pid_t

    init?(_ pid: pid_t) {
        // The name, in parentheses, may contain anything.
        let status = ProcessText.of("/proc/\(pid)/stat")
        guard let start = status.firstIndex(of: "("), let end = status.lastIndex(of: ")") else { return nil }
        // The state, the parent, the process group, the session and the terminal.
        let fields = status[end...].split(separator: " ").dropFirst().prefix(5).map { Int32($0) ?? 0 }
        guard fields.count == 5 else { return nil }
        self.pid = pid
        parent = fields[1]
        isAtTerminal = fields[3] == pid && fields[4] != 0
        // The path of another user's program can't be read.
        program = ProgramFile(ofProcess: pid)?.path ?? String(status[status.index(after: start)..<end])
    }

    /// The path of the script that the process runs: the first argument that isn't an option, if it is a file.
    ///
    /// If the process has changed its directory, it is the argument as it was typed, unless an option may take it.
    var script: String? {
        let arguments = ProcessText.list("/proc/\(pid)/cmdline").dropFirst()
        guard let argument = arguments.first(where: { !$0.hasPrefix("-") }),
            // The name of a descriptor says nothing about the script.
            !argument.hasPrefix("/dev/"), !argument.hasPrefix("/proc/")
        else { return nil }
        let directory = SystemCall.target(ofLink: "/proc/\(pid)/cwd").map { String(decoding: $0, as: UTF8.self) }
        let relative = argument.hasPrefix("./") ? String(argument.dropFirst(2)) : argument
        let path = Path.isAbsolute(argument) ? argument : "\(directory ?? "")/\(relative)"
        if (try? FileStatus(at: path))?.isRegular == true { return path }
        return argument == arguments.first ? argument : nil
    }
}

/// The contents of files in `/proc`.
enum ProcessText {
    /// Returns a file's text; empty if it can't be read.
    static func of(_ path: String) -> String {
        let bytes = try? FileDescriptor(opening: path, O_RDONLY).read(upTo: 1 << 18)
        return String(decoding: bytes ?? [], as: UTF8.self)
    }

    /// Returns the texts in a file, each of which ends with a zero.
    static func list(_ path: String) -> [String] {
        of(path).split(separator: "\0", omittingEmptySubsequences: true).map(String.init)
    }
}

extension String {
    fileprivate func prefix(bytes: Int) -> String { String(decoding: utf8.prefix(bytes), as: UTF8.self) }
}
