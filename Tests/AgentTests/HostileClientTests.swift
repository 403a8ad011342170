import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// What a client can send that is wrong in every part, or too much; and all the others are served.
@Suite("Hostile clients")
struct HostileClientTests {
    /// A value of each kind, by a name for it.
    private static let samples: [(kind: String, value: PropertyListValue)] = [
        ("string", "x"), ("integer", 1), ("real", 1.5), ("boolean", true), ("data", .data([1])), ("array", [1]),
        ("date", .date(PropertyListDate(secondsSinceReferenceDate: 0))), ("dictionary", [:]), ("uid", .uid(1)),
    ]

    /// A request that is right, with the kind of each entry; those with a question mark may be left out.
    struct Request: CustomTestStringConvertible, Sendable {
        let message: DomainValues
        let kinds: [String: String]

        var testDescription: String { "\(message["type"] ?? "")" }

        init(_ type: String, _ message: DomainValues, _ kinds: [String: String]) {
            self.message = message.merging(["type": .string(type), "request": 9]) { $1 }
            self.kinds = kinds.merging(["type": "string", "request": "integer"]) { $1 }
        }
    }

    private static let domain = ["domain": "string", "host": "string?", "user": "string?"]

    static let requests: [Request] = [
        Request("hello", ["protocol": 1, "client": "x"], ["protocol": "integer", "client": "string"]),
        Request("read", ["domain": "a.b"], domain),
        Request(
            "edit",
            [
                "domain": "a.b", "set": ["k": "v"], "remove": ["r"], "time": 0, "replaces": false, "session": 1,
                "edit": 1, "replacing": [:], "expected": [:], "absent": ["k"],
            ],
            domain.merging([
                "set": "dictionary", "remove": "array?", "time": "integer", "replaces": "boolean?",
                "session": "integer?", "edit": "integer", "replacing": "dictionary?", "expected": "dictionary?",
                "absent": "array?",
            ]) { $1 }),
        // One domain by itself would be taken for all, if it weren't refused.
        Request("synchronize", ["domains": [["domain": "a.b"]]], ["domains": "array?", "domain": "none?"]),
        Request(
            "subscribe", ["from": "now", "mode": "latest", "domains": ["*"], "keys": ["*"]],
            ["from": "string", "mode": "string", "domains": "array?", "keys": "array?"]),
        Request("unsubscribe", ["subscription": 1], ["subscription": "integer"]),
    ]

    @Test("An entry of a wrong kind, or none, is told and closes the connection, and no other", arguments: requests)
    func kinds(_ request: Request) throws {
        try AgentProcess.withAgent { agent in
            let other = try RawClient.greeted(agent.place.socket)
            for (entry, kind) in request.kinds {
                var wrong: [(String, DomainValues)] = Self.samples.compactMap { sample in
                    if kind.hasPrefix(sample.kind) {
                        // An array that holds something else than strings is wrong as well.
                        if sample.kind != "array" { return nil }
                    }
                    return (sample.kind, request.message.merging([entry: sample.value]) { $1 })
                }
                if !kind.hasSuffix("?") {
                    wrong.append(("nothing", request.message.filter { $0.key != entry }))
                }
                for (sample, message) in wrong {
                    let isGreeting = request.message["type"] == "hello"
                    let client = try isGreeting ? RawClient(agent.place.socket) : .greeted(agent.place.socket)
                    try client.send(message)
                    let answers = [try client.answer(), try client.answer()]
                    #expect(answers == ["failure protocolViolation", "closed"], "\(entry): \(sample)")
                }
            }
            try other.send(["type": "status", "request": 2])
            #expect(try other.answer() == "status")
            #expect(agent.place.files == [])
        }
    }

