import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

/// The way clients find the agent of their directory, and nothing else in its place.
@Suite("Finding the agent")
struct FoundAgentTests {
    /// Returns an environment in which programs look for an agent in the default places.
    private static func usual(_ place: AgentProcess.Place) -> [String: String] {
        place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
    }

    /// Returns the agent's pid according to `defaults status`, or `nil` if no agent answers.
    private static func agent(_ environment: [String: String]) throws -> Int? {
        let outcome = try Programs.run(Programs.defaults, ["status", "--json"], environment: environment)
        guard outcome.status == 0 else { return nil }
        let status = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        return status?["pid"] as? Int
    }

    /// Runs a test with an agent at the default socket of a named directory.
    private static func withUsualAgent(_ body: (AgentProcess.Place, RunningProgram) throws -> Void) throws {
        try AgentProcess.withPlace { place in
            let agent = try RunningProgram(Programs.defaultsd, [], environment: usual(place))
            let answers = try eventually(within: 30) { try Self.agent(usual(place)) == Int(agent.pid) }
            #expect(answers)
            try body(place, agent)
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }

    // MARK: Odd environments

    @Test("An agent that is started with closed standard descriptors is found, and its lock file stays intact")
    func closedDescriptors() throws {
        try AgentProcess.withPlace { place in
            // A damaged file makes the agent log something.
            try RawFile.write("{ torn", to: place.path("org.example.torn"))
            let agent = try RunningProgram(
                "/bin/sh", ["-c", "exec \(Programs.defaultsd) 0<&- 1>&- 2>&-"], environment: Self.usual(place))
            let answers = try eventually(within: 30) { try Self.agent(Self.usual(place)) == Int(agent.pid) }
            #expect(answers)
            let lines = String(decoding: try RawFile.read(place.preferences + "/.defaultsd.agent"), as: UTF8.self)
                .split(separator: "\n")
            #expect(lines.count == 3 && lines.first == "\(agent.pid)", "\(lines)")
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }

    @Test("An agent serves while the service manager's queue is full, and reports that it is ready when there is room")
    func busyServiceManager() throws {
        try AgentProcess.withPlace { place in
            for hasRoom in [true, false] {
                let ready = try ReadySocket()
                ready.fillQueue()
                let agent = try RunningProgram(
                    Programs.defaultsd, [],
                    environment: Self.usual(place).merging(["NOTIFY_SOCKET": ready.name]) { $1 })
                let answers = try eventually(within: 30) { try Self.agent(Self.usual(place)) == Int(agent.pid) }
                #expect(answers)
                if hasRoom { #expect(eventually(within: 30) { ready.hasCome() }) }
                agent.signal(SIGTERM)
                #expect(agent.status() == 0)
            }
        }
    }

    // MARK: Where the agent is

    @Test("A socket that is removed, alone or with its directory, is created again", arguments: [true, false])
    func removed(isDirectory: Bool) throws {
        try Self.withUsualAgent { place, agent in
            let client = try #require(try Self.connect(place))
            let socket = try Fields(client.status()).string("socket")
            if isDirectory { removeTree(place.runtime + "/defaultsd") } else { unlink(socket) }
            let answers = try eventually(within: 30) { try Self.agent(Self.usual(place)) == Int(agent.pid) }
            #expect(answers)
            #expect(RawFile.exists(socket) && RawFile.exists(socket + ".lock"))
            #expect(try RawFile.status(socket).st_mode & 0o7777 == 0o600)
            // Existing connections stay open.
            let status = try client.status()
            #expect(status["connections"] != 0)
        }
    }

    private static func connect(_ place: AgentProcess.Place) throws -> AgentConnection? {
        try AgentConnection.open(address(place), for: PreferencesDirectory(environment: Environment(usual(place))))
    }

    /// Returns the default address of the agent.
    private static func address(_ place: AgentProcess.Place) throws -> AgentAddress {
        let environment = Environment(usual(place))
        return try AgentAddress(for: PreferencesDirectory(environment: environment), environment: environment)
    }

    @Test("A socket path that another program has taken over is left to it and logged at most once")
    func replaced() throws {
        try AgentProcess.withAgent { agent in
            unlink(agent.place.socket)
            let other = try Self.listener(at: agent.place.socket, "silent")
            let before = try RawFile.status(agent.place.socket).st_ino
            for number in 1...3 {
                try agent.shell("echo '{n = \(number);}' > a.b.plist")
                agent.signal(SIGHUP)
            }
            #expect(agent.terminate() == 0)
            #expect(try RawFile.status(agent.place.socket).st_ino == before)
            #expect(agent.complaints().split(separator: "\n").count { $0.contains("is listening on") } <= 1)
            withExtendedLifetime(other) {}
        }
    }

    @Test("A moved directory with a link in its old place is the agent's under both names")
    func moved() throws {
        try Self.withUsualAgent { place, agent in
            try Programs.shell("mv p z; ln -s z p", in: place.root)
            for path in [place.preferences, place.root + "/z"] {
                let environment = Self.usual(place).merging(["DEFAULTS_DIRECTORY": path]) { $1 }
                #expect(try Self.agent(environment) == Int(agent.pid), "\(path)")
                #expect(
                    try Programs.run(Programs.defaults, ["write", "a.b", "k", path], environment: environment).status
                        == 0)
            }
        }
    }

    @Test("The agent of the directory is found from another runtime directory")
    func otherRuntimeDirectory() throws {
        try Self.withUsualAgent { place, agent in
            try RawFile.makeDirectory(place.root + "/other")
            let environment = Self.usual(place).merging(["XDG_RUNTIME_DIR": place.root + "/other"]) { $1 }
            #expect(try Self.agent(environment) == Int(agent.pid))
        }
    }

    // MARK: Other programs

    private static func listener(at path: String, _ manner: String) throws -> ForeignProcess {
        let process = try ForeignProcess(
            python: """
                import os, select, socket, sys
                os.makedirs(os.path.dirname(sys.argv[1]), 0o700, exist_ok=True)
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(sys.argv[1])
                listener.listen(64)
                print("listening", flush=True)
                kept = []
                while True:
                    if sys.stdin in select.select([sys.stdin, listener], [], [])[0]: break
                    connection = listener.accept()[0]
                    if sys.argv[2] == "garbage": connection.send(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
                    if sys.argv[2] != "closing": kept.append(connection)
                """, [path, manner])
        #expect(process.line() == "listening")
        return process
    }

    @Test(
        "Commands and apps work on the files if another program listens on the default socket",
        .enabled(if: ForeignProcess.hasPython), arguments: ["silent", "garbage", "closing"])
    func foreignListener(manner: String) throws {
        try AgentProcess.withPlace { place in
            let environment = Self.usual(place)
            let other = try Self.listener(at: Self.address(place).socketPath, manner)
            let start = ContinuousClock.now
            for arguments in [["write", "a.b", "k", "v"], ["rename", "a.b", "k", "l"], ["read", "a.b", "l"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(outcome.status == 0 && outcome.errors == "", "\(arguments): \(outcome)")
            }
            #expect(try Programs.run(Programs.defaults, ["status"], environment: environment).status == 69)
            let app = try Programs.run(Programs.liveWriter, ["a.b", "key", "1"], environment: environment)
            #expect(app.status == 0 && app.errors == "", "\(app)")
            #expect(try PropertyListValue(parsing: RawFile.read(place.path("a.b"))) == ["l": "v", "key0": [0]])
            // Each program would wait a minute for a silent agent.
            #expect(ContinuousClock.now - start < .seconds(50))
            withExtendedLifetime(other) {}
        }
    }

    // MARK: While an agent starts

    private static let strace = "/usr/bin/strace"
    /// The options of strace that slow down the reading of inotify's events, so that an agent learns of others' changes
    /// late.
    private static let slowly = ["-e", "inject=ioctl:delay_enter=50000"]

    @Test(
        "A command's save while an agent starts is seen by the next command, whatever the agent knows",
        .enabled(if: Injection.isPossible))
    func whileStarting() throws {
        try AgentProcess.withPlace { place in
            let environment = Self.usual(place)
            let socket = try Self.address(place).socketPath
            let tracer = try RunningProgram(
                Self.strace,
                ["-f", "-o", place.root + "/trace", "-e", "trace=listen,ioctl"] + Self.slowly
                    + ["-e", "inject=listen:delay_enter=1000000:when=1", Programs.defaultsd],
                environment: environment)
            // The agent has read all files and bound its socket, and is about to listen.
            let isBound = eventually(within: 30) { RawFile.exists(socket) }
            #expect(isBound)
            let write = try Programs.run(Programs.defaults, ["write", "a.b", "k0", "v"], environment: environment)
            #expect(write.status == 0, "\(write)")
            var agent: Int?
            var (number, end) = (0, 1)
            // The commands begin before the agent listens, and go on until it has served some of them.
            while number < end, number < 1_000 {
                let arguments = ["rename", "a.b", "k\(number)", "k\(number + 1)"]
                let rename = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(rename.status == 0, "\(rename)")
                let read = try Programs.run(Programs.defaults, ["read", "a.b"], environment: environment)
                #expect(read.output == "{\n    k\(number + 1) = v;\n}\n", "\(read)")
                number += 1
                if agent == nil {
                    agent = try Self.agent(environment)
                    end = number + 10
                }
            }
            kill(pid_t(try #require(agent)), SIGTERM)
            #expect(tracer.status() == 0)
        }
    }

    @Test(
        "A command that began before an agent started exits only when the agent knows what it saved",
        .enabled(if: Injection.isPossible && ForeignProcess.hasPython))
    func begunBefore() throws {
        try AgentProcess.withPlace { place in
            let holder = try ForeignProcess(
                python: """
                    import fcntl, os, sys
                    file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
                    fcntl.flock(file, fcntl.LOCK_EX)
                    print("locked", flush=True)
                    sys.stdin.readline()
                    os.unlink(sys.argv[1])
                    """, ["\(place.preferences)/\(DirectoryLock.fileName)"])
            #expect(holder.line() == "locked")
            let write = try RunningProgram(
                Programs.defaults, ["write", "a.b", "k", "v"], environment: Self.usual(place))
            // Once it sleeps between attempts, the command waits for the directory's lock.
            let waits = eventually { Self.waits(write.pid) }
            #expect(waits)
            let tracer = try RunningProgram(
                Self.strace,
                ["-f", "-o", place.root + "/trace", "-e", "trace=ioctl"] + Self.slowly + [Programs.defaultsd],
                environment: Self.usual(place))
            let answers = try eventually(within: 30) { try Self.agent(Self.usual(place)) != nil }
            #expect(answers)
            try holder.remainder()
            #expect(write.status() == 0)
            let read = try Programs.run(Programs.defaults, ["read", "a.b", "k"], environment: Self.usual(place))
            #expect(read.output == "v\n", "\(read)")
            kill(pid_t(try #require(try Self.agent(Self.usual(place)))), SIGTERM)
            #expect(tracer.status() == 0)
        }
    }

    /// Returns whether a process sleeps between two attempts: in `nanosleep` or `clock_nanosleep`, by their numbers on
    /// x86-64 and arm64.
    private static func waits(_ pid: pid_t) -> Bool {
        let text = (try? RawFile.read("/proc/\(pid)/syscall")).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return ["35", "230", "101", "115"].contains(text.split(separator: " ").first.map(String.init) ?? "")
    }

    // MARK: Pid namespaces

    private static let unshare = "/usr/bin/unshare"
    private static let hasNamespaces = (try? Programs.run(unshare, ["-Urpf", "true"]).status) == 0

    @Test("The status shows the agent's pid in the caller's namespace if it has one", .enabled(if: hasNamespaces))
    func namespaces() throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place, launcher: [Self.unshare, "-Urpf", "--kill-child"])
            defer { agent.kill() }
            let children = "/proc/\(agent.pid)/task/\(agent.pid)/children"
            let child = String(decoding: try RawFile.read(children), as: UTF8.self).split(separator: " ").first
            let status = try agent.status()
            #expect(status["pid"] == child.flatMap { Int64($0) }.map { .integer($0) })
            #expect(status["ownPID"] == 1)
        }
        try AgentProcess.withAgent { agent in
            let outcome = try Programs.run(
                Self.unshare, ["-Urpf", Programs.defaults, "status"], environment: agent.place.environment)
            #expect(outcome.output.contains("pid \(agent.pid) in another PID namespace"), "\(outcome)")
        }
    }
}
