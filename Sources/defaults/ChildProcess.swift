import DefaultsCore
import Glibc

/// A program that the command starts.
struct ChildProcess {
    let pid: pid_t

    /// Starts a program, found in the PATH unless its name has a "/".
    ///
    /// The arguments begin with its own name; the environment is that of this process, and what is given goes before it.
    /// Signals mean to it what they mean to programs at first, whatever this process does about them.
    ///
    /// - Parameters:
    ///   - program: the program.
    ///   - arguments: its arguments.
    ///   - added: variables of its environment.
    ///   - outputToErrors: whether its output goes to standard error, since ours is data.
    ///   - input: what it has for standard input; ours if left out.
    ///   - leadsGroup: whether it has a process group of its own, to be ended with all that it starts.
    /// - Returns: the process.
    /// - Throws: when it can't be started.
    static func start(
        _ program: String, _ arguments: [String], environment added: [String: String] = [:],
        outputToErrors: Bool = false, input: Int32? = nil, leadsGroup: Bool = false
    ) throws(Failure) -> ChildProcess {
        let variables = Environment.current.variables.merging(added) { $1 }
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = variables.map { strdup("\($0)=\($1)") } + [nil]
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
        for signal in [SIGPIPE, SIGINT, SIGQUIT] { sigaddset(&standard, signal) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &standard)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var pid: pid_t = 0
        let number = posix_spawnp(&pid, program, &actions, &attributes, &argv, &envp)
        guard number == 0 else {
            throw Failure("\(program) can't be started: \(SystemCall.message(number)).", .unavailable)
        }
        return ChildProcess(pid: pid)
    }

    /// Its status as the shell would give it, once it has ended; asked for no more when it was given.
    var status: Int32? {
        var status: Int32 = 0
        return waitpid(pid, &status, WNOHANG) == pid ? Self.shellStatus(status) : nil
    }

    /// Waits for its end, and gives its status as the shell would.
    func waitUntilExit() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return Self.shellStatus(status)
    }

    private static func shellStatus(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}
