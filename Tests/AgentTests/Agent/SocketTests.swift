import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Input through the socket, which must not affect other clients, however broken it is.
@Suite("The socket")
struct SocketTests {
    /// The input that a client sends, possibly after a greeting.
    struct Talk: CustomTestStringConvertible {
        let testDescription: String
        let isGreeted: Bool
        let say: @Sendable (RawClient) throws -> Void

        init(_ description: String, greeted: Bool = true, _ say: @escaping @Sendable (RawClient) throws -> Void) {
            (testDescription, isGreeted, self.say) = (description, greeted, say)
        }

        init(_ description: String, greeted: Bool = true, _ message: DomainValues) {
            self.init(description, greeted: greeted) { try $0.send(message) }
        }
    }

    static let breaches: [Talk] = [
        Talk("garbage", greeted: false) { try $0.send(Array("GET / HTTP/1.1\r\n\r\n".utf8)) },
        Talk("a length beyond the limit") { try $0.send([0x7F, 0xFF, 0xFF, 0xFF, 0]) },
        Talk("an empty frame") { try $0.send(framed: []) },
        Talk("a frame of XML") { try $0.send(framed: Array("<plist><dict/></plist>".utf8)) },
        Talk("a frame of broken binary data") { try $0.send(framed: Array("bplist00garbage".utf8)) },
        Talk("an array") { try $0.send(framed: PropertyListValue.array(["read"]).write(as: .binary)) },
        Talk("a request before hello", greeted: false, ["type": "status", "request": 1]),
        Talk(
            "a future protocol version", greeted: false, ["type": "hello", "request": 1, "protocol": 3, "client": "x"]),
        Talk("no request number", ["type": "status"]),
        Talk("a negative request number", ["type": "status", "request": -1]),
    ]

    @Test("What isn't a request fails and closes only its own connection", arguments: breaches)
    func breach(_ talk: Talk) throws {
        try AgentProcess.withAgent { agent in
            let other = try RawClient.greeted(agent.place.socket)
            let client = talk.isGreeted ? try .greeted(agent.place.socket) : try RawClient(agent.place.socket)
            try talk.say(client)
            let answer = try client.answer()
            let end = try client.answer()
            #expect(answer == "failure protocolViolation")
            #expect(end == "closed")
            try other.send(["type": "status", "request": 2])
            #expect(try other.answer() == "status")
            #expect(agent.isRunning)
        }
    }

    static let mistakes: [(Talk, code: String)] = [
        (
            Talk("a domain outside the directory", ["type": "read", "request": 2, "domain": "../x"]),
            "invalidDomainName"
        ),
        // A later agent may know this request.
        (Talk("an unknown request", ["type": "explode", "request": 2]), "agentRefused"),
        (Talk("an empty domain", ["type": "read", "request": 2, "domain": ""]), "invalidDomainName"),
        (Talk("a hidden domain", ["type": "read", "request": 2, "domain": ".x"]), "invalidDomainName"),
        (
            Talk("a host outside the directory", ["type": "read", "request": 2, "domain": "a.b", "host": "../x"]),
            "invalidDomainName"
        ),
        (
            Talk(
                "an edit of a domain outside the directory",
                [
                    "type": "edit", "request": 2, "domain": "../../etc/x", "time": 0, "set": ["a": "b"], "remove": [],
                    "replaces": false,
                ]), "invalidDomainName"
        ),
        (
            Talk("an invalid cursor", ["type": "subscribe", "request": 2, "from": "yesterday", "mode": "latest"]),
            "invalidCursor"
        ),
    ]

