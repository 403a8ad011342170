import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

private let activator = "/usr/bin/systemd-socket-activate"

/// Sockets that a service manager opens for the agent, tested with systemd's own tool.
@Suite("Socket activation", .enabled(if: access(activator, X_OK) == 0))
struct ActivationTests {
    /// Runs a test at the default path of the socket, where `systemd-socket-activate` listens.
    ///
    /// On the first connection, the tool is replaced by the agent in the same process.
    private func withActivator(
        running command: [String] = [Programs.defaultsd],
        _ body: (_ place: AgentProcess.Place, _ environment: [String: String], _ agent: RunningProgram) throws -> Void
    ) throws {
        try AgentProcess.withPlace { place in
            let socket = place.runtime + "/defaultsd/socket"
            try #require(mkdir(place.runtime + "/defaultsd", 0o700) == 0)
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": "", "DEFAULTS_DIRECTORY": ""]) { $1 }
            // The tool passes on only the variables that are named with -E.
            let passed = environment.keys.sorted().flatMap { ["-E", $0] }
            let agent = try RunningProgram(activator, ["-l", socket] + passed + command, environment: environment)
            try #require(eventually { access(socket, F_OK) == 0 })
            try body(place, environment, agent)
        }
    }

    private func status(_ environment: [String: String]) throws -> [String: Any] {
        let outcome = try Programs.run(Programs.defaults, ["status", "--json"], environment: environment)
        return try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
    }

    private func pidOfAgent(_ environment: [String: String]) throws -> Int? {
        try status(environment)["pid"] as? Int
    }

    @Test("The first client starts the agent, which leaves the socket's file alone when it ends")
    func firstClient() throws {
        try withActivator { place, environment, agent in
            let write = try Programs.run(
                Programs.defaults, ["write", "a.b", "key", "value"], environment: environment)
            #expect(write.status == 0 && write.errors == "")
            let status = try status(environment)
            #expect(status["pid"] as? Int == Int(agent.pid))
            #expect(status["socket"] as? String == place.runtime + "/defaultsd/socket")
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
            #expect(access(place.runtime + "/defaultsd/socket", F_OK) == 0)
            #expect(try RawFile.read(place.path("a.b")).count > 0)
        }
    }

    @Test("A command for another directory than the agent's works without the agent")
    func otherDirectory() throws {
        try withActivator { place, environment, agent in
            try #expect(pidOfAgent(environment) == Int(agent.pid))
            let other = place.root + "/other"
            try RawFile.makeDirectory(other)
            let elsewhere = environment.merging(["XDG_CONFIG_HOME": other]) { $1 }
            let write = try Programs.run(Programs.defaults, ["write", "a.b", "key", "value"], environment: elsewhere)
            #expect(write.status == 0 && write.errors == "")
            #expect(namesOfFiles(in: other).contains("a.b.plist") && place.files == [])
            let status = try Programs.run(Programs.defaults, ["status"], environment: elsewhere)
            #expect(status.status == 69 && status.errors.contains("No agent serves \(other)"), "\(status)")
            let tail = try Programs.run(Programs.defaults, ["tail", "--timeout", "30"], environment: elsewhere)
            #expect(tail.status == 69 && tail.errors.contains("No agent serves \(other): the one"), "\(tail)")
        }
    }

    @Test("An agent whose socket file was removed opens another socket at the path")
    func removedFile() throws {
        try withActivator { place, environment, agent in
            let socket = place.runtime + "/defaultsd/socket"
            try #expect(pidOfAgent(environment) == Int(agent.pid))
            unlink(socket)
            agent.signal(SIGHUP)
            #expect(eventually { access(socket, F_OK) == 0 })
            try #expect(pidOfAgent(environment) == Int(agent.pid))
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
            #expect(access(socket, F_OK) != 0, "This file is the agent's own.")
        }
    }

    @Test("A restarted agent keeps the socket and its process")
    func restart() throws {
        try withActivator { _, environment, agent in
            try #expect(pidOfAgent(environment) == Int(agent.pid))
            let tail = try RunningProgram(Programs.defaults, ["tail", "--json", "a.b"], environment: environment)
            _ = try tail.objects(upTo: "ready")
            agent.signal(SIGUSR2)
            _ = try Programs.run(Programs.defaults, ["write", "a.b", "key", "value"], environment: environment)
            let changes = try tail.objects(upTo: "change")
            #expect(!changes.contains { $0["type"] as? String == "gap" })
            try #expect(pidOfAgent(environment) == Int(agent.pid))
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }

    @Test(
        "An agent refuses a socket that it can't serve, and says why",
        arguments: [
            ("export LISTEN_FDS=2; exec 3</dev/null 4</dev/null", "passed 2 sockets"),
            ("export LISTEN_FDS=1; exec 3</dev/null", "passed no listening Unix stream socket"),
        ])
    func unsuitable(_ preparation: String, _ part: String) throws {
        try AgentProcess.withPlace { place in
            let outcome = try Programs.shell(
                "export LISTEN_PID=$$; \(preparation); exec \(Programs.defaultsd)", in: place.preferences,
                environment: place.environment)
            #expect(outcome.status == 69 && outcome.errors.contains(part), "\(outcome)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    @Test("An agent refuses a socket with a relative path, which no client could find")
    func relative() throws {
        try AgentProcess.withPlace { place in
            let outcome = try Programs.shell(
                """
                export LISTEN_PID=$$ LISTEN_FDS=1
                exec python3 -c '
                import os, socket, sys
                listener = socket.socket(socket.AF_UNIX)
                listener.bind("s")
                listener.listen()
                if listener.fileno() != 3: os.dup2(listener.fileno(), 3)
                os.set_inheritable(3, True)
                os.execv(sys.argv[1], sys.argv[1:])
                ' \(Programs.defaultsd)
                """, in: place.runtime, environment: place.environment)
            #expect(outcome.status == 69 && outcome.errors.contains("relative path s"), "\(outcome)")
        }
    }

    @Test("An agent refuses --socket if the service manager has opened another")
    func otherSocket() throws {
        try withActivator(running: [Programs.defaultsd, "--socket", "/tmp/other"]) { _, environment, agent in
            // The command's connection starts the agent, which ends at once.
            _ = try Programs.run(Programs.defaults, ["status"], environment: environment)
            #expect(agent.status() == 69)
            #expect(agent.complaints().contains("but --socket names /tmp/other"))
        }
    }

    @Test("Variables that were meant for another process are ignored")
    func otherProcess() throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place, launcher: ["/usr/bin/env", "LISTEN_PID=1", "LISTEN_FDS=1"])
            #expect(agent.terminate() == 0)
        }
    }
}
