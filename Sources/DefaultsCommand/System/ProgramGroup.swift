import CLinux
import DefaultsCore
import Glibc

/// A program in its own process group, which ends or stops together with this process.
///
/// The group stops when Ctrl-Z (SIGTSTP) stops this process. SIGSTOP can't be caught and stops only this process.
struct ProgramGroup {
    /// The reason why a program ended.
    enum End {
        /// It exited by itself, with a status as a shell reports it.
        case status(Int32)
        /// It was killed because it tried to use the terminal, which a background group can't do.
        case wantedTerminal
        case timeIsOver
    }

    let program: String
    let arguments: [String]
    /// Environment variables to set, or to remove if `nil`.
    var variables: [String: String?] = [:]
    /// The bytes of its standard input.
    var input: [UInt8] = []

    /// The time between SIGTERM and SIGKILL.
    private static let grace = Duration.seconds(2)

    /// Runs the program to completion.
    ///
    /// A signal that ends this process ends the group first, and `run` doesn't return.
    ///
    /// - Parameter end: The deadline at which the group is ended; `nil` for none.
    /// - Returns: The reason why the program ended.
    /// - Throws: If the program can't be started.
    func run(until end: ContinuousClock.Instant?) throws(Failure) -> End {
        let signals = try SignalWatch(stops: true)
        let guardian = try ProgramGuard()
        var feed = try CommandInput(input)
        let process = try ChildProcess.start(
            program, arguments, variables: variables, input: feed.readingNumber,
            group: guardian.group)
        feed.closeReader()
        var deadline = end
        var ending: Int32?
        var wantsTerminal = false
        while true {
            switch try process.state {
            case .ended(let status):
                // Background commands of a shell ignore SIGINT, so end what is left with SIGTERM.
                if ending != nil { guardian.send(SIGTERM) }
                if let ending, ending != SIGALRM { signals.end(by: ending) }
                if ending != nil { return .timeIsOver }
                return wantsTerminal ? .wantedTerminal : .status(status)
            case .stopped(SIGTTIN), .stopped(SIGTTOU):
                // Nothing would ever continue it, and a stopped process handles no signal but SIGKILL.
                wantsTerminal = true
                guardian.send(SIGKILL)
            case .stopped, .runs: break
            }
            switch signals.wait(for: feed.awaited, until: deadline) {
            case .childChanged: feed.write()
            case .stop:
                guardian.send(SIGSTOP)
                linux_stop_self()
                guardian.send(SIGCONT)
            case .signal(let number):
                // A second signal means that the user doesn't want to wait.
                guardian.send(ending == nil ? number : SIGKILL)
                ending = number
            case .timeout:
                guardian.send(ending == nil ? SIGTERM : SIGKILL)
                ending = ending ?? SIGALRM
                deadline = .now + Self.grace
            }
        }
    }
}
