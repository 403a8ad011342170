import DefaultsCore
import PropertyList

/// The requests and streams of a bridge's client, which outlive a connection to the agent.
///
/// The client's requests keep their numbers. Pure: it makes and handles the entries of messages, and sends nothing.
struct BridgedRequests {
    /// A request that hasn't been answered.
    private struct Pending {
        /// The position of the request among all.
        let position: Int
        var fields: DomainValues
        /// The time of an edit, with which it is sent again.
        let time: Timestamp
        /// The log of the agent to which an edit was sent first.
        let epoch: Epoch?

        /// Whether the request is an edit that the agent with another log can't recognize.
        func isUnknown(in log: Epoch?) -> Bool {
            fields["type"] == "edit" && epoch != log && fields["replacing"] == nil
        }
    }

    private struct Stream {
        var request: DomainValues
        /// The domains that the client wants.
        var filter: SubscriptionFilter
        /// Whether the client knows that the stream has begun.
        var hasBegun = false
        /// The names that were added, whose values haven't all arrived.
        var arriving: [DomainName] = []

        init(_ request: DomainValues) throws(DefaultsError) {
            self.request = request
            filter = SubscriptionFilter(domains: try Fields(request).strings("domains").map { GlobPattern($0) })
        }
    }

    private var pending: [UInt64: Pending] = [:]
    private var streams: [UInt64: Stream] = [:]
    /// The edits whose former values were asked for, by the number of that request.
    private var readings: [UInt64: UInt64] = [:]
    /// The subscriptions that the bridge itself widens, by the number of that request.
    private var widenings: [UInt64: UInt64] = [:]
    /// The log of the agent to which requests are sent.
    private var epoch: Epoch?
    private var count = 0
    private var edits: Int64 = 0
    /// The number of the last request that the bridge itself has made.
    private var last = Self.firstOwnNumber
    private let session: UInt64

    /// The number below which those of the client's requests must be.
    static let firstOwnNumber: UInt64 = 1 << 53

    init(session: UInt64 = .random(in: 1...UInt64(Int64.max))) { self.session = session }

    /// Whether every request has been answered.
    var isAnswered: Bool { pending.isEmpty }

    /// Adds a client's request.
    ///
    /// - Parameters:
    ///   - request: The request's entries.
    ///   - now: The current time.
    /// - Returns: The messages to send to the agent.
    /// - Throws: The reason why the request can't be made.
    mutating func add(_ request: DomainValues, at now: Timestamp) throws(DefaultsError) -> [DomainValues] {
        var request = request
        let fields = Fields(request)
        let number = try fields.unsigned("request")
        guard number < Self.firstOwnNumber else { throw Fields.wrong("request", not: "less than 2^53") }
        guard number > 0, pending[number] == nil, streams[number] == nil else {
            throw Fields.wrong("request", not: "a number that no unanswered request and no subscription has")
        }
        var messages: [DomainValues] = []
        switch try fields.string("type") {
        case "hello", "handOver":
            throw DefaultsError(.agentRefused, "The bridge connects by itself, so it takes no such request.")
        case "subscribe": streams[number] = try Stream(request)
        case "edit" where request["session"] == nil:
            guard request["edit"] == nil else { throw Fields.wrong("edit", not: "left out without \"session\"") }
            edits += 1
            (request["session"], request["edit"]) = (.number(session), .integer(edits))
            // The values are needed if the edit must be sent again.
            if request["expected"] == nil { messages.append(reading(of: request, for: number)) }
        default: break
        }
        count += 1
        pending[number] = Pending(position: count, fields: request, time: now, epoch: epoch)
        return messages + [request]
    }

    /// Withdraws a request that was added, but can't be sent.
    mutating func withdraw(_ request: DomainValues) {
        guard let number = try? Fields(request).unsigned("request") else { return }
        pending[number] = nil
        if streams[number]?.hasBegun == false { streams[number] = nil }
    }

    private mutating func reading(of edit: DomainValues, for number: UInt64) -> DomainValues {
        last += 1
        readings[last] = number
        var reading = edit.filter { ["domain", "host", "user"].contains($0.key) }
        (reading["type"], reading["request"]) = ("read", .number(last))
        let fields = Fields(edit)
        if (try? fields.flag("replaces")) != true, let set = try? fields.dictionary("set"),
            let removed = try? fields.strings("remove")
        {
            reading["keys"] = .array((Array(set.keys) + removed).map { .string($0) })
        }
        return reading
    }

