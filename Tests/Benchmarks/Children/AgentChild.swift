import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc

/// An agent started by this program that ends with it.
final class AgentChild {
    private let process: ChildLines
    /// The time in seconds until the agent answered.
    private(set) var timeToAnswer: Double

    /// Starts the agent, and waits until it answers.
    init(environment: [String: String]) throws {
        let begin = Stopwatch.now
        process = try ChildLines(
            "defaultsd", ["--log-level", "error", "--end-with-parent", "\(getpid())"], environment: environment)
        while (try? Self.connect(environment)) == nil {
            guard Stopwatch.now - begin < 30 else { throw BenchFailure("The agent didn't become ready.") }
            usleep(500)
        }
        timeToAnswer = Stopwatch.now - begin
    }

    var pid: pid_t { process.pid }

    /// Ends the agent as a service manager does.
    func terminate() { process.terminate() }

    /// Ends the agent as a crash does.
    func kill() { process.kill() }

    /// Makes the agent restart as the installed program, and waits until that answers.
    func upgrade(_ environment: [String: String]) throws {
        let former = try Self.connect(environment)
        Glibc.kill(pid, SIGUSR2)
        // The former agent closes its connections when it ends, which requests would delay.
        do { while true { _ = try former.nextEvent(within: 1_000) } } catch {}
        let begin = Stopwatch.now
        while (try? Self.connect(environment)) == nil {
            guard Stopwatch.now - begin < 30 else { throw BenchFailure("The upgraded agent didn't become ready.") }
            usleep(500)
        }
        timeToAnswer = Stopwatch.now - begin
    }

    /// Connects to the agent found through the given environment variables.
    static func connect(_ variables: [String: String]) throws -> AgentConnection {
        let environment = Environment(variables)
        let directory = try PreferencesDirectory(environment: environment)
        let address = try AgentAddress(for: directory, environment: environment)
        guard let connection = try AgentConnection.open(address, for: directory) else {
            throw BenchFailure("No agent answers.")
        }
        return connection
    }
}
