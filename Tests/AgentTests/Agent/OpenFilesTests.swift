import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Limits of open files that are too small for the agent, or reached while it runs.
@Suite("The limit of open files")
struct OpenFilesTests {
    private static let prlimit = "/usr/bin/prlimit"

    private static func launcher(_ limit: Int) -> [String] { [prlimit, "--nofile=\(limit)"] }

    @Test("An agent whose limit of open files is too small exits with an explanation", arguments: [8, 12, 14, 16, 31])
    func tooSmall(limit: Int) throws {
        try AgentProcess.withPlace { place in
            let outcome = try Programs.run(
                Self.prlimit, ["--nofile=\(limit)", Programs.defaultsd], environment: place.environment)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("its limit is \(limit),"), "\(outcome.errors)")
            #expect(outcome.errors.contains("ulimit -Hn"))
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
    }

    private static let canUnmount =
        (try? Programs.run("/usr/bin/unshare", ["--mount", "/bin/sh", "-c", "umount -l /proc"]).status) == 0

    @Test("An agent without /proc says so, and doesn't blame the limit of open files", .enabled(if: canUnmount))
    func withoutProc() throws {
        try AgentProcess.withPlace { place in
            let outcome = try Programs.run(
                "/usr/bin/unshare", ["--mount", "/bin/sh", "-c", "umount -l /proc; exec \(Programs.defaultsd)"],
                environment: place.environment)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("/proc") && outcome.errors.contains("ount it"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("ulimit"), "\(outcome.errors)")
        }
    }

    @Test("The agent raises its soft limit of open files to the hard limit")
    func raised() throws {
        try AgentProcess.withPlace { place in
            // The soft limit is only low for the sake of programs that use select.
            let agent = try AgentProcess(place, launcher: [Self.prlimit, "--nofile=20:64"])
            defer { agent.kill() }
            let clients = try (0..<20).map { _ in try RawClient.greeted(place.socket) }
            #expect(try agent.defaults("status").status == 0)
            _ = clients
        }
    }

