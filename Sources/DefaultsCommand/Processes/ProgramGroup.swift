import CLinux
import DefaultsCore
import Glibc

/// A program in a process group of its own, which ends with all that it has started when this process ends, and stops
/// when Ctrl-Z stops it.
///
/// SIGSTOP stops this process alone: nothing tells of it.
struct ProgramGroup {
    /// How it came to its end.
    enum End {
        /// By itself, with a status as the shell would give it.
        case status(Int32)
        /// It wanted the terminal, which isn't its own, and so was stopped, and ended.
        case wantedTerminal
        case timeIsOver
    }

    let program: String
    let arguments: [String]
    /// What differs in its environment from that of this process, with `nil` for what it hasn't got.
    var variables: [String: String?] = [:]
    /// What it has on its standard input.
    var input: [UInt8] = []
    /// Whether its output goes to standard error, since ours is data.
    var outputToErrors = false

    /// How long a program that is asked to end may take, before it is made to.
    private static let grace = Duration.seconds(2)

    /// Runs the program to its end.
    ///
    /// A signal that ends this process ends the group first, and `run` doesn't return.
    ///
    /// - Parameter end: when to end the group; `nil` for never.
    /// - Returns: how it ended.
    /// - Throws: when it can't be started.
    func run(until end: ContinuousClock.Instant?) throws(Failure) -> End {
        let signals = try SignalWatch(stops: true)
        let guardian = try ProgramGuard()
        var feed = try CommandInput(input)
        let process = try ChildProcess.start(
            program, arguments, variables: variables, outputToErrors: outputToErrors, input: feed.readingNumber,
            group: guardian.group)
        feed.closeReader()
        var deadline = end
        var ending: Int32?
        var wantsTerminal = false
        while true {
            switch try process.state {
            case .ended(let status):
                // A shell has what it starts in the background ignore SIGINT.
                if ending != nil { guardian.send(SIGTERM) }
                if let ending, ending != SIGALRM { signals.end(by: ending) }
                if ending != nil { return .timeIsOver }
                return wantsTerminal ? .wantedTerminal : .status(status)
            case .stopped(SIGTTIN), .stopped(SIGTTOU):
                // Nobody would ever continue it, and what is stopped takes no other signal than this.
                wantsTerminal = true
                guardian.send(SIGKILL)
            case .stopped, .runs: break
            }
            switch signals.wait(for: feed.awaited, until: deadline) {
            case .somethingHappened: feed.write()
            case .stop:
                guardian.send(SIGSTOP)
                linux_stop_self()
                guardian.send(SIGCONT)
            case .signal(let number):
                // Whoever asks twice doesn't want to wait.
                guardian.send(ending == nil ? number : SIGKILL)
                ending = number
            case .timeIsOver:
                guardian.send(ending == nil ? SIGTERM : SIGKILL)
                ending = ending ?? SIGALRM
                deadline = .now + Self.grace
            }
        }
    }
}
