import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import PropertyList
import TestSupport

/// A real `defaultsd` on a directory of its own, and what a test does with it.
final class AgentProcess {
    let place: Place
    private let process = Process()
    private let errors = Pipe()

    /// The directories of a test: the preferences, and the socket's.
    ///
    /// Both are gone after it.
    struct Place {
        let preferences: String
        let runtime: String

        var socket: String { runtime + "/socket" }
        /// What has the programs, and Foundation, use them.
        var environment: [String: String] {
            [
                "DEFAULTS_DIRECTORY": preferences, "DEFAULTSD_SOCKET": socket, "XDG_CONFIG_HOME": preferences,
                "XDG_RUNTIME_DIR": runtime,
            ]
        }

        func path(_ domain: String) -> String { "\(preferences)/\(domain).plist" }
    }

    /// Runs a test in a place of its own, without an agent.
    static func withPlace<Result>(_ body: (Place) throws -> Result) throws -> Result {
        try withTemporaryDirectory { root in
            let place = Place(preferences: root + "/p", runtime: root + "/r")
            for path in [place.preferences, place.runtime] where mkdir(path, 0o700) != 0 {
                throw TestSystemError("mkdir \(path)")
            }
            return try body(place)
        }
    }

    /// Runs a test with an agent, which has read what `prepare` left in the directory.
    static func withAgent<Result>(
        prepare: (Place) throws -> Void = { _ in }, _ body: (AgentProcess) throws -> Result
    ) throws -> Result {
        try withPlace { place in
            try prepare(place)
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            return try body(agent)
        }
    }

    /// Starts an agent, and returns when it says that it is ready.
    init(_ place: Place, arguments: [String] = []) throws {
        self.place = place
        let ready = try ReadySocket()
        process.executableURL = URL(fileURLWithPath: Programs.defaultsd)
        process.arguments = arguments
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

    struct AgentFailure: Error, CustomStringConvertible {
        let description: String
    }

    var pid: pid_t { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    /// Sends a signal.
    func signal(_ number: Int32) {
        if process.isRunning { Glibc.kill(pid, number) }
    }

    /// Ends it as a service manager does, and gives its exit status.
    @discardableResult
    func terminate() -> Int32 {
        signal(SIGTERM)
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Ends it as a crash does.
    func kill() {
        signal(SIGKILL)
        if process.isRunning { process.waitUntilExit() }
    }

    /// What it wrote to standard error, once it has ended.
    func complaints() -> String {
        kill()
        return String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    /// Connects to it.
    func connect() throws -> AgentConnection {
        let environment = Environment(place.environment)
        let directory = try PreferencesDirectory(environment: environment)
        let address = try AgentAddress(for: directory, environment: environment)
        guard let connection = try AgentConnection.open(address, for: directory) else {
            throw AgentFailure(description: "No agent answers.")
        }
        return connection
    }

    /// Follows its changes from now on.
    func follow(_ start: Subscription.Start = .now) throws -> Follower {
        try Follower(connect(), start)
    }

    /// Runs `defaults` with this agent.
    @discardableResult
    func defaults(_ arguments: String...) throws -> Programs.Outcome {
        try Programs.run(Programs.defaults, arguments, environment: place.environment)
    }

    /// Runs a script of the shell in the preferences directory.
    @discardableResult
    func shell(_ script: String) throws -> Programs.Outcome {
        try Programs.shell(script, in: place.preferences, environment: place.environment)
    }

    /// Has edits wait in the agent until something asks for them, and returns when it is so.
    func holdEdits() throws {
        try defaults("write", AgentSettings.domainName, "PublishLimit", "-int", "60000")
        try defaults("write", AgentSettings.domainName, "PublishDelay", "-int", "60000")
        _ = try connect().barrier()
    }
}
