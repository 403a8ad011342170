import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Protocol messages")
struct MessageTests {
    private static let app = AppIdentity(pid: 42, executable: "/usr/bin/app")
    private static let cursor = Cursor(epoch: Epoch(value: 0xFEED), revision: .max)

    private static let domains: [Domain] = ["org.example.app", "日本語", "NSGlobalDomain"].compactMap {
        guard let name = try? DomainName($0) else { return nil }
        return Domain(name, host: name.isGlobal ? .only("AB-1") : .any)
    }

    private static let users: [DomainUser] = [.managed, .any(directory: "/etc/xdg"), .any(directory: "/")]
    private static let layers: [Domain] = users.flatMap { user in
        domains.map { Domain($0.name, host: $0.host, user: user) }
    }

    private static let values: DomainValues = [
        "": "empty key", "real": .real(-0.0), "nan": .real(.nan), "single": .real32(0.1), "large": .unsigned(.max),
        "small": .integer(.min), "flag": false, "bytes": .data([0, 255]), "nested": [["a": []], [:]], "uid": .uid(9),
        "date": .date(PropertyListDate(secondsSinceReferenceDate: 0.25)), "text": "é\u{0}\u{FFFF}",
    ]

    /// Encodes and decodes a message, as sending it does.
    private func send(_ fields: DomainValues) throws -> Fields {
        var decoder = FrameDecoder(limits: PropertyListLimits())
        decoder.append(try Frame.encode(fields))
        let received = try #require(try decoder.next())
        #expect(try decoder.next() == nil)
        return received
    }

    static let requests: [Request] = {
        var requests: [Request] = [
            .hello(versions: 1...1, client: "test", version: nil),
            .hello(versions: 1...2, client: "test", version: "0.3.0"), .domains, .synchronize(nil), .synchronize([]),
            .synchronize(Set(domains)), .status,
            .unsubscribe(.max), .widen(.max, domains.map(\.name)), .narrow(0, []),
        ]
        requests += (domains + layers).map { .read($0) }
        for domain in domains {
            for replacesAll in [true, false] {
                var changed = Difference(uniqueKeysWithValues: values.map { ($0, .some($1)) })
                changed["gone"] = .some(nil)
                requests.append(
                    .edit(
                        EditRequest(
                            domain: domain, values: changed, replacesAll: replacesAll,
                            time: Timestamp(nanoseconds: .min),
                            writer: .app(app), expecting: replacesAll ? changed : nil)))
            }
        }
        for start in [Subscription.Start.now, .snapshot, .after(cursor)] {
            for mode in Subscription.Mode.allCases {
                let filter = SubscriptionFilter(
                    domains: [GlobPattern("a*\\*")], keys: [GlobPattern(""), GlobPattern("?")])
                requests += [.subscribe(start, filter, mode), .subscribe(start, SubscriptionFilter(), mode)]
            }
        }
        return requests
    }()

    @Test("A request is decoded as it was encoded", arguments: requests)
    func request(request: Request) throws {
        let sent = NumberedRequest(number: .max, request: request)
        #expect(try NumberedRequest(send(sent.fields), from: Self.app) == sent)
    }

    @Test("A client can't choose the writer of its edits")
    func writer() throws {
        let edit = EditRequest(
            domain: Self.domains[0], values: ["a": 1], time: Timestamp(nanoseconds: 0), writer: .file)
        let sent = NumberedRequest(number: 1, request: .edit(edit))
        guard case .edit(let received) = try NumberedRequest(send(sent.fields), from: Self.app).request else {
            Issue.record("The request isn't an edit.")
            return
        }
        #expect(received.writer == .app(Self.app))
    }