    @Test("An invalid request is answered with an error, and the connection stays open", arguments: mistakes)
    func mistake(_ talk: Talk, code: String) throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            try talk.say(client)
            let failure = try client.receive()
            #expect(failure?["type"] == "failure" && failure?["request"] == 2)
            #expect(failure?["code"] == .string(code))
            try client.send(["type": "status", "request": 3])
            #expect(try client.answer() == "status")
            #expect(agent.place.files == [])
        }
    }

    @Test("A client that disconnects within a message does no harm")
    func halfAFrame() throws {
        try AgentProcess.withAgent { agent in
            let whole = try Frame.encode(["type": "status", "request": 2])
            for length in [1, 3, 4, 5, whole.count - 1] {
                try RawClient.greeted(agent.place.socket).send(Array(whole[..<length]))
            }
            // A message may arrive byte by byte.
            let client = try RawClient.greeted(agent.place.socket)
            for byte in whole { try client.send([byte]) }
            #expect(try client.answer() == "status")
            let isAlone = try eventually { try agent.status()["connections"] == 2 }
            #expect(isAlone)
        }
    }

    @Test("A client that doesn't read its answers costs the agent little memory")
    func unreadAnswers() throws {
        try AgentProcess.withAgent { agent in
            let text = String(repeating: "x", count: 1 << 20)
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["large": .string(text)], replacesAll: false)
            let client = try RawClient.greeted(agent.place.socket)
            // Sent in one piece: a socket accepts only a few small ones before it blocks.
            let requests = try (0..<400).flatMap { number in
                try Frame.encode(["type": "read", "request": .integer(Int64(number + 2)), "domain": "a.b"])
            }
            try client.send(requests)
            // Another client is served meanwhile, after everything received before has been processed.
            _ = try agent.connect().barrier()
            #expect(try agent.residentKilobytes() < 150_000)
            // Once the client reads, it gets all answers.
            for number in 0..<400 {
                let answer = try client.receive()
                #expect(answer?["request"] == .integer(Int64(number + 2)))
            }
        }
    }

    @Test("The socket, its directory and the log are private to the user")
    func modes() throws {
        try AgentProcess.withPlace { place in
            let socket = place.runtime + "/deep/below/socket"
            let agent = try AgentProcess(place, arguments: ["--socket", socket])
            defer { agent.kill() }
            #expect(try RawFile.status(socket).st_mode & 0o7777 == 0o600)
            #expect(try RawFile.status(place.log(at: socket)).st_mode & 0o7777 == 0o600)
            #expect(try RawFile.status(place.runtime + "/deep").st_mode & 0o7777 == 0o700)
            #expect(try RawFile.status(place.runtime + "/deep/below").st_mode & 0o7777 == 0o700)
            #expect(agent.terminate() == 0)
            #expect(!RawFile.exists(socket))
        }
    }

    @Test("Every program reports a socket path that is too long")
    func longPath() throws {
        try AgentProcess.withPlace { place in
            let path = place.runtime + "/" + String(repeating: "s", count: 100)
            for (program, arguments) in [
                (Programs.defaultsd, []), (Programs.defaults, ["status"]), (Programs.defaults, ["tail"]),
            ] {
                let outcome = try Programs.run(program, arguments + ["--socket", path], environment: place.environment)
                #expect(outcome.status != 0 && outcome.output == "")
                #expect(outcome.errors.contains("the limit is 103") && outcome.errors.contains("--socket"))
                #expect(outcome.errors.split(separator: "\n").count == 1)
            }
        }
    }

    @Test("The agent refuses a socket directory that others can write to")
    func openDirectory() throws {
        try AgentProcess.withPlace { place in
            chmod(place.runtime, 0o777)
            let outcome = try Programs.run(Programs.defaultsd, [], environment: place.environment)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("Run `chmod go-w "))
        }
    }

    @Test(
        "The agent refuses another user, whatever the file modes allow",
        .enabled(if: AgentProcess.hasNobody && ForeignProcess.hasPython))
    func otherUser() throws {
        try AgentProcess.withAgent { agent in
            chmod(agent.place.runtime + "/..", 0o755)
            chmod(agent.place.runtime, 0o755)
            chmod(agent.place.socket, 0o666)
            let script = """
                import os, socket, sys
                os.setgid(65534); os.setuid(65534)
                s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
                while (more := s.recv(4096)): print(more)
                """
            let said = try ForeignProcess.run(python: script, [agent.place.socket])
            #expect(said.contains("agentRefused") && said.contains("not user 65534"), "\(said)")
            let command = AgentProcess.asNobody + [Programs.defaults, "read", "a.b"]
            let outcome = try Programs.run(command[0], Array(command[1...]), environment: agent.place.environment)
            #expect(outcome.status == 75)
            #expect(outcome.errors.contains("This agent serves only user 0, not user 65534."), "\(outcome)")
            #expect(agent.isRunning)
        }
    }

    @Test("A second agent for the same directory or socket exits immediately and names the first")
    func secondAgent() throws {
        try AgentProcess.withAgent { agent in
            let link = agent.place.runtime + "/link"
            symlink(agent.place.preferences, link)
            let other = agent.place.runtime + "/other"
            try RawFile.makeDirectory(other)
            for arguments in [
                [], ["--socket", agent.place.runtime + "/second"], ["--directory", link], ["--directory", other],
            ] {
                let outcome = try Programs.run(Programs.defaultsd, arguments, environment: agent.place.environment)
                #expect(outcome.status == 75)
                #expect(outcome.errors.contains("Another agent (pid \(agent.pid))"), "\(outcome.errors)")
                #expect(outcome.errors.split(separator: "\n").count == 1)
            }
            #expect(try agent.defaults("status").status == 0)
        }
    }

    @Test("A new agent takes over the socket that a killed one left behind")
    func staleSocket() throws {
        try AgentProcess.withAgent { first in
            first.kill()
            #expect(RawFile.exists(first.place.socket))
            #expect(try first.defaults("status").status == 69)
            let second = try AgentProcess(first.place)
            defer { second.kill() }
            #expect(try second.defaults("write", "a.b", "key", "value").status == 0)
            #expect(second.terminate() == 0)
        }
    }

    @Test("An agent doesn't replace a regular file at its socket's path")
    func fileInPlace() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("precious", to: place.socket)
            let outcome = try Programs.run(Programs.defaultsd, [], environment: place.environment)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("\(place.socket) exists and is not a socket"))
            #expect(try RawFile.read(place.socket) == Array("precious".utf8))
        }
    }

    @Test("A connection beyond MaximumConnections is refused until another one closes")
    func maximumConnections() throws {
        try AgentProcess.withAgent(prepare: { try Self.set("MaximumConnections", $0) }) { agent in
            var clients = [try RawClient.greeted(agent.place.socket), try RawClient.greeted(agent.place.socket)]
            let third = try RawClient(agent.place.socket)
            let refusal = try third.receive()
            #expect(refusal?["code"] == "agentRefused")
            #expect(try third.answer() == "closed")
            let outcome = try agent.defaults("status")
            #expect(outcome.status == 75)
            #expect(
                outcome.errors
                    == "defaults: The agent already has 2 connections, the maximum. "
                    + "To raise it, set MaximumConnections.\n"
            )
            clients.removeLast()
            let isIn = try eventually { try agent.defaults("status").status == 0 }
            #expect(isIn)
        }
    }

    @Test("A subscription beyond MaximumSubscriptions is refused, and the connection stays open")
    func maximumSubscriptions() throws {
        try AgentProcess.withAgent(prepare: { try Self.set("MaximumSubscriptions", $0) }) { agent in
            let client = try RawClient.greeted(agent.place.socket)
            var answers: [String] = []
            for number in 2...4 {
                try client.send([
                    "type": "subscribe", "request": .integer(Int64(number)), "from": "now", "mode": "everything",
                ])
                var answer: String
                repeat { answer = try client.answer() } while answer == "bookmark"
                answers.append(answer)
            }
            #expect(answers == ["subscribed", "subscribed", "failure agentRefused"])
            try client.send(["type": "unsubscribe", "request": 5, "subscription": 2])
            try client.send(["type": "subscribe", "request": 6, "from": "now", "mode": "everything"])
            #expect(try client.answer() == "unsubscribed")
            #expect(try client.answer() == "subscribed")
        }
    }

    private static func set(_ key: String, _ place: AgentProcess.Place) throws {
        try RawFile.write(
            "<plist><dict><key>\(key)</key><integer>2</integer></dict></plist>", to: place.path("org.defaultsd.agent"))
    }
}
