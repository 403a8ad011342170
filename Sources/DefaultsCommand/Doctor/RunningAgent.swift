import DefaultsCore
import Glibc
import Linux

/// A process of this user that runs `defaultsd`, as `/proc` shows it.
struct RunningAgent {
    /// The way in which the process was started.
    enum Origin: Equatable {
        case byHand
        /// The unit of the user's or the system's service manager.
        case unit(String)
        /// `defaults tail`, with its process ID as text.
        case tail(pid: String)

        init(arguments: [String], cgroup: String) {
            if let parent = RunningAgent.option("--end-with-parent", in: arguments) {
                self = .tail(pid: parent)
                return
            }
            // The last line is that of cgroup v2, or of systemd's own hierarchy.
            let unit = cgroup.split(separator: "\n").last.map { Path.lastName(of: String($0)) }
            if let unit, unit.hasPrefix("defaultsd"), unit.hasSuffix(".service") {
                self = .unit(unit)
            } else {
                self = .byHand
            }
        }

        /// The origin as part of a sentence.
        var description: String {
            switch self {
            case .byHand: "by hand"
            case .unit(let unit): "by systemd (\(unit))"
            case .tail(let pid): "by `defaults tail` (pid \(pid))"
            }
        }

        /// The origin in JSON.
        var name: String {
            switch self {
            case .byHand: "hand"
            case .unit: "systemd"
            case .tail: "tail"
            }
        }
    }

    let pid: Int32
    /// The path from which the program was started, even if another file is there now.
    let program: String
    /// Whether the program's file was replaced or deleted since the process started.
    let isReplaced: Bool
    let origin: Origin
    /// Whether the process handles SIGUSR2, the request to be replaced with the installed version.
    let isReplaceable: Bool
    private let arguments: [String]

    /// Examines a process; fails if it has ended or belongs to another user.
    init?(pid: Int32) {
        guard let file = ProgramFile(ofProcess: pid) else { return nil }
        self.pid = pid
        (program, isReplaced) = (file.path, file.isReplaced)
        arguments = ProcessText.list("/proc/\(pid)/cmdline")
        origin = Origin(arguments: arguments, cgroup: ProcessText.of("/proc/\(pid)/cgroup"))
        isReplaceable = Self.handlesReplacement(ProcessText.of("/proc/\(pid)/status"))
    }

    /// Returns every process of this user whose program is named `defaultsd`.
    static func all() -> [RunningAgent] {
        guard let listing = try? DirectoryListing("/proc") else { return [] }
        var agents: [RunningAgent] = []
        while let entry = try? listing.next() {
            guard let pid = entry.name.flatMap({ Int32($0) }), let status = try? FileStatus(at: "/proc/\(pid)"),
                status.isOwn, let agent = RunningAgent(pid: pid),
                Path.lastName(of: agent.program) == "defaultsd"
            else { continue }
            agents.append(agent)
        }
        return agents.sorted { $0.pid < $1.pid }
    }

    /// Returns whether a process catches SIGUSR2, or blocks it and waits for it, according to `/proc/PID/status`.
    static func handlesReplacement(_ status: String) -> Bool {
        status.split(separator: "\n").contains { line in
            guard line.hasPrefix("SigBlk:") || line.hasPrefix("SigCgt:"),
                let mask = line.split(separator: "\t").last.flatMap({ UInt64($0, radix: 16) })
            else { return false }
            return mask >> UInt64(SIGUSR2 - 1) & 1 != 0
        }
    }

    /// Returns the value of an option in a process's arguments.
    static func option(_ name: String, in arguments: [String]) -> String? {
        for (index, argument) in arguments.enumerated() {
            if argument == name { return index + 1 < arguments.count ? arguments[index + 1] : nil }
            if argument.hasPrefix("\(name)=") { return String(argument.dropFirst(name.count + 1)) }
        }
        return nil
    }

    /// The directory and the socket that the agent serves, according to its arguments and environment; each is `nil`
    /// if it is unknown.
    var location: (directory: PreferencesDirectory?, socketPath: String?) {
        guard let environment else { return (nil, nil) }
        let location = ServedLocation(
            directory: Self.option("--directory", in: arguments).map(absolute),
            socket: Self.option("--socket", in: arguments).map(absolute), environment: environment)
        return (location.directory, location.address?.socketPath)
    }

    private func absolute(_ path: String) -> String {
        if Path.isAbsolute(path) { return path }
        let directory = SystemCall.target(ofLink: "/proc/\(pid)/cwd").map { String(decoding: $0, as: UTF8.self) }
        return "\(directory ?? "")/\(path)"
    }

    /// The agent's environment; `nil` if it is unknown, or its paths lead to other files.
    var environment: Environment? {
        // In a container, the same paths lead to other files.
        guard let own = try? FileStatus(at: "/"), let other = try? FileStatus(at: "/proc/\(pid)/root/"),
            own.isSame(as: other)
        else { return nil }
        var variables: [String: String] = [:]
        for entry in ProcessText.list("/proc/\(pid)/environ") {
            guard let equals = entry.firstIndex(of: "=") else { continue }
            let (name, value) = (String(entry[..<equals]), String(entry[entry.index(after: equals)...]))
            let isPath = ["DEFAULTS_DIRECTORY", "DEFAULTSD_SOCKET"].contains(name) && !value.isEmpty
            variables[name] = isPath ? absolute(value) : value
        }
        return variables.isEmpty ? nil : Environment(variables)
    }
}

/// The other agents of this user.
struct OtherAgents {
    /// An agent with the paths that it serves.
    struct Agent {
        let pid: Int32
        let origin: RunningAgent.Origin
        let directory: String?
        let socketPath: String?
        /// Whether it serves the directory that is examined.
        let servesSame: Bool
    }

    let agents: [Agent]

    /// Finds the agents other than those with the given process IDs.
    init(besides known: [Int64], of directory: PreferencesDirectory?) {
        agents = RunningAgent.all().filter { !known.contains(Int64($0.pid)) }.map { agent in
            let (served, socketPath) = agent.location
            return Agent(
                pid: agent.pid, origin: agent.origin, directory: served?.path, socketPath: socketPath,
                servesSame: served.flatMap { served in directory.map { served.isSame(as: $0) } } ?? false)
        }
    }

    init(_ agents: [Agent]) { self.agents = agents }

    /// The findings: a second agent of the same directory is a warning, any other agent a note.
    var findings: [Finding] {
        agents.map { agent in
            let place =
                (agent.directory.map { "serves \($0)" } ?? "serves an unknown directory")
                + (agent.socketPath.map { " on the socket \($0)" } ?? "")
            let message = "Another agent (pid \(agent.pid)), started \(agent.origin.description), \(place)."
            return agent.servesSame
                ? Finding(
                    .warning, id: "agent-second", message: message,
                    remedy: "Stop one of the two agents, for example with `kill \(agent.pid)`.", path: agent.directory)
                : Finding(
                    .note, id: "agent-elsewhere", message: message,
                    remedy: "No action is needed. If nothing uses that directory, run `kill \(agent.pid)` to stop the "
                        + "agent.",
                    path: agent.directory)
        }
    }

    /// The agents as JSON.
    var json: String {
        ChangeJSON.list(
            agents.map { agent in
                JSONText.object([
                    ("pid", "\(agent.pid)"), ("startedBy", JSONText.string(agent.origin.name)),
                    ("directory", agent.directory.map(JSONText.string) ?? "null"),
                    ("socket", agent.socketPath.map(JSONText.string) ?? "null"),
                ])
            })
    }
}