    @Test(
        "The agent reserves open files for itself, refuses excess connections, and accepts them later",
        arguments: [32, 64])
    func connections(limit: Int) throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place, launcher: Self.launcher(limit))
            defer { agent.kill() }
            let follower = try agent.follow()
            var clients = try (0..<limit).map { _ in try RawClient(place.socket) }
            var answers: [String: Int] = [:]
            for client in clients {
                // A refused client may get its answer, and its connection be closed, before it sends anything.
                try? client.send(["type": "hello", "request": 1, "protocol": 1, "client": "test"])
                answers[try client.answer(), default: 0] += 1
            }
            #expect(answers["welcome", default: 0] >= 3, "\(answers)")
            #expect(answers["failure agentRefused", default: 0] >= 12, "\(answers)")
            #expect(answers.count == 2, "\(answers)")
            let refused = try RawClient(place.socket).receive()
            guard case .string(let reason)? = refused?["message"] else {
                throw AgentProcess.AgentFailure(description: "")
            }
            #expect(reason.contains("limit of \(limit) open files") && reason.contains("ulimit -Hn"), "\(reason)")
            #expect(try agent.comesToRest())

            // The agent keeps reading and saving.
            try follower.expect(["a.b: k ->file (file)"]) {
                try RawFile.replace(place.path("a.b"), with: Array("{k=file;}".utf8))
            }
            try follower.connection.edit(Domain(DomainName("a.b")), with: ["k": "edit"], replacesAll: false)
            let failures = try follower.connection.barrier().failures
            #expect(failures == [])
            let text = String(decoding: try RawFile.read(place.path("a.b")), as: UTF8.self)
            #expect(text.contains("edit"))

            clients = []
            let isLetIn = eventually { (try? RawClient.greeted(place.socket)) != nil }
            #expect(isLetIn)
        }
    }

    @Test("An agent that ran out of descriptors sees every missed change once it has some again")
    func shortage() throws {
        try AgentProcess.withAgent { agent in
            func setLimit(_ value: Int) throws {
                try Programs.run(Self.prlimit, ["--pid", "\(agent.pid)", "--nofile=\(value):"])
            }
            let path = agent.place.path("a.b")
            try RawFile.replace(path, with: Array("{k=before;}".utf8))
            let follower = try agent.follow(.snapshot)
            _ = try follower.events()
            try setLimit(8)
            try RawFile.replace(path, with: Array("{k=meanwhile;}".utf8))
            try RawFile.replace(agent.place.path("c.d"), with: Array("{k=new;}".utf8))
            // The agent can't accept it now.
            let client = try RawClient(agent.place.socket)
            #expect(try agent.comesToRest())
            try setLimit(1_024)
            var awaited: Set = ["a.b: k before>meanwhile (file)", "c.d: k ->new (file)"]
            while !awaited.isEmpty {
                guard let event = try follower.connection.nextEvent(within: 30_000) else { break }
                let text = Follower.text(event)
                // The agent may also report that it couldn't read the files meanwhile.
                if awaited.remove(text) == nil {
                    #expect(text == "bookmark" || [": damaged", ": recovered"].contains(where: text.hasSuffix))
                }
            }
            #expect(awaited == [])
            try client.send(["type": "hello", "request": 1, "protocol": 1, "client": "test"])
            #expect(try client.answer() == "welcome")
            #expect(try agent.status()["errors"] == .array([]))
        }
    }

    @Test("An agent that is out of descriptors still exits cleanly on SIGTERM")
    func end() throws {
        try AgentProcess.withAgent { agent in
            try Programs.run(Self.prlimit, ["--pid", "\(agent.pid)", "--nofile=8:"])
            agent.signal(SIGTERM)
            #expect(agent.status(within: 30) == 0)
        }
    }

    @Test("A directory listing that fails for lack of descriptors is repeated, and finds what an overflow lost")
    func shortageOfListing() throws {
        try AgentProcess.withAgent { agent in
            func setLimit(_ value: Int) throws {
                try Programs.run(Self.prlimit, ["--pid", "\(agent.pid)", "--nofile=\(value):"])
            }
            let follower = try agent.follow()
            _ = try follower.events()
            agent.signal(SIGSTOP)
            try setLimit(8)
            let (a, b) = (agent.place.preferences + "/aside", agent.place.preferences + "/beside")
            try RawFile.write("", to: a)
            for _ in 0..<10_000 {
                rename(a, b)
                rename(b, a)
            }
            try RawFile.replace(agent.place.path("a.b"), with: Array("{k=new;}".utf8))
            agent.signal(SIGCONT)
            #expect(try agent.comesToRest())
            try setLimit(1_024)
            var texts: [String] = []
            while texts.last != "a.b: k ->new (file)", let event = try follower.connection.nextEvent(within: 30_000) {
                texts.append(Follower.text(event))
            }
            #expect(texts.filter { $0 != "bookmark" } == ["a.b: k ->new (file)"])
        }
    }

    /// A launcher that runs a program with 1,100 inherited open files.
    private static let crowd = [
        "/usr/bin/env", "python3", "-c",
        """
        import os, resource, sys
        limit = max(2048, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        for number in range(1100): os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)
        os.execvp(sys.argv[1], sys.argv[1:])
        """,
    ]

    @Test(
        "An agent that inherits 1,100 open files polls, and says why",
        .enabled(if: ForeignProcess.hasPython))
    func crowdedAgent() throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place, launcher: Self.crowd)
            defer { agent.kill() }
            let follower = try agent.follow()
            try follower.expect(["a.b: k ->file (file)"]) {
                try RawFile.replace(place.path("a.b"), with: Array("{k=file;}".utf8))
            }
            // The command inherits the files as well.
            #expect(try agent.defaults("write", "a.b", "k", "edit").status == 0)
            #expect(try agent.defaults("read", "a.b", "k").output == "edit\n")
            let status = try agent.defaults("status").output
            #expect(status.contains("watching     polling: the inotify instance got file descriptor 11"), "\(status)")
            #expect(agent.complaints().contains("above 1023"))
        }
    }

    @Test(
        "An app that inherits 1,100 open files can use the library without an agent",
        .enabled(if: ForeignProcess.hasPython)
    )
    func crowdedLibrary() throws {
        try AgentProcess.withPlace { place in
            let outcome = try Programs.run(
                Self.crowd[0], Self.crowd[1...] + [Programs.liveWriter, "a.b", "key", "3"],
                environment: place.environment)
            #expect(outcome.status == 0, "\(outcome)")
            let text = String(decoding: try RawFile.read(place.path("a.b")), as: UTF8.self)
            #expect(text.contains("<key>key2</key>"))
        }
    }
}