    /// Handles a message from the agent.
    ///
    /// - Parameter message: The message's entries.
    /// - Returns: The messages for the client.
    /// - Throws: If the message isn't one.
    mutating func handle(_ message: DomainValues) throws(DefaultsError) -> [DomainValues] {
        let fields = Fields(message)
        let (number, type) = (try fields.unsigned("request"), try fields.string("type"))
        if number == 0 {
            // The agent closes the connection, so it would refuse everything again.
            let all = pending.sorted { $0.key < $1.key }
            pending = [:]
            streams = streams.filter(\.value.hasBegun)
            if all.isEmpty { return [message] }
            let reason = try fields.string("message")
            return all.map { number, request in
                request.fields["type"] == "edit"
                    ? Self.unknownOutcome(of: number, because: reason)
                    : message.merging(["request": .number(number)]) { $1 }
            }
        }
        if number >= Self.firstOwnNumber {
            if let edit = readings.removeValue(forKey: number), type == "values" {
                pending[edit]?.fields["replacing"] = message["values"]
            }
            // A subscription that lacks names must not go on as if it had them.
            guard let subscription = widenings.removeValue(forKey: number), type == "failure" else { return [] }
            streams[subscription] = nil
            return [message.merging(["request": .number(subscription)]) { $1 }]
        }
        guard let request = pending.removeValue(forKey: number)?.fields else {
            // The client knows that a subscription that goes on has begun.
            if type == "subscribed" { return [] }
            handleEvent(type, fields, of: number)
            return [message]
        }
        if type != "failure" {
            handleAnswer(type, fields, to: request, numbered: number)
        } else if request["type"] == "subscribe" {
            streams[number] = nil
        }
        return [message]
    }

    /// Handles an event, or the failure of a subscription to go on.
    private mutating func handleEvent(_ event: String, _ fields: Fields, of number: UInt64) {
        if let cursor = fields.values["cursor"] { streams[number]?.request["from"] = cursor }
        if event == "bookmark", let names = streams[number]?.arriving {
            streams[number]?.filter.insert(names)
            streams[number]?.arriving = []
        }
        if event == "ended" || event == "failure" { streams[number] = nil }
    }

    private mutating func handleAnswer(
        _ type: String, _ fields: Fields, to request: DomainValues, numbered number: UInt64
    ) {
        let subscription = (try? Fields(request).unsigned("subscription")) ?? 0
        let names = ((try? Fields(request).strings("domains")) ?? []).compactMap { try? DomainName($0) }
        switch type {
        case "subscribed":
            streams[number]?.hasBegun = true
            if request["from"] == "now" { streams[number]?.request["from"] = fields.values["cursor"] }
        case "unsubscribed": streams[subscription] = nil
        case "widened": streams[subscription]?.arriving += names
        case "narrowed":
            streams[subscription]?.arriving.removeAll { names.contains($0) }
            streams[subscription]?.filter.remove(names)
        default: break
        }
    }

    /// Begins with the next agent, or the first one.
    ///
    /// - Parameter log: The log of the agent.
    /// - Returns: The messages that resume streams and repeat unanswered requests; and, if the agent has another log,
    ///   the answers to edits whose outcomes are unknown.
    mutating func resume(in log: Epoch) -> (messages: [DomainValues], answers: [DomainValues]) {
        (epoch, readings, widenings) = (log, [:], [:])
        var messages: [DomainValues] = []
        for (number, stream) in streams.sorted(by: { $0.key < $1.key }) where stream.hasBegun {
            let domains = PropertyListValue.array(stream.filter.domains.map { .string($0.text) })
            messages.append(stream.request.merging(["domains": domains]) { $1 })
            if stream.arriving.isEmpty { continue }
            last += 1
            widenings[last] = number
            messages.append([
                "type": "widen", "request": .number(last), "subscription": .number(number),
                "domains": .array(stream.arriving.map { .string($0.description) }),
            ])
        }
        let unknown = pending.filter { $1.isUnknown(in: log) }.keys.sorted()
        for number in unknown { pending[number] = nil }
        for request in pending.values.sorted(by: { $0.position < $1.position }) {
            var fields = request.fields
            if fields["type"] == "edit", fields["time"] == nil { fields["time"] = .integer(request.time.nanoseconds) }
            messages.append(fields)
        }
        return (messages, unknown.map { Self.unknownOutcome(of: $0, because: "The agent has lost its log.") })
    }

    /// Answers an edit that is too large with the values that it replaces, unless the agent recognizes it without them.
    mutating func answer(toUnknown edit: DomainValues) -> DomainValues? {
        guard let number = try? Fields(edit).unsigned("request") else { return nil }
        pending[number]?.fields["replacing"] = nil
        guard pending[number]?.isUnknown(in: epoch) == true else { return nil }
        pending[number] = nil
        return Self.unknownOutcome(of: number, because: "The agent has lost its log.")
    }

    private static func unknownOutcome(of number: UInt64, because reason: String) -> DomainValues {
        DefaultsError(
            .agentUnavailable, "\(reason) The edit may have been made.", remedy: "Read the values before you try again."
        ).fields.merging(["type": "failure", "request": .number(number)]) { $1 }
    }
}
