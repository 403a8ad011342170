import DefaultsCore
import Glibc

/// A program that the command starts.
struct ChildProcess {
    private let pid: pid_t

    /// Starts a program, found in the PATH unless its name has a "/".
    ///
    /// The arguments begin with its own name; the environment is that of this process, and what is given goes before it.
    /// Its output goes to standard error if asked, since ours is data.
    static func start(
        _ program: String, _ arguments: [String], environment added: [String: String] = [:],
        outputToErrors: Bool = false
    ) throws(Failure) -> ChildProcess {
        let variables = Environment.current.variables.merging(added) { $1 }
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if outputToErrors { posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) }
        var pid: pid_t = 0
        let number = posix_spawnp(&pid, program, &actions, nil, &argv, &envp)
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
