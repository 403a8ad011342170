import DefaultsCore
import DefaultsKit
import Foundation
import TestSupport

/// The directories of a benchmark, for our programs and the peers, and the services that use them.
final class BenchEnvironment {
    static let domain = "org.example.bench"
    /// Directories that contain services that users don't start by hand.
    private static let otherPlaces = ["/usr/sbin", "/usr/libexec", "/usr/lib/x86_64-linux-gnu/xfce4/xfconf"]
    private let root: URL
    private var agent: AgentChild?
    private var bus: ChildLines?

    /// Creates the directories, and makes this process and its children use them.
    ///
    /// There is one instance per process, created before the first use of any library that reads its location from the
    /// environment.
    init() throws {
        root = FileManager.default.temporaryDirectory.appending(path: "defaults-bench-\(UUID().uuidString.prefix(8))")
        for name in ["preferences", "runtime", "home"] {
            try FileManager.default.createDirectory(
                at: root.appending(path: name), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        for (name, value) in environment { setenv(name, value, 1) }
    }

    deinit { end() }

    var path: String { root.path }
    var preferences: String { root.appending(path: "preferences").path }
    private var runtime: String { root.appending(path: "runtime").path }

    var environment: [String: String] {
        [
            "DEFAULTS_DIRECTORY": preferences, "XDG_CONFIG_HOME": preferences, "XDG_RUNTIME_DIR": runtime,
            "XDG_STATE_HOME": root.appending(path: "state").path, "XDG_DATA_HOME": root.appending(path: "data").path,
            "HOME": root.appending(path: "home").path, "DEFAULTS_SYSTEM_DIRECTORIES": root.path + "/none",
            "DEFAULTS_MANAGED_DIRECTORY": root.path + "/none",
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(busPath)",
        ]
    }

    /// The agent's process identifier.
    var agentNumber: pid_t { agent?.pid ?? 0 }

    /// Starts the agent unless it is running, and waits until it answers.
    func startAgent() throws {
        if agent == nil { agent = try AgentChild(environment: environment) }
    }

    /// Ends the agent, and starts another one.
    func restartAgent() throws {
        agent?.kill()
        agent = nil
        try startAgent()
    }

    /// Adds a domain's manifest, which the next agent reads.
    func addManifest(_ bytes: [UInt8], of domain: String) throws {
        let directory = root.appending(path: "data/defaultsd/manifests")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Data(bytes).write(to: directory.appending(path: "\(domain).plist"))
    }

    /// Opens our defaults and Foundation's, each with twenty keys, as in a typical app.
    static func openDefaults() throws -> (ours: DefaultsKit.UserDefaults, foundation: Foundation.UserDefaults) {
        guard let ours = DefaultsKit.UserDefaults(suiteName: domain),
            let foundation = Foundation.UserDefaults(suiteName: "\(domain).foundation")
        else { throw BenchFailure("The defaults could not be opened.") }
        for number in 0..<20 {
            ours.set(number, forKey: "other\(number)")
            foundation.set(number, forKey: "other\(number)")
        }
        return (ours, foundation)
    }

    /// The bus's socket and process identifier.
    var busPath: String { "\(runtime)/bus" }
    var busNumber: pid_t { bus?.pid ?? 0 }

    /// Starts a D-Bus session bus, which the peers from GNOME and Xfce need; returns `false` if D-Bus isn't installed.
    func startBus() throws -> Bool {
        if bus != nil { return true }
        guard let program = Self.program("dbus-daemon") else { return false }
        bus = try ChildLines(
            at: program, ["--session", "--nofork", "--nopidfile", "--address=unix:path=\(busPath)"])
        return eventually { access(busPath, F_OK) == 0 }
    }

    /// Returns the path of a program, or `nil` if it isn't installed.
    static func program(_ name: String) -> String? {
        let places = (ProcessInfo.processInfo.environment["PATH"] ?? "").components(separatedBy: ":") + Self.otherPlaces
        return places.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }

    /// Returns the path of one of our programs.
    static func beside(_ name: String) -> String {
        Bundle.main.executableURL?.deletingLastPathComponent().appending(path: name).path ?? name
    }

    /// Stops the services, and removes the directories.
    func end() {
        agent?.kill()
        agent = nil
        bus?.terminate()
        bus = nil
        try? FileManager.default.removeItem(at: root)
    }
}
