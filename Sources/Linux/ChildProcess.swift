import CLinux
import Glibc

/// A program that this process starts.
package struct ChildProcess: Sendable {
    // Not `pid_t`: both imports declare it, so whether it may be used here would depend on the order of compilation.
    package let pid: Int32

    /// A program that can't be started, or a process whose status can't be read.
    package enum Failure: Error, CustomStringConvertible {
        case start(_ program: String, SystemCall.Failure)
        case status(_ pid: Int32, SystemCall.Failure)

        package var description: String {
            switch self {
            case .start(let program, let error): "\(program) can't be started: \(SystemCall.message(error.number))."
            case .status(let pid, let error):
                "Can't get the status of process \(pid): \(SystemCall.message(error.number))."
            }
        }
    }

    /// Starts a program, found in the PATH unless its name contains a "/".
    ///
    /// The program starts with default signal handling, regardless of how this process handles signals.
    ///
    /// - Parameters:
    ///   - program: The program's name or path.
    ///   - arguments: Its arguments, starting with its own name.
    ///   - variables: Environment variables to set, or to remove if `nil`.
    ///   - input: The descriptor for its standard input; this process's own if `nil`.
    ///   - output: The descriptor for its standard output; this process's own if `nil`.
    ///   - errors: The descriptor for its standard error; this process's own if `nil`.
    ///   - group: The process group that it joins, or 0 for a new one; this process's own if `nil`.
    ///   - leadsSession: Whether it runs in a new session, where the terminal's signals don't reach it.
    ///   - inheritsFiles: Whether it inherits the other descriptors that don't have close-on-exec. A program that
    ///     outlives this process, or runs beside others, must not hold files open that another process waits to see
    ///     closed.
    /// - Returns: The process.
    /// - Throws: If it can't be started.
    package static func start(
        _ program: String, with arguments: [String], variables: [String: String?] = [:],
        input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil, group: Int32? = nil,
        leadsSession: Bool = false, inheritsFiles: Bool = true
    ) throws(Failure) -> ChildProcess {
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = environment(with: variables) + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, standard) in [(input, STDIN_FILENO), (output, STDOUT_FILENO), (errors, STDERR_FILENO)] {
            if let number { posix_spawn_file_actions_adddup2(&actions, number, standard) }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, standard) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&standard)
        for signal in [SIGPIPE, SIGINT, SIGQUIT, SIGCHLD, SIGXFSZ] { sigaddset(&standard, signal) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &standard)
        var flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)
        if !inheritsFiles { _ = linux_spawn_close_from(&actions, 3) }
        if let group {
            posix_spawnattr_setpgroup(&attributes, group)
            flags |= Int16(POSIX_SPAWN_SETPGROUP)
        }
        if leadsSession { flags |= linux_spawn_in_new_session() }
        posix_spawnattr_setflags(&attributes, flags)
        var pid: pid_t = 0
        let number = posix_spawnp(&pid, program, &actions, &attributes, &argv, &envp)
        guard number == 0 else { throw .start(program, SystemCall.Failure(number: number)) }
        return ChildProcess(pid: pid)
    }

    /// Returns this process's environment with some variables set or removed; the bytes of the others are unchanged.
    private static func environment(with variables: [String: String?]) -> [UnsafeMutablePointer<CChar>?] {
        var entries = variables.compactMap { name, value in value.map { strdup("\(name)=\($0)") } }
        var next = environ
        while let entry = next.pointee {
            next += 1
            let name = String(cString: entry).prefix { $0 != "=" }
            if variables[String(name)] == nil { entries.append(strdup(entry)) }
        }
        return entries
    }

    /// A state of the process.
    package enum State {
        case runs
        /// A signal stopped it; reported once.
        case stopped(by: Int32)
        /// It ended with a status as a shell reports it. The process is reaped and must not be queried again.
        case ended(Int32)
    }

    /// The process's current state.
    package var state: State {
        get throws(Failure) {
            guard let status = try wait(WNOHANG | WUNTRACED) else { return .runs }
            return status & 0xFF == 0x7F ? .stopped(by: status >> 8 & 0xFF) : .ended(Self.shellStatus(status))
        }
    }

    /// The exit status as a shell reports it; `nil` while the process runs.
    ///
    /// Must not be queried again after the process has ended.
    package var status: Int32? {
        get throws(Failure) { try wait(WNOHANG).map(Self.shellStatus) }
    }

    /// Waits until the process ends, and returns its status as a shell reports it.
    package func waitUntilExit() throws(Failure) -> Int32 { try wait(0).map(Self.shellStatus) ?? 0 }

    /// Calls `waitpid`; returns `nil` if nothing has happened.
    private func wait(_ options: Int32) throws(Failure) -> Int32? {
        var status: Int32 = 0
        do throws(SystemCall.Failure) {
            return try SystemCall.run { waitpid(pid, &status, options) } == 0 ? nil : status
        } catch {
            throw .status(pid, error)
        }
    }

    private static func shellStatus(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}
