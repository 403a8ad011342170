import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import TestSupport

/// The directories of a soak test, and the agent that serves them.
final class SoakEnvironment {
    static let domain = "org.example.soak"
    private let root: URL
    /// The parent of the preferences and the state: the root, or a small file system mounted in it.
    private let store: String
    private let disk: SmallFileSystem?
    private var agent: AgentChild?
    /// Whether the directories are kept for inspection.
    private var isKept = false

    /// Creates the directories.
    ///
    /// - Parameter bytes: The size of the disk for the preferences and the state; `nil` if they need no disk of their
    ///   own.
    /// - Throws: The reason why they can't be created.
    init(diskBytes bytes: Int? = nil) throws {
        root = FileManager.default.temporaryDirectory.appending(path: "defaults-soak-\(UUID().uuidString.prefix(8))")
        func makeDirectory(_ path: String) throws {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        let mount = root.path + "/disk"
        try makeDirectory(mount)
        disk = SmallFileSystem.isAvailable ? try bytes.map { try SmallFileSystem(at: mount, bytes: $0) } : nil
        store = disk?.path ?? root.path
        for path in [preferences, state, runtime, manifests] { try makeDirectory(path) }
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
        if disk != nil {
            // The mounted disk ends with this program.
            for name in ["preferences", "state"] {
                try? FileManager.default.copyItem(atPath: "\(store)/\(name)", toPath: "\(root.path)/\(name)")
            }
        }
        return root.path
    }

    var path: String { path(of: Self.domain) }
    var preferences: String { store + "/preferences" }
    private var state: String { store + "/state" }
    private var runtime: String { root.path + "/runtime" }
    /// The directory of the manifests.
    var manifests: String { root.path + "/data/defaultsd/manifests" }

    /// Returns the path of a domain's file.
    func path(of domain: String) -> String { "\(preferences)/\(domain).plist" }

    /// The environment that makes programs, and Foundation, use these directories.
    var environment: [String: String] {
        [
            "DEFAULTS_DIRECTORY": preferences, "XDG_CONFIG_HOME": preferences,
            "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": state, "XDG_DATA_HOME": root.path + "/data",
            "DEFAULTS_SYSTEM_DIRECTORIES": root.path + "/none",
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
        if Bool.random() { terminateAgent() } else { killAgent() }
    }

    /// Ends the agent as a service manager does.
    func terminateAgent() {
        agent?.terminate()
        agent = nil
    }

    /// Ends the agent as a crash does.
    func killAgent() {
        agent?.kill()
        agent = nil
    }

    /// Makes the agent restart in place, as `Config/install` does, and waits until the new one answers.
    func upgradeAgent() throws {
        try agent?.upgrade(environment)
    }

    /// Connects to the agent.
    func connect() throws -> AgentConnection { try AgentChild.connect(environment) }

    /// Returns the discrepancies between the agent, the files and the log.
    func audit() throws -> [String] {
        let environment = Environment(environment)
        let directory = try PreferencesDirectory(environment: environment)
        let address = try AgentAddress(for: directory, environment: environment)
        return try Auditor(directory, address, environment).findings(logMayLackRecords: hasDisk)
    }

    // MARK: Figures

    /// Returns the figures of the agent after its start.
    func measureAgent() throws -> LifeFigures.Agent {
        guard let agent else { throw BenchFailure("No agent is running.") }
        let status = try String(contentsOfFile: "/proc/\(agent.pid)/status", encoding: .utf8)
        func number(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") } ?? ""
            return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        return LifeFigures.Agent(
            seconds: agent.timeToAnswer, residentBytes: number("VmRSS") << 10, peakBytes: number("VmHWM") << 10,
            descriptors: namesOfFiles(in: "/proc/\(agent.pid)/fd").count, threads: number("Threads"))
    }

    /// The files in the directories of the preferences, the state and the socket.
    var files: [LifeFigures.File] { [preferences, state, runtime].flatMap { files(in: $0) } }

    /// Returns the files of the change log and its archive that contain a text.
    ///
    /// The agent may rename a file between the listing and the read. Then all are listed and read again, since its
    /// contents may be under a name that was read before.
    func historyFiles(containing text: String) throws -> [String] {
        while true {
            do {
                return try files(in: state).map(\.path).filter { path in
                    try Data(contentsOf: URL(filePath: path)).range(of: Data(text.utf8)) != nil
                }
            } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
                continue
            }
        }
    }

    /// The size of the change log file.
    var logBytes: Int { files(in: state).first { $0.path.hasSuffix(".log") }?.bytes ?? 0 }

    private func files(in directory: String) -> [LifeFigures.File] {
        namesOfFiles(in: directory).flatMap { name in
            var status = stat()
            let path = "\(directory)/\(name)"
            guard lstat(path, &status) == 0 else { return [LifeFigures.File]() }
            if status.st_mode & S_IFMT == S_IFDIR { return files(in: path) }
            let time = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
            return [LifeFigures.File(path: path, bytes: Int(status.st_size), inode: status.st_ino, time: time)]
        }
    }

    // MARK: The disk

    /// Whether the preferences and the state are on a disk that can be filled.
    var hasDisk: Bool { disk != nil }
    private var filler: String { store + "/fill" }

    /// Fills the disk to its last byte.
    func fillDisk() throws {
        let file = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let block = [UInt8](repeating: 1, count: 1 << 16)
        var size = block.count
        while size > 0 { if write(file, block, size) < size { size /= 2 } }
        guard errno == ENOSPC else { throw TestSystemError("fill") }
    }

    /// Frees what `fillDisk` has filled.
    func emptyDisk() throws {
        guard unlink(filler) == 0 else { throw TestSystemError("unlink \(filler)") }
    }
}
