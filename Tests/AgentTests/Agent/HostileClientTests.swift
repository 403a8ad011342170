import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Clients that send malformed or excessive input, while the agent keeps serving all others.
@Suite("Hostile clients")
struct HostileClientTests {
    /// A value of each kind, with the kind's name.
    private static let samples: [(kind: String, value: PropertyListValue)] = [
        ("string", "x"), ("integer", 1), ("real", 1.5), ("boolean", true), ("data", .data([1])), ("array", [1]),
        ("date", .date(PropertyListDate(secondsSinceReferenceDate: 0))), ("dictionary", [:]), ("uid", .uid(1)),
    ]

    /// A valid request with the kind of each entry; a question mark marks an optional one.
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
                "set": "dictionary", "remove": "array?", "time": "integer?", "replaces": "boolean?",
                "session": "integer?", "edit": "integer", "replacing": "dictionary?", "expected": "dictionary?",
                "absent": "array?",
            ]) { $1 }),
        // If a lone `domain` weren't refused, the request would synchronize all domains.
        Request("synchronize", ["domains": [["domain": "a.b"]]], ["domains": "array?", "domain": "none?"]),
        Request(
            "subscribe", ["from": "now", "mode": "latest", "domains": ["*"], "keys": ["*"]],
            ["from": "string", "mode": "string", "domains": "array?", "keys": "array?"]),
        Request("unsubscribe", ["subscription": 1], ["subscription": "integer"]),
    ]

    @Test("A request with a missing or mistyped entry fails, and the next one is answered", arguments: requests)
    func kinds(_ request: Request) throws {
        try AgentProcess.withAgent { agent in
            let other = try RawClient.greeted(agent.place.socket)
            for (entry, kind) in request.kinds {
                var wrong: [(String, DomainValues)] = Self.samples.compactMap { sample in
                    if kind.hasPrefix(sample.kind) {
                        // An array that holds anything but strings is wrong as well.
                        if sample.kind != "array" { return nil }
                    }
                    return (sample.kind, request.message.merging([entry: sample.value]) { $1 })
                }
                if !kind.hasSuffix("?") {
                    wrong.append(("missing", request.message.filter { $0.key != entry }))
                }
                for (sample, message) in wrong {
                    let isGreeting = request.message["type"] == "hello"
                    let client = try isGreeting ? RawClient(agent.place.socket) : .greeted(agent.place.socket)
                    try client.send(message)
                    #expect(try client.answer() == "failure protocolViolation", "\(entry): \(sample)")
                    // Without a number, the client couldn't tell which request has failed.
                    let closes = isGreeting || entry == "request"
                    if !closes { try client.send(["type": "status", "request": 2]) }
                    #expect(try client.answer() == (closes ? "closed" : "status"), "\(entry): \(sample)")
                }
            }
            try other.send(["type": "status", "request": 2])
            #expect(try other.answer() == "status")
            #expect(agent.place.files == [])
        }
    }

    /// Returns a frame's payload: a binary property list of objects, with 1-byte references and 2-byte offsets.
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
        ("an array of 2^63 - 1 elements", binary([[0xAF] + huge])),
        ("a dictionary of 2^63 - 1 entries", binary([[0xDF] + huge])),
        ("a string of 2^63 - 1 bytes", binary([[0x5F] + huge])), ("data of 2^63 - 1 bytes", binary([[0x4F] + huge])),
        ("a UTF-16 string of 2^63 - 1 units", binary([[0x6F] + huge])),
        ("an array that contains itself", binary([[0xD1, 1, 2], [0x51, 0x61], [0xA1, 2]])),
        ("a dictionary that contains itself", binary([[0xD1, 1, 0], [0x51, 0x61]])),
        (
            "arrays of ten arrays each, twenty levels deep",
            binary(
                [[0xD1, 1, 2], [0x51, 0x61]] + (3...22).map { [0xAA] + [UInt8](repeating: $0, count: 10) } + [[0x09]])
        ),
        ("no objects", binary([], count: 0)), ("2^64 - 1 objects", binary([[0xD0]], count: .max)),
        ("a top object beyond the last", binary([[0xD0]], top: 1)),
        ("a top object with the index 2^64 - 1", binary([[0xD0]], top: .max)),
        ("an offset table beyond the end", binary([[0xD0]], table: .max)),
        ("an offset table in the header", binary([[0xD0]], table: 0)),
        ("0-byte offsets", binary([[0xD0]], sizes: [0, 1])),
        ("0-byte references", binary([[0xD1, 1, 1], [0x51, 0x61]], sizes: [2, 0])),
        ("255-byte offsets", binary([[0xD0]], sizes: [255, 1])),
        ("a key that is a number", binary([[0xD1, 1, 1], [0x10, 1]])),
        ("a null", binary([[0xD1, 1, 2], [0x51, 0x61], [0]])),
        ("a set", binary([[0xD1, 1, 2], [0x51, 0x61], [0xC0]])),
        ("a string as the top object", binary([[0x51, 0x61]])),
        ("an unknown object", binary([[0x70]])),
    ]

    @Test("A frame with a broken document fails and closes only its own connection", arguments: documents)
    func document(_ row: (String, [UInt8])) throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            try client.send(framed: row.1)
            #expect(try [client.answer(), client.answer()] == ["failure protocolViolation", "closed"])
            #expect(try agent.status()["connections"] == 1)
            #expect(try agent.residentKilobytes() < 150_000)
        }
    }

    @Test("A truncated frame is refused, and a frame received in two parts is read as one")
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
                // Once another client has been answered, the agent has received the first part.
                _ = try agent.status()
                try client.send(Array(frame[length...]))
                #expect(try client.answer() == "values", "\(length)")
            }
        }
    }

    /// Returns a string nested in the given number of arrays.
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

    /// Well-formed requests at the limits of what is allowed, each with its expected answer.
    static let edges: [(String, DomainValues, answer: String)] = [
        ("the greatest request number", ["type": "status", "request": .unsigned(.max)], "status"),
        ("an edit at the latest time", edit(["time": .integer(.max)]), "edited"),
        ("an edit at the earliest time", edit(["time": .integer(.min)]), "edited"),
        (
            "the greatest session and edit numbers", edit(["session": .unsigned(.max), "edit": .unsigned(.max)]),
            "edited"
        ),
        (
            "an edit that replaces another value, at the earliest time",
            edit(["time": .integer(.min), "session": 3, "edit": 0, "replacing": ["k": "other"]]), "edited"
        ),
        ("an edit without keys", edit(["set": [:]]), "edited"),
        ("an edit that sets and removes a key", edit(["remove": ["k"]]), "edited"),
        ("an empty key, and one with a NUL", edit(["set": ["": 1, "\0": 2]]), "edited"),
        (
            "a removed key of 100,000 combining marks",
            edit(["remove": [.string(String(repeating: "\u{301}\u{323}", count: 50_000))]]),
            "failure protocolViolation"
        ),
        ("a key of a million characters", edit(["set": [String(repeating: "k", count: 1_000_000): 1]]), "edited"),
        ("a value as deep as a file allows", edit(["set": ["k": nested(499)]]), "edited"),
        ("a value deeper than a file allows", edit(["set": ["k": nested(500)]]), "failure protocolViolation"),
        ("a value deeper than the codec allows", edit(["set": ["k": nested(510)]]), "failure protocolViolation"),
        (
            "a domain of 10,000 characters", edit(["domain": .string(String(repeating: "d", count: 10_000))]),
            "failure invalidDomainName"
        ),
        ("a domain with a NUL", edit(["domain": "a\0b"]), "failure invalidDomainName"),
        ("a host with a NUL", edit(["host": "a\0b"]), "failure invalidDomainName"),
        ("a directory with a NUL", edit(["user": "/a\0b"]), "failure protocolViolation"),
        ("a domain of the system", edit(["user": "/etc"]), "failure readOnly"),
        (
            "an unknown subscription", ["type": "unsubscribe", "request": 9, "subscription": .unsigned(.max)],
            "unsubscribed"
        ),
        ("a cursor of an unknown log", subscribe(["from": "ffffffffffffffff:18446744073709551615"]), "subscribed"),
        (
            "a cursor with a revision beyond 64 bits", subscribe(["from": "ffffffffffffffff:18446744073709551616"]),
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
            "a widening of an unknown subscription",
            ["type": "widen", "request": 9, "subscription": 7, "domains": ["a.b"]], "failure agentRefused"
        ),
        (
            "a narrowing by an invalid name",
            ["type": "narrow", "request": 9, "subscription": 7, "domains": ["a/b"]], "failure invalidDomainName"
        ),
        ("protocol version 0", hello.merging(["protocol": 0]) { $1 }, "failure protocolViolation"),
        (
            "the lowest protocol version", hello.merging(["protocol": .integer(.min)]) { $1 },
            "failure protocolViolation"
        ),
        ("a second greeting", hello.merging(["protocol": 1]) { $1 }, "welcome"),
        (
            "a type of one megabyte", ["type": .string(String(repeating: "t", count: 1 << 20)), "request": 9],
            "failure agentRefused"
        ),
    ]

    @Test("A request at a limit gets the expected answer, and the agent keeps working", arguments: edges)
    func edge(_ row: (String, DomainValues, answer: String)) throws {
        try AgentProcess.withAgent { agent in
            let client = try RawClient.greeted(agent.place.socket)
            try client.send(row.1)
            #expect(try client.answer() == row.answer)
            // One change to send, and one to merge.
            try RawFile.replace(agent.place.path("a.b"), with: Array("{ k = theirs; m = 1; }".utf8))
            #expect(try agent.defaults("write", "a.b", "j", "1").status == 0)
            try agent.synchronize()
            #expect(try agent.defaults("read", "a.b", "m").output == "1\n")
        }
    }

    @Test(
        "A subscription from a cursor beyond the end of the log begins with a gap",
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

    @Test("In a flood of connections, excess ones are refused and existing ones are still served")
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

    @Test("In a flood of subscriptions, excess ones are refused and accepted ones still get changes")
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

    @Test("A flood of requests that wait for the disk doesn't delay other clients")
    func barriers() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "k", "1")
            try agent.defaults("write", AgentSettings.domainName, "HoldDelay", "-int", "60000")
            try agent.synchronize()
            let client = try RawClient.greeted(agent.place.socket)
            // The agent believes the loss only after HoldDelay, a minute. Until then it answers no `synchronize`.
            unlink(agent.place.path("a.b"))
            let requests = try (2..<102).flatMap {
                try Frame.encode(["type": "synchronize", "request": .integer($0)])
            }
            try client.send(requests + Frame.encode(["type": "status", "request": 200]))
            // Other clients are served.
            #expect(try agent.status()["connections"] == 2)
            #expect(!client.hasAnswer)
        }
    }

    @Test("The agent releases the memory of large requests and limits that of unfinished ones")
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

            // Now each client omits the last byte.
            var refused = 0
            for client in clients {
                do {
                    try client.send(large.dropLast())
                    continue
                } catch {
                    // The agent closed the connection before it had received everything.
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

    /// Returns the default socket path of a location, and an environment that selects it.
    private static func usual(_ place: AgentProcess.Place) -> (socket: String, environment: [String: String]) {
        let directory = PreferencesDirectory(path: place.preferences, isExplicit: false)
        let environment = place.environment.merging(["DEFAULTSD_SOCKET": "", "DEFAULTS_DIRECTORY": ""]) { $1 }
        let address = try? AgentAddress(for: directory, environment: Environment(environment))
        return (address?.socketPath ?? "", environment)
    }

    @Test("The agent makes its directory and files private to the user, even if they existed with wider modes")
    func openDirectory() throws {
        try AgentProcess.withPlace { place in
            let (socket, environment) = Self.usual(place)
            let directory = place.runtime + "/defaultsd"
            try RawFile.makeDirectory(directory, mode: 0o755)
            try RawFile.write("", to: socket + ".old")
            let usual = PreferencesDirectory(path: place.preferences, isExplicit: false)
            let variables = Environment(environment)
            let location = LogLocation(
                for: usual, socketAt: try AgentAddress(for: usual, environment: variables).socketPath,
                environment: variables)
            let log = location.log
            try location.makeDirectory()
            // The agent must not write to existing files with wide modes.
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
        "The agent and the command refuse a socket directory that belongs to another user",
        .enabled(if: geteuid() == 0))
    func foreignDirectory() throws {
        try AgentProcess.withPlace { place in
            chown(place.runtime, 65_534, 65_534)
            try RawFile.write("", to: place.socket)
            for arguments in [[Programs.defaultsd], [Programs.defaults, "read", "a.b"]] {
                let outcome = try Programs.run(
                    arguments[0], Array(arguments[1...]), environment: place.environment)
                #expect(outcome.status != 0)
                #expect(outcome.errors.contains("belongs to user ID 65534"), "\(outcome)")
            }
        }
    }

    @Test(
        "A client sends nothing to a socket on which another user listens",
        .enabled(if: AgentProcess.hasNobody && ForeignProcess.hasPython))
    func impostor() throws {
        try AgentProcess.withPlace { place in
            // As in /tmp, everyone may create a socket there.
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
