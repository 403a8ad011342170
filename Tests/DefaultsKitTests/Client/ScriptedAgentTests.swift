import DefaultsCore
import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

@Suite("Agents that are older, slow or about to end")
struct ScriptedAgentTests {
    private typealias Reply = ScriptedAgent.Reply

    /// The values of a fake agent, whose script answers from them.
    private final class Domains: Sendable {
        private struct State {
            var values: [Domain: DomainValues]
            var revision: Revision = 0
            var stream: UInt64?
            var widenings = 0
            var conditional = 0
            var held: [NumberedMessage] = []
        }

        private let state: ForkSafeMutex<State>

        init(_ values: [Domain: DomainValues]) {
            state = ForkSafeMutex(State(values: values))
        }

        /// The number of conditional edits so far.
        var conditionalEdits: Int { state.withLock { $0.conditional } }

        /// Saves the values to their files, as an agent has done before it confirms that they are saved.
        func save(to path: String) {
            state.withLock { state in
                for (domain, values) in state.values {
                    let document = PropertyListValue.dictionary(values)
                    try? RawFile.write(document.write(as: .xml), to: "\(path)/\(domain.name).plist")
                }
            }
        }

        /// Answers as an agent that can widen a stream a number of times, and then refuses.
        func reply(to numbered: NumberedRequest, widenings: Int = 0) -> Reply {
            state.withLock { .messages(Self.messages(for: numbered, widenings, in: &$0)) }
        }

        /// Answers like `reply`, but holds back the answer to a conditional edit until an ordinary one has come.
        func slowReply(to numbered: NumberedRequest) -> Reply {
            state.withLock { state in
                let messages = Self.messages(for: numbered, 0, in: &state)
                guard case .edit(let request) = numbered.request else { return .messages(messages) }
                if request.expecting != nil {
                    state.held = messages
                    return .messages([])
                }
                defer { state.held = [] }
                return .messages(state.held + messages)
            }
        }

        private static func messages(
            for numbered: NumberedRequest, _ widenings: Int, in state: inout State
        ) -> [NumberedMessage] {
            var messages: [NumberedMessage] = []
            func send(_ message: Message, to number: UInt64) {
                messages.append(NumberedMessage(number: number, message: message))
            }
            let cursor = ScriptedAgent.cursor(state.revision)
            func sendValues(_ names: [String], to stream: UInt64) {
                for (domain, values) in state.values where names.contains(domain.name.description) {
                    send(.event(.initial(DomainSnapshot(domain: domain, values: values, cursor: cursor))), to: stream)
                }
                send(.event(.bookmark(cursor)), to: stream)
            }
            let number = numbered.number
            switch numbered.request {
            case .subscribe(let start, let filter, _):
                state.stream = number
                send(.subscribed(cursor), to: number)
                let names = start == .snapshot ? state.values.keys.filter { filter.includes($0) } : []
                sendValues(names.map(\.name.description), to: number)
            case .widen(let stream, let names) where state.widenings < widenings:
                state.widenings += 1
                send(.widened(cursor), to: number)
                sendValues(names.map(\.description), to: stream)
            case .widen, .narrow:
                send(.failure(DefaultsError(.agentRefused, "This agent doesn't know the request.")), to: number)
            case .unsubscribe(let stream):
                if stream == state.stream { state.stream = nil }
                send(.unsubscribed, to: number)
            case .read(let domain, _):
                let snapshot = DomainSnapshot(domain: domain, values: state.values[domain] ?? [:], cursor: cursor)
                send(.values(snapshot), to: number)
            case .edit(let request):
                if request.expecting != nil { state.conditional += 1 }
                state.revision += 1
                let cursor = ScriptedAgent.cursor(state.revision)
                var changes: [DefaultsCore.KeyChange] = []
                for (key, value) in request.values {
                    changes.append(
                        DefaultsCore.KeyChange(key: key, old: state.values[request.domain]?[key], new: value))
                    state.values[request.domain, default: [:]][key] = value
                }
                let changeSet = ChangeSet(
                    domain: request.domain, source: request.writer, changes: changes, edit: request.identity)
                let record = LogRecord(revision: state.revision, time: .now(), event: .change(changeSet))
                if let stream = state.stream { send(.event(.record(record, cursor: cursor)), to: stream) }
                send(.edited(cursor), to: number)
            case .synchronize(let domains):
                for domain in domains ?? [] {
                    // Another client's change, which a follower receives before the answer.
                    state.revision += 1
                    let changes = [DefaultsCore.KeyChange(key: "theirs", old: nil, new: 1)]
                    let record = LogRecord(
                        revision: state.revision, time: .now(),
                        event: .change(ChangeSet(domain: domain, source: .file, changes: changes)))
                    let cursor = ScriptedAgent.cursor(state.revision)
                    if let stream = state.stream { send(.event(.record(record, cursor: cursor)), to: stream) }
                }
                send(.synchronized(ScriptedAgent.cursor(state.revision), failures: []), to: number)
            default: send(.failure(DefaultsError(.agentRefused, "Not in the script.")), to: number)
            }
            return messages
        }
    }

