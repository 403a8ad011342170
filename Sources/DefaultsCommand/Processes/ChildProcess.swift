import CLinux
import DefaultsCore
import Glibc

/// A program that the command starts.
struct ChildProcess {
    let pid: pid_t

    /// Starts a program, found in the PATH unless its name has a "/".
    ///
    /// The arguments begin with its own name.
    /// Signals mean to it what they mean to programs at first, whatever this process does about them.
    ///
    /// - Parameters:
    ///   - program: the program.
    ///   - arguments: its arguments.
    ///   - variables: what differs in its environment from that of this process, with `nil` for what it hasn't got.
    ///   - outputToErrors: whether its output goes to standard error, since ours is data.
    ///   - input: what it has for standard input; ours if left out.
    ///   - group: the process group that it joins; ours if left out.
    ///   - leadsSession: whether it has a session of its own, which no signal of a terminal reaches.
    /// - Returns: the process.
    /// - Throws: when it can't be started.
    static func start(
        _ program: String, _ arguments: [String], variables: [String: String?] = [:],
        outputToErrors: Bool = false, input: Int32? = nil, group: pid_t? = nil, leadsSession: Bool = false
    ) throws(Failure) -> ChildProcess {
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = environment(with: variables) + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if outputToErrors { posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) }
        if let input { posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) }
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
        // One that outlives this process holds nothing open that others wait for to be closed.
        if leadsSession { _ = linux_spawn_close_from(&actions, 3) }
        if let group {
            posix_spawnattr_setpgroup(&attributes, group)
            flags |= Int16(POSIX_SPAWN_SETPGROUP)
        }
        if leadsSession { flags |= linux_spawn_in_new_session() }
        posix_spawnattr_setflags(&attributes, flags)
        var pid: pid_t = 0
        let number = posix_spawnp(&pid, program, &actions, &attributes, &argv, &envp)
        guard number == 0 else {
            throw Failure("\(program) can't be started: \(SystemCall.message(number)).", .unavailable)
        }
        return ChildProcess(pid: pid)
    }

    /// This process's environment with some variables set or left out; all others as they are, in whatever bytes.
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

    /// How it is, now that something has happened to it.
    enum State {
        case runs
        /// A signal has stopped it, which is told of once.
        case stopped(by: Int32)
        /// It has ended, with a status as the shell would give it; it is asked no more then.
        case ended(Int32)
    }

    /// How it is.
    var state: State {
        get throws(Failure) {
            guard let status = try wait(WNOHANG | WUNTRACED) else { return .runs }
            return status & 0xFF == 0x7F ? .stopped(by: status >> 8 & 0xFF) : .ended(Self.shellStatus(status))
        }
    }

    /// Its status as the shell would give it, once it has ended; asked for no more when it was given.
    var status: Int32? {
        get throws(Failure) { try wait(WNOHANG).map(Self.shellStatus) }
    }

    /// Waits for its end, and gives its status as the shell would.
    func waitUntilExit() throws(Failure) -> Int32 { try wait(0).map(Self.shellStatus) ?? 0 }

    /// Asks the kernel for what happened; `nil` when nothing has.
    private func wait(_ options: Int32) throws(Failure) -> Int32? {
        var status: Int32 = 0
        while true {
            let result = waitpid(pid, &status, options)
            if result >= 0 { return result == 0 ? nil : status }
            guard errno == EINTR else {
                throw Failure("How process \(pid) ended can't be known: \(SystemCall.message(errno)).", .inputOutput)
            }
        }
    }

    private static func shellStatus(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}
