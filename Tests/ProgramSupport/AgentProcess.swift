package import DefaultsCore
package import DefaultsKit
import Foundation
package import Glibc
import PropertyList
import TestSupport

/// A real `defaultsd` on a directory of its own, and what a test does with it.
package final class AgentProcess {
    package let place: Place
    private let process = Process()
    private let errors = Pipe()
    /// What runs this agent, and the commands of its user, in the way of `setpriv`.
    private let launcher: [String]

    /// Runs a test in a place of its own, without an agent.
    package static func withPlace<Result>(_ body: (Place) throws -> Result) throws -> Result {
        try withTemporaryDirectory { root in
            let place = Place(preferences: root + "/p", runtime: root + "/r")
            for path in [place.preferences, place.runtime] where mkdir(path, 0o700) != 0 {
                throw TestSystemError("mkdir \(path)")
            }
            return try body(place)
        }
    }

    /// Runs a test with an agent, which has read what `prepare` left in the directory.
    package static func withAgent<Result>(
        prepare: (Place) throws -> Void = { _ in }, _ body: (AgentProcess) throws -> Result
    ) throws -> Result {
        try withPlace { place in
            try prepare(place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            return try body(agent)
        }
    }

    /// What runs a program as "nobody", where the tests run as root.
    package static let asNobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    /// Whether `asNobody` can be used.
    package static let hasNobody =
        geteuid() == 0 && (try? Programs.run(asNobody[0], asNobody[1...] + ["true"]).status) == 0

    /// Starts an agent, and returns when it says that it is ready.
    package init(_ place: Place, arguments: [String] = [], launcher: [String] = []) throws {
        self.place = place
        self.launcher = launcher
        let ready = try ReadySocket()
        let command = launcher + [Programs.defaultsd] + arguments
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command[1...])
        process.environment = ProcessInfo.processInfo.environment
            .merging(place.environment) { $1 }.merging(["NOTIFY_SOCKET": ready.name]) { $1 }
        process.standardError = errors
        try process.run()
        let isReady = eventually(within: 30) { ready.hasCome() || !process.isRunning }
        guard isReady, process.isRunning else {
            throw AgentFailure(description: "The agent didn't become ready: \(complaints())")
        }
    }

    deinit { kill() }

    package struct AgentFailure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    package var pid: pid_t { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    /// Sends a signal; one that stops it has stopped it then.
    package func signal(_ number: Int32) {
        guard process.isRunning, Glibc.kill(pid, number) == 0, number == SIGSTOP else { return }
        // It may go on for a moment, on another processor. Its end, if it comes to that, is left to who waits for it.
        var information = siginfo_t()
        while waitid(P_PID, id_t(pid), &information, WSTOPPED | WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// Ends it as a service manager does, and gives its exit status.
    @discardableResult
    package func terminate() -> Int32 {
        signal(SIGTERM)
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Waits for its end, and gives its exit status; `nil` when it goes on, or a signal has ended it.
    package func status(within seconds: Double) -> Int32? {
        let hasEnded = eventually(within: seconds) { !process.isRunning }
        return hasEnded && process.terminationReason == .exit ? process.terminationStatus : nil
    }

    /// Ends it as a crash does.
    package func kill() {
        signal(SIGKILL)
        if process.isRunning { process.waitUntilExit() }
    }

    /// What it wrote to standard error, once it has ended.
    package func complaints() -> String {
        kill()
        return String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    /// The memory that it takes now, shared libraries included.
    package func residentKilobytes() throws -> Int {
        let status = String(decoding: try RawFile.read("/proc/\(pid)/status"), as: UTF8.self)
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw AgentFailure(description: "Its memory can't be told: \(status)") }
        return kilobytes
    }

    /// Connects to it.
    package func connect() throws -> AgentConnection {
        let environment = Environment(place.environment)
        let directory = try PreferencesDirectory(environment: environment)
        let address = try AgentAddress(for: directory, environment: environment)
        guard let connection = try AgentConnection.open(address, for: directory) else {
            throw AgentFailure(description: "No agent answers.")
        }
        return connection
    }

    /// What it says of how it does.
    package func status() throws -> DomainValues {
        try connect().status()
    }

    /// Returns when it knows all that happened before, and has saved it.
    package func synchronize() throws {
        _ = try connect().barrier()
    }

    /// Runs `defaults` with this agent.
    @discardableResult
    package func defaults(_ arguments: String...) throws -> Programs.Outcome {
        let command = launcher + [Programs.defaults] + arguments
        return try Programs.run(command[0], Array(command[1...]), environment: place.environment)
    }

    /// Starts `defaults` with this agent, to run while the test goes on.
    package func start(_ arguments: String...) throws -> RunningProgram {
        try RunningProgram(Programs.defaults, arguments, environment: place.environment)
    }

    /// Runs a script of the shell in the preferences directory.
    @discardableResult
    package func shell(_ script: String) throws -> Programs.Outcome {
        try Programs.shell(script, in: place.preferences, environment: place.environment)
    }

    /// Has edits wait in the agent until something asks for them, and returns when it is so.
    package func holdEdits() throws {
        try defaults("write", AgentSettings.domainName, "PublishLimit", "-int", "60000")
        try defaults("write", AgentSettings.domainName, "PublishDelay", "-int", "60000")
        _ = try connect().barrier()
    }
}