    /// A frame's payload: a binary property list of objects, with references of one byte and offsets of two.
    private static func binary(
        _ objects: [[UInt8]], count: UInt64? = nil, top: UInt64 = 0, table: UInt64? = nil, sizes: [UInt8] = [2, 1]
    ) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
            bytes += object
        }
        let numbers = [count ?? UInt64(objects.count), top, table ?? UInt64(bytes.count)]
        return bytes + offsets + [0, 0, 0, 0, 0, 0] + sizes
            + numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }
    }

    private static let huge: [UInt8] = [0x13, 0x7F] + [UInt8](repeating: 0xFF, count: 7)

    static let documents: [(String, [UInt8])] = [
        ("an array of 2^63 - 1", binary([[0xAF] + huge])), ("a dictionary of 2^63 - 1", binary([[0xDF] + huge])),
        ("a string of 2^63 - 1", binary([[0x5F] + huge])), ("data of 2^63 - 1", binary([[0x4F] + huge])),
        ("text in UTF-16 of 2^63 - 1", binary([[0x6F] + huge])),
        ("an array in itself", binary([[0xD1, 1, 2], [0x51, 0x61], [0xA1, 2]])),
        ("a dictionary in itself", binary([[0xD1, 1, 0], [0x51, 0x61]])),
        (
            "arrays of ten of arrays of ten, twenty deep",
            binary(
                [[0xD1, 1, 2], [0x51, 0x61]] + (3...22).map { [0xAA] + [UInt8](repeating: $0, count: 10) } + [[0x09]])
        ),
        ("no objects", binary([], count: 0)), ("2^64 - 1 objects", binary([[0xD0]], count: .max)),
        ("a top beyond the objects", binary([[0xD0]], top: 1)), ("a top of 2^64 - 1", binary([[0xD0]], top: .max)),
        ("a table beyond the end", binary([[0xD0]], table: .max)),
        ("a table in the header", binary([[0xD0]], table: 0)),
        ("offsets of no bytes", binary([[0xD0]], sizes: [0, 1])),
        ("references of no bytes", binary([[0xD1, 1, 1], [0x51, 0x61]], sizes: [2, 0])),
        ("offsets of 255 bytes", binary([[0xD0]], sizes: [255, 1])),
        ("a key that is a number", binary([[0xD1, 1, 1], [0x10, 1]])),
        ("a null", binary([[0xD1, 1, 2], [0x51, 0x61], [0]])),
        ("a set", binary([[0xD1, 1, 2], [0x51, 0x61], [0xC0]])), ("a string at the top", binary([[0x51, 0x61]])),
        ("an unknown object", binary([[0x70]])),
    ]

    @Test("A frame of any broken document is told and closes the connection, and no other", arguments: documents)
    func document(_ row: (String, [UInt8])) throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            try client.send(framed: row.1)
            #expect(try [client.answer(), client.answer()] == ["failure protocolViolation", "closed"])
            #expect(try agent.status()["connections"] == 1)
            #expect(try agent.residentKilobytes() < 150_000)
        }
    }

    @Test("A frame cut at any byte is told; one that comes in two parts, cut at any byte, is whole")
    func cuts() throws {
        try AgentProcess.withAgent { agent in
            let message: DomainValues = ["type": "read", "request": 7, "domain": "a.b"]
            let payload = try PropertyListValue.dictionary(message).write(as: .binary)
            for length in 0..<payload.count {
                let client = try RawClient.greeted(agent.place.socket)
                try client.send(framed: Array(payload[..<length]))
                #expect(
                    try [client.answer(), client.answer()] == ["failure protocolViolation", "closed"], "\(length)")
            }
            let client = try RawClient.greeted(agent.place.socket)
            let frame = try Frame.encode(message)
            for length in 1..<frame.count {
                try client.send(Array(frame[..<length]))
                // What is there of it has come by the time that another is answered.
                _ = try agent.status()
                try client.send(Array(frame[length...]))
                #expect(try client.answer() == "values", "\(length)")
            }
        }
    }

    /// A value in so many arrays.
    private static func nested(_ depth: Int) -> PropertyListValue {
        (0..<depth).reduce("x") { value, _ in [value] }
    }

    private static func edit(_ entries: DomainValues) -> DomainValues {
        ["type": "edit", "request": 9, "domain": "a.b", "time": 0, "set": ["k": "v"]].merging(entries) { $1 }
    }

    private static func subscribe(_ entries: DomainValues) -> DomainValues {
        ["type": "subscribe", "request": 9, "from": "now", "mode": "everything"].merging(entries) { $1 }
    }

    private static let hello: DomainValues = ["type": "hello", "request": 9, "client": "x"]

    /// Requests whose entries are of the right kind, and at the edge; and the answer.
    static let edges: [(String, DomainValues, answer: String)] = [
        ("the greatest number", ["type": "status", "request": .unsigned(.max)], "status"),
        ("an edit at the end of time", edit(["time": .integer(.max)]), "edited"),
        ("an edit before all time", edit(["time": .integer(.min)]), "edited"),
        ("the greatest edit", edit(["session": .unsigned(.max), "edit": .unsigned(.max)]), "edited"),
        (
            "an edit in the way of none, before all time",
            edit(["time": .integer(.min), "session": 3, "edit": 0, "replacing": ["k": "other"]]), "edited"
        ),
        ("an edit of nothing", edit(["set": [:]]), "edited"),
        ("an edit that sets and removes a key", edit(["remove": ["k"]]), "edited"),
        ("a key of nothing, and one with a NUL", edit(["set": ["": 1, "\0": 2]]), "edited"),
        (
            "a removed key of 100,000 combining marks",
            edit(["remove": [.string(String(repeating: "\u{301}\u{323}", count: 50_000))]]),
            "failure protocolViolation"
        ),
        ("a key of a million characters", edit(["set": [String(repeating: "k", count: 1_000_000): 1]]), "edited"),
        ("a value as deep as a file may be", edit(["set": ["k": nested(499)]]), "edited"),
        ("a value deeper than that", edit(["set": ["k": nested(500)]]), "failure protocolViolation"),
        ("a value deeper than the codec", edit(["set": ["k": nested(510)]]), "failure protocolViolation"),
        (
            "a domain of 10,000 characters", edit(["domain": .string(String(repeating: "d", count: 10_000))]),
            "failure invalidDomainName"
        ),
        ("a domain with a NUL", edit(["domain": "a\0b"]), "failure invalidDomainName"),
        ("a host with a NUL", edit(["host": "a\0b"]), "failure invalidDomainName"),
        ("a directory with a NUL", edit(["user": "/a\0b"]), "failure protocolViolation"),
        ("a domain of anyone's", edit(["user": "/etc"]), "failure readOnly"),
        (
            "no such subscription", ["type": "unsubscribe", "request": 9, "subscription": .unsigned(.max)],
            "unsubscribed"
        ),
        ("a cursor of no log", subscribe(["from": "ffffffffffffffff:18446744073709551615"]), "subscribed"),
        (
            "a cursor beyond numbers", subscribe(["from": "ffffffffffffffff:18446744073709551616"]),
            "failure invalidCursor"
        ),
        (
            "a pattern of 512 stars", subscribe(["keys": [.string(String(repeating: "*a", count: 512))]]),
            "subscribed"
        ),
        (
            "a pattern of 513 stars", subscribe(["keys": [.string(String(repeating: "*a", count: 513))]]),
            "failure agentRefused"
        ),
        (
            "a pattern of 60,000 letters", subscribe(["keys": [.string(String(repeating: "a", count: 60_000))]]),
            "subscribed"
        ),
        (
            "a pattern of 70,000 letters", subscribe(["keys": [.string(String(repeating: "a", count: 70_000))]]),
            "failure agentRefused"
        ),
        ("1,000 patterns", subscribe(["keys": .array(Array(repeating: "*", count: 1_000))]), "subscribed"),
        ("1,001 patterns", subscribe(["keys": .array(Array(repeating: "*", count: 1_001))]), "failure agentRefused"),
        (
            "66,000 names",
            subscribe(["domains": .array((0..<66_000).map { .string("n\($0)") })]), "failure agentRefused"
        ),
        (
            "a widening of no subscription",
            ["type": "widen", "request": 9, "subscription": 7, "domains": ["a.b"]], "failure agentRefused"
        ),
        (
            "a narrowing by what is no name",
            ["type": "narrow", "request": 9, "subscription": 7, "domains": ["a/b"]], "failure invalidDomainName"
        ),
        ("a protocol of the past", hello.merging(["protocol": 0]) { $1 }, "failure protocolViolation"),
        ("a protocol before all", hello.merging(["protocol": .integer(.min)]) { $1 }, "failure protocolViolation"),
        ("a second greeting", hello.merging(["protocol": 1]) { $1 }, "welcome"),
        (
            "a type of a megabyte", ["type": .string(String(repeating: "t", count: 1 << 20)), "request": 9],
            "failure agentRefused"
        ),
    ]

    @Test("What is at the edge of what may be sent is answered, and all goes on", arguments: edges)
    func edge(_ row: (String, DomainValues, answer: String)) throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            try client.send(row.1)
            #expect(try client.answer() == row.answer)
            // With a record to send, and one to merge.
            try RawFile.replace(agent.place.path("a.b"), with: Array("{ k = theirs; m = 1; }".utf8))
            #expect(try agent.defaults("write", "a.b", "j", "1").status == 0)
            try agent.synchronize()
            #expect(try agent.defaults("read", "a.b", "m").output == "1\n")
        }
    }

    @Test(
        "A cursor of this log that is beyond its end begins with a gap",
        arguments: ["latest", "everything", "disconnect"])
    func cursorBeyond(mode: String) throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "1")
            let epoch = try agent.connect().welcome.cursor.epoch
            let client = try RawClient.greeted(agent.place.socket)
            try client.send(Self.subscribe(["from": .string("\(epoch):\(UInt64.max)"), "mode": .string(mode)]))
            let answers = try (0..<3).map { _ in try client.answer() }
            #expect(answers == ["subscribed", "gap", mode == "disconnect" ? "ended" : "initial"])
        }
    }

    // MARK: Floods

    private static func set(_ key: String, _ number: Int, _ place: AgentProcess.Place) throws {
        try RawFile.write(
            "<plist><dict><key>\(key)</key><integer>\(number)</integer></dict></plist>",
            to: place.path("org.defaultsd.agent"))
    }

    @Test("Of a flood of connections each one too many is told so, and those that are there are served")
    func connections() throws {
        try AgentProcess.withAgent(prepare: { try Self.set("MaximumConnections", 20, $0) }) { agent in
            let first = try RawClient.greeted(agent.place.socket)
            var others = try (1..<20).map { _ in try RawClient(agent.place.socket) }
            _ = try others.map { try $0.send(Self.hello.merging(["protocol": 1]) { $1 }) }
            for other in others { #expect(try other.answer() == "welcome") }
            for _ in 0..<1_000 {
                let client = try RawClient(agent.place.socket)
                let failure = try client.receive()
                #expect(failure?["code"] == "agentRefused")
                #expect(try client.answer() == "closed")
            }
            try first.send(["type": "status", "request": 2])
            #expect(try first.answer() == "status")
            #expect(try agent.residentKilobytes() < 150_000)
            others = []
            let isIn = try eventually { try agent.defaults("status").status == 0 }
            #expect(isIn)
        }
    }

    @Test("Of a flood of subscriptions each one too many is told so, and the others go on")
    func subscriptions() throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            var answers: [String: Int] = [:]
            for number in 2..<1_002 {
                try client.send(Self.subscribe(["request": .integer(Int64(number))]))
                var answer: String
                repeat { answer = try client.answer() } while answer == "bookmark"
                answers[answer, default: 0] += 1
            }
            #expect(answers == ["subscribed": 256, "failure agentRefused": 744])
            try agent.defaults("write", "a.b", "k", "1")
            var changes = 0
            while changes < 256 { if try client.answer() == "change" { changes += 1 } }
            #expect(try agent.residentKilobytes() < 150_000)
        }
    }

    @Test("Of a flood of requests that wait for the disk a few are taken, and the others wait in their place")
    func barriers() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "1")
            try agent.defaults("write", AgentSettings.domainName, "HoldDelay", "-int", "60000")
            try agent.synchronize()
            let client = try RawClient.greeted(agent.place.socket)
            // Gone, which is to be believed in a minute: until then nobody's `synchronize` is answered.
            unlink(agent.place.path("a.b"))
            let requests = try (2..<102).flatMap {
                try Frame.encode(["type": "synchronize", "request": .integer($0)])
            }
            try client.send(requests + Frame.encode(["type": "status", "request": 200]))
            // Others are served.
            #expect(try agent.status()["connections"] == 2)
            #expect(!client.hasAnswer)
        }
    }

    @Test("What large requests have taken is given back, and what many leave unfinished is bounded")
    func unfinished() throws {
        try AgentProcess.withAgent { agent in
            let large = try Frame.encode([
                "type": "explode", "request": 9, "junk": .data([UInt8](repeating: 0xAB, count: 60 << 20)),
            ])
            let clients = try (0..<3).map { _ in try RawClient.greeted(agent.place.socket) }
            for client in clients {
                try client.send(large)
                #expect(try client.answer() == "failure agentRefused")
            }
            #expect(try agent.residentKilobytes() < 200_000)

            // Now each leaves out the last byte.
            var refused = 0
            for client in clients {
                do {
                    try client.send(large.dropLast())
                    continue
                } catch {
                    // Closed before it had said it all.
                    #expect(try [client.answer(), client.answer()] == ["failure agentRefused", "closed"])
                    refused += 1
                }
            }
            #expect(refused >= 1)
            #expect(try agent.defaults("write", "a.b", "k", "1").status == 0)
            #expect(try agent.residentKilobytes() < 450_000)
        }
    }

    // MARK: Other users

    /// A place whose socket's directory is the usual one.
    private static func usual(_ place: AgentProcess.Place) -> (socket: String, environment: [String: String]) {
        let directory = PreferencesDirectory(path: place.preferences, isExplicit: false)
        let environment = place.environment.merging(["DEFAULTSD_SOCKET": "", "DEFAULTS_DIRECTORY": ""]) { $1 }
        let address = try? AgentAddress(for: directory, environment: Environment(environment))
        return (address?.socketPath ?? "", environment)
    }

    @Test("The agent's own directory is the user's alone, even where it was there for everyone to read")
    func openDirectory() throws {
        try AgentProcess.withPlace { place in
            let (socket, environment) = Self.usual(place)
            let directory = place.runtime + "/defaultsd"
            try RawFile.makeDirectory(directory, mode: 0o755)
            try RawFile.write("", to: socket + ".old")
            let log = try AgentAddress(
                for: PreferencesDirectory(path: place.preferences, isExplicit: false),
                environment: Environment(environment)
            ).logPath(for: PreferencesDirectory(path: place.preferences))
            // What was left there with a wide mode isn't written to.
            for path in [log, log + ".new"] {
                try RawFile.write("", to: path)
                chmod(path, 0o666)
            }
            let agent = try RunningProgram(Programs.defaultsd, [], environment: environment)
            let isReady = eventually {
                (try? Programs.run(Programs.defaults, ["status"], environment: environment).status) == 0
            }
            #expect(isReady)
            let outcome = try Programs.run(
                Programs.defaults, ["write", "a.b", "k", "v"], environment: environment)
            #expect(outcome.status == 0)
            #expect(try RawFile.status(directory).st_mode & 0o7777 == 0o700)
            #expect(try RawFile.status(socket).st_mode & 0o7777 == 0o600)
            #expect(try RawFile.status(log).st_mode & 0o7777 == 0o600)
            #expect(agent.isRunning)
        }
    }

    @Test(
        "Another's directory is no place for the socket, to the agent and to who would talk to it",
        .enabled(if: geteuid() == 0))
    func foreignDirectory() throws {
        try AgentProcess.withPlace { place in
            chown(place.runtime, 65_534, 65_534)
            try RawFile.write("", to: place.socket)
            for arguments in [[Programs.defaultsd], [Programs.defaults, "read", "a.b"]] {
                let outcome = try Programs.run(
                    arguments[0], Array(arguments[1...]), environment: place.environment)
                #expect(outcome.status != 0)
                #expect(outcome.errors.contains("belongs to the user with the number 65534"), "\(outcome)")
            }
        }
    }

    @Test(
        "Who listens at the socket as another user is told nothing",
        .enabled(if: AgentProcess.hasNobody && ForeignProcess.hasPython))
    func impostor() throws {
        try AgentProcess.withPlace { place in
            // As in /tmp: everyone may make a socket there.
            chmod(place.root, 0o755)
            chmod(place.runtime, 0o1777)
            let impostor = try ForeignProcess(
                python: """
                    import os, socket, sys
                    os.setgid(65534); os.setuid(65534)
                    s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); s.listen()
                    print("listening", flush=True)
                    print(s.accept()[0].recv(4096), flush=True)
                    """, [place.socket])
            #expect(impostor.line() == "listening")
            let outcome = try Programs.run(
                Programs.defaults, ["write", "a.b", "k", "secret"], environment: place.environment)
            #expect(outcome.status != 0)
            #expect(outcome.errors.contains("can't be reached"), "\(outcome)")
            #expect(impostor.line() == "b''")
        }
    }
}