    static let messages: [Message] = {
        let snapshot = DomainSnapshot(domain: domains[0], values: values, cursor: cursor)
        let changes = values.map { KeyChange(key: $0, old: nil, new: $1) } + [KeyChange(key: "x", old: 1, new: nil)]
        let overruled = [
            Overruled(key: "x", value: nil, writer: .agent), Overruled(key: "y", value: 1, writer: .app(app)),
            Overruled(key: "z", value: 1, writer: .file, reason: .olderVersion(nil)),
            Overruled(key: "zz", value: nil, writer: .file, reason: .olderVersion(Timestamp(nanoseconds: 7))),
        ]
        let events: [LogRecord.Event] = [
            .change(ChangeSet(domain: domains[2], source: .app(app), changes: changes, overruled: overruled)),
            .change(ChangeSet(domain: domains[0], source: .file, changes: [])), .damaged(domains[1], reason: "torn"),
            .unknown(domains[2]), .unknown(layers[0]), .damaged(layers[3], reason: "torn"),
            .unsaved(domains[0], reason: "full"), .recovered(domains[1]),
        ]
        let failures = [DefaultsError(.notSaved, errno: 28, "It can't be saved"), DefaultsError(.locked, "Wait.")]
        var messages: [Message] = [
            .welcome(
                Welcome(
                    pid: 2, directory: "/d",
                    system: SystemDirectories(anyUser: ["/etc/xdg", "/usr/local/etc"], managed: "/m"), cursor: cursor)),
            .welcome(Welcome(pid: 2, directory: "/d", system: .none, cursor: cursor)),
            .values(snapshot), .domains(domains),
            .domains(layers), .domains([]), .edited(cursor), .synchronized(cursor, failures: failures),
            .subscribed(cursor), .widened(cursor), .narrowed, .unsubscribed, .status(values),
            .failure(DefaultsError(.damaged, "It is damaged.")),
            .failure(DefaultsError(.notSaved, errno: 28, "It can't be saved")),
            .event(.initial(snapshot)), .event(.gap(from: cursor, to: cursor)), .event(.bookmark(cursor)),
            .event(.ended),
        ]
        for event in events {
            let record = LogRecord(
                revision: .max, time: Timestamp(nanoseconds: -1), made: Timestamp(nanoseconds: -2), event: event)
            messages.append(.event(.record(record, cursor: cursor)))
        }
        return messages
    }()

    @Test("An edit without a time counts as made when it arrives, so that no clock makes it late")
    func timelessEdit() throws {
        let request = EditRequest(domain: Self.domains[0], values: ["a": 1], writer: .app(Self.app))
        var fields = NumberedRequest(number: 1, request: .edit(request)).fields
        fields["time"] = nil
        let before = Timestamp.now()
        guard case .edit(let edit) = try NumberedRequest(send(fields), from: Self.app).request else {
            Issue.record("The request must stay an edit.")
            return
        }
        #expect(edit.time >= before && edit.time <= .now())
    }

    @Test("A message is decoded as it was encoded", arguments: messages)
    func message(message: Message) throws {
        let sent = NumberedMessage(number: 3, message: message)
        let received = try NumberedMessage(send(sent.fields))
        #expect(received.number == 3)
        #expect(String(describing: received.message).count == String(describing: message).count)
        // The fields contain everything that a message holds.
        #expect(PropertyListValue.dictionary(received.fields) == .dictionary(sent.fields))
        switch (message, received.message) {
        case (.values(let first), .values(let second)), (.event(.initial(let first)), .event(.initial(let second))):
            #expect(first.domain == second.domain && first.values == second.values && first.cursor == second.cursor)
        case (.event(.record(let first, let at)), .event(.record(let second, let then))):
            #expect(first == second && at == then)
        case (.domains(let first), .domains(let second)): #expect(first == second)
        case (.welcome(let first), .welcome(let second)):
            #expect(first.system == second.system && first.version == second.version)
        case (.failure(let first), .failure(let second)): #expect(first == second)
        default: break
        }
    }

