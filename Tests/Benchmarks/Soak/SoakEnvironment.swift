import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc

/// The directories of a soak test, and the agent that serves them.
final class SoakEnvironment {
    static let domain = "org.example.soak"
    private let root: URL
    private var agent: AgentChild?
    /// Whether the directories are kept for inspection.
    private var isKept = false

    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "defaults-soak-\(UUID().uuidString.prefix(8))")
        for name in ["preferences", "runtime"] {
            try FileManager.default.createDirectory(
                at: root.appending(path: name), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
    }

    deinit {
        stopAgent()
        if !isKept { try? FileManager.default.removeItem(at: root) }
    }

    /// Keeps the directories for inspection.
    ///
    /// - Returns: Their path.
    func keep() -> String {
        isKept = true
        return root.path
    }

    var path: String { root.appending(path: "preferences/\(Self.domain).plist").path }
    var preferences: String { root.appending(path: "preferences").path }

    /// The environment that makes programs, and Foundation, use these directories.
    var environment: [String: String] {
        [
            "DEFAULTS_DIRECTORY": preferences, "XDG_CONFIG_HOME": preferences,
            "XDG_RUNTIME_DIR": root.appending(path: "runtime").path,
            "XDG_STATE_HOME": root.appending(path: "state").path, "DEFAULTS_SYSTEM_DIRECTORIES": root.path + "/none",
            "DEFAULTS_MANAGED_DIRECTORY": root.path + "/none",
        ]
    }

    /// Starts the agent, and waits until it answers.
    func startAgent() throws {
        agent = try AgentChild(environment: environment)
    }

    /// Sends the agent a signal.
    func signalAgent(_ number: Int32) {
        if let agent { kill(agent.pid, number) }
    }

    /// Ends the agent with SIGTERM or SIGKILL, at random.
    func stopAgent() {
        if Bool.random() { agent?.terminate() } else { agent?.kill() }
        agent = nil
    }

    /// Connects to the agent.
    func connect() throws -> AgentConnection { try AgentChild.connect(environment) }

    /// Returns the discrepancies between the agent, the files and the log.
    func audit() throws -> [String] {
        let environment = Environment(environment)
        let directory = try PreferencesDirectory(environment: environment)
        let address = try AgentAddress(for: directory, environment: environment)
        return try Auditor(directory, address, environment).findings()
    }
}