    private static func domain(_ name: String) throws -> Domain { Domain(try DomainName(name)) }

    private static func defaults(_ name: String, _ client: Client) throws -> UserDefaults {
        try #require(UserDefaults(suiteName: name, in: client))
    }

    @Test(
        "Every suite is followed through an agent that can't widen a stream, and is read through one that refuses more",
        arguments: [(0, 4), (1, 2)])
    func widening(limit: Int, followed: Int) throws {
        let names = ["a.one", "a.two", "a.three", "a.four"]
        var values: [Domain: DomainValues] = [:]
        for (number, name) in names.enumerated() { values[try Self.domain(name)] = ["k": .integer(Int64(number))] }
        let domains = Domains(values)
        try ScriptedAgent.with({ request, _ in domains.reply(to: request, widenings: limit) }) { agent, environment in
            let client = Client(.success(try Location(environment: environment)))
            defer { client.close() }
            let suites = try names.map { try Self.defaults($0, client) }
            for (number, defaults) in suites.enumerated() { #expect(defaults.integer(forKey: "k") == number) }
            let follower = ChangeFollower(names: Set(try names.map { try DomainName($0) }))
            client.add(follower)
            defer { client.remove(follower) }
            // The values of all suites are still here, and edits of each take effect and stay.
            for (number, defaults) in suites.enumerated() {
                #expect(defaults.integer(forKey: "k") == number)
                defaults.set(number + 10, forKey: "k")
                #expect(defaults.synchronize())
                #expect(defaults.integer(forKey: "k") == number + 10)
                #expect(defaults.integer(forKey: "theirs") == 1)
            }
            var seen: Set<String> = []
            for case .record(let record, _, false) in follower.dequeue() {
                if case .change = record.event { seen.insert(record.domain.name.description) }
            }
            #expect(seen == Set(names.prefix(followed)))
            #expect(agent.connections.load(ordering: .relaxed) == 1)
        }
    }

    @Test("An answer that arrives right before the connection ends counts", arguments: [false, true])
    func lastAnswer(isConditional: Bool) throws {
        let domains = Domains([try Self.domain("a.one"): ["k": 1]])
        try ScriptedAgent.with({ request, agent in
            let reply = domains.reply(to: request)
            domains.save(to: agent.path)
            guard agent.connections.load(ordering: .relaxed) == 1, case .messages(let messages) = reply else {
                return reply
            }
            switch request.request {
            case .edit where isConditional, .synchronize: return .last(messages)
            default: return reply
            }
        }) { agent, environment in
            let client = Client(.success(try Location(environment: environment)))
            defer { client.close() }
            let defaults = try Self.defaults("a.one", client)
            #expect(defaults.integer(forKey: "k") == 1)
            if isConditional {
                try defaults.update(DefaultsKey<Int>("k", default: 0)) { $0 += 1 }
                #expect(domains.conditionalEdits == 1)
            } else {
                defaults.set(2, forKey: "k")
                #expect(defaults.synchronize())
            }
            #expect(defaults.integer(forKey: "k") == 2)
            #expect(defaults.synchronize())
            #expect(defaults.integer(forKey: "k") == 2)
        }
    }

    @Test("A value that is set while an update waits for its answer is sent meanwhile, and stands")
    func setAfterUpdate() throws {
        let domains = Domains([try Self.domain("a.one"): ["k": 1]])
        try ScriptedAgent.with({ request, _ in domains.slowReply(to: request) }) { _, environment in
            let client = Client(.success(try Location(environment: environment)))
            defer { client.close() }
            let defaults = try Self.defaults("a.one", client)
            let isUpdated = Atomic(false)
            withBackgroundThread { _ in
                guard let defaults = UserDefaults(suiteName: "a.one", in: client) else { return }
                try? defaults.update(DefaultsKey<Int>("k", default: 0)) { $0 += 1 }
                isUpdated.store(true, ordering: .releasing)
            } while: {
                // The agent answers the update only after the edit below.
                #expect(eventually { domains.conditionalEdits == 1 })
                defaults.set(50, forKey: "k")
                #expect(defaults.integer(forKey: "k") == 50)
                #expect(eventually { isUpdated.load(ordering: .acquiring) })
                #expect(defaults.synchronize())
                #expect(defaults.integer(forKey: "k") == 50)
            }
        }
    }
}