    @Test(
        "A welcome message may omit the system directories but must give absolute paths otherwise",
        arguments: [
            (["system": ["etc"]], "The entry \"system\" must be an array of absolute paths."),
            (["managed": "etc"], "The entry \"managed\" must be an absolute path."), ([:], ""),
        ] as [(DomainValues, String)])
    func welcome(entries: DomainValues, sentence: String) throws {
        let fields = Fields(entries)
        guard !sentence.isEmpty else {
            #expect(try fields.systemDirectories() == .none)
            return
        }
        let error = #expect(throws: DefaultsError.self) { try fields.systemDirectories() }
        #expect(error == DefaultsError(.protocolViolation, sentence))
    }

    @Test("An error with an unknown code is decoded as a refusal by the agent")
    func unknownError() throws {
        let fields = try send(["request": 1, "type": "failure", "code": "newer", "message": "It is new."])
        guard case .failure(let error) = try NumberedMessage(fields).message else {
            Issue.record("The message isn't a failure.")
            return
        }
        #expect(error == DefaultsError(.agentRefused, "It is new."))
    }

    @Test("An unknown request is refused without a protocol violation")
    func unknownRequest() throws {
        let fields = Fields(["request": 1, "type": "dance"])
        let error = #expect(throws: DefaultsError.self) { try NumberedRequest(fields, from: Self.app) }
        #expect(error == DefaultsError(.agentRefused, "This agent doesn't know the request \"dance\"."))
    }

    @Test(
        "The error for a protocol violation names the entry",
        arguments: [
            ([:], "The entry \"request\" must be a non-negative integer."),
            (["request": -1], "The entry \"request\" must be a non-negative integer."),
            (["request": 1], "The entry \"type\" must be a string."),
            (["request": 1, "type": "read"], "The entry \"domain\" must be a string."),
            (["request": 1, "type": "read", "domain": "a", "host": 3], "The entry \"host\" must be a string."),
            (
                ["request": 1, "type": "read", "domain": "a", "user": "etc/xdg"],
                "The entry \"user\" must be \"managed\" or an absolute path."
            ),
            (
                ["request": 1, "type": "read", "domain": "a", "user": ""],
                "The entry \"user\" must be \"managed\" or an absolute path."
            ),
            (["request": 1, "type": "read", "domain": "a", "user": true], "The entry \"user\" must be a string."),
            (
                ["request": 1, "type": "edit", "domain": "a", "remove": [1], "set": [:], "time": 0],
                "The entry \"remove\" must be an array of strings."
            ),
            (
                ["request": 1, "type": "edit", "domain": "a", "set": [], "time": 0],
                "The entry \"set\" must be a dictionary."
            ),
            (
                ["request": 1, "type": "subscribe", "from": "now", "mode": "all"],
                "The entry \"mode\" must be \"latest\", \"everything\" or \"disconnect\"."
            ),
        ] as [(DomainValues, String)])
    func protocolViolations(fields: DomainValues, sentence: String) throws {
        let fields = try Fields(.dictionary(fields), of: "A message")
        let error = #expect(throws: DefaultsError.self) { try NumberedRequest(fields, from: Self.app) }
        #expect(error == DefaultsError(.protocolViolation, sentence))
    }

    @Test(
        "An error's remedy is separated from its message only if it is the message's end",
        arguments: [
            ("It broke. Run `x`.", "Run `x`.", "It broke.", "Run `x`."),
            ("It broke. Run `x`.", nil, "It broke. Run `x`.", nil), ("It broke.", "", "It broke.", nil),
            ("It broke. Run `x`.", "Run `y`.", "It broke. Run `x`.", nil), ("Run.", "Run.", "Run.", nil),
            ("caf\u{E9} Cafe\u{301}", "Caf\u{E9}", "caf\u{E9} Cafe\u{301}", nil),
        ] as [(String, String?, String, String?)])
    func remedy(message: String, remedy: String?, what: String, found: String?) throws {
        var fields: DomainValues = ["code": "locked", "message": .string(message)]
        fields["remedy"] = remedy.map { .string($0) }
        let error = try DefaultsError(Fields(fields))
        #expect(error.what == what && error.remedy == found && error.description == message)
    }
}
