import PropertyList

extension NumberedRequest {
    package var fields: DomainValues {
        var fields = request.fields
        fields["request"] = .number(number)
        return fields
    }

    /// Creates a request from a message's fields.
    ///
    /// `app` is the sender as identified by the socket, since a client can't choose the writer of its edits.
    package init(_ fields: Fields, from app: AppIdentity) throws(DefaultsError) {
        let number = try fields.unsigned("request")
        // The agent's own messages about a connection have this number.
        if number == 0 { throw Fields.wrong("request", not: "at least 1") }
        try fields.checkKeys()
        self.init(number: number, request: try Request(fields, from: app))
    }
}

extension Request {
    fileprivate var fields: DomainValues {
        switch self {
        case .hello(let versions, let client, let version):
            ["type": "hello", "protocol": .integer(versions.lowerBound), "client": .string(client)]
                .merging(versions.count > 1 ? ["newest": .integer(versions.upperBound)] : [:]) { $1 }
                .merging(version.map { ["version": .string($0)] } ?? [:]) { $1 }
        case .read(let domain, let keys):
            domain.fields.merging(["type": "read"]) { $1 }
                .merging(keys.map { ["keys": .array($0.map { .string($0) })] } ?? [:]) { $1 }
        case .domains: ["type": "domains"]
        case .edit(let edit): edit.fields
        case .synchronize(nil): ["type": "synchronize"]
        case .synchronize(let domains?):
            ["type": "synchronize", "domains": .array(domains.sorted().map { .dictionary($0.fields) })]
        case .subscribe(let start, let filter, let mode):
            [
                "type": "subscribe", "from": .string(start.text), "mode": .string(mode.rawValue),
                "domains": .array(filter.domains.map { .string($0.text) }),
                "keys": .array(filter.keys.map { .string($0.text) }),
            ]
        case .widen(let number, let names):
            ["type": "widen", "subscription": .number(number), "domains": Self.array(names)]
        case .narrow(let number, let names):
            ["type": "narrow", "subscription": .number(number), "domains": Self.array(names)]
        case .unsubscribe(let number): ["type": "unsubscribe", "subscription": .number(number)]
        case .history(let history): history.fields
        case .status: ["type": "status"]
        case .handOver: ["type": "handOver"]
        }
    }

    private static func array(_ names: [DomainName]) -> PropertyListValue {
        .array(names.map { .string($0.description) })
    }

    fileprivate init(_ fields: Fields, from app: AppIdentity) throws(DefaultsError) {
        switch try fields.string("type") {
        case "hello":
            self = .hello(
                versions: try fields.protocolVersions(), client: try fields.string("client"),
                version: try fields.optionalString("version"))
        case "read":
            self = .read(try fields.domain(), keys: fields.values["keys"] == nil ? nil : try fields.strings("keys"))
        case "domains": self = .domains
        case "edit":
            self = .edit(try EditRequest(fields, from: app))
        case "synchronize":
            // A request without `domains` is for all domains, so a mistaken `domain` must not be ignored.
            guard fields.values["domain"] == nil else { throw Fields.wrong("domain", not: "left out for \"domains\"") }
            self = .synchronize(fields.values["domains"] == nil ? nil : Set(try fields.domains()))
        case "subscribe":
            guard let mode = Subscription.Mode(rawValue: try fields.string("mode")) else {
                throw Fields.wrong("mode", not: "\"latest\", \"everything\" or \"disconnect\"")
            }
            self = .subscribe(
                try Subscription.Start(text: fields.string("from")),
                SubscriptionFilter(
                    domains: try fields.strings("domains").map { GlobPattern($0) },
                    keys: try fields.strings("keys").map { GlobPattern($0) }),
                mode)
        case "widen": self = .widen(try fields.unsigned("subscription"), try fields.names())
        case "narrow": self = .narrow(try fields.unsigned("subscription"), try fields.names())
        case "unsubscribe": self = .unsubscribe(try fields.unsigned("subscription"))
        case "history": self = .history(try HistoryRequest(fields))
        case "status": self = .status
        case "handOver": self = .handOver
        case let type: throw DefaultsError(.agentRefused, "This agent doesn't know the request \"\(type.prefix(40))\".")
        }
    }
}

extension EditRequest {
    fileprivate var fields: DomainValues {
        var fields = domain.fields
        fields["type"] = "edit"
        fields["time"] = .integer(time.nanoseconds)
        fields["replaces"] = .boolean(replacesAll)
        fields["set"] = .dictionary(values.compactMapValues { $0 })
        fields["remove"] = .array(values.filter { $1 == nil }.keys.sorted().map { .string($0) })
        identity?.add(to: &fields)
        if let replacing { fields.merge(Self.fields(of: replacing)) { $1 } }
        if let expecting {
            fields["expected"] = .dictionary(expecting.compactMapValues { $0 })
            fields["absent"] = .array(expecting.filter { $1 == nil }.keys.sorted().map { .string($0) })
        }
        fields["origin"] = origin.map { .dictionary($0.fields) }
        return fields
    }

    fileprivate init(_ fields: Fields, from app: AppIdentity) throws(DefaultsError) {
        let values = try fields.difference(set: "set", removed: "remove")
        self.init(
            domain: try fields.domain(), values: values, replacesAll: try fields.flag("replaces"),
            time: fields.values["time"] == nil ? .now() : Timestamp(nanoseconds: try fields.integer("time")),
            writer: .app(app),
            identity: try EditIdentity(fields),
            replacing: fields.values["replacing"] == nil ? nil : try fields.formerValues(),
            expecting: try fields.condition(),
            origin: try Origin(fields))
    }
}

extension EditRequest {
    /// Returns the fields for the values that an edit replaces, and for the keys' later values, which older agents
    /// ignore.
    private static func fields(of former: FormerValues) -> DomainValues {
        let since = former.compactMapValues { values in
            let values = values.dropFirst().compactMap(\.self)
            return values.isEmpty ? nil : PropertyListValue.array(values)
        }
        let removed = former.filter { $1.dropFirst().contains(nil) }.keys.sorted()
        var fields: DomainValues = ["replacing": .dictionary(former.compactMapValues { $0.first ?? nil })]
        if !since.isEmpty { fields["since"] = .dictionary(since) }
        if !removed.isEmpty { fields["removedSince"] = .array(removed.map { .string($0) }) }
        return fields
    }
}

extension Fields {
    /// Returns the names in the entry `domains`.
    fileprivate func names() throws(DefaultsError) -> [DomainName] {
        try strings("domains").map { text throws(DefaultsError) in try DomainName(text) }
    }

    fileprivate func protocolVersions() throws(DefaultsError) -> ClosedRange<Int64> {
        let oldest = try integer("protocol")
        let newest = values["newest"] == nil ? oldest : try integer("newest")
        guard oldest <= newest else { throw Self.wrong("newest", not: "at least the entry \"protocol\"") }
        return oldest...newest
    }

    fileprivate func formerValues() throws(DefaultsError) -> FormerValues {
        var former: FormerValues = try dictionary("replacing").mapValues { [$0] }
        for (key, value) in values["since"] == nil ? [:] : try dictionary("since") {
            guard case .array(let values) = value else { throw Self.wrong("since", not: "a dictionary of arrays") }
            former[key, default: [nil]] += values
        }
        for key in values["removedSince"] == nil ? [] : try strings("removedSince") {
            former[key, default: [nil]].append(nil)
        }
        return former
    }

    /// Returns the values that keys must have for an edit to be made; `nil` if there is no condition.
    fileprivate func condition() throws(DefaultsError) -> Difference? {
        if values["expected"] == nil, values["absent"] == nil { return nil }
        return try Fields(["expected": [:]].merging(values) { $1 }).difference(set: "expected", removed: "absent")
    }

    fileprivate func difference(set: String, removed: String) throws(DefaultsError) -> Difference {
        var difference = Difference()
        for key in try strings(removed) {
            // Hashing a key with a longer run of marks could take minutes.
            if key.hasOverlongMarkRun {
                throw Self.wrong(removed, not: "an array of keys with at most 128 combining marks in a row")
            }
            difference[key] = .some(nil)
        }
        for (key, value) in try dictionary(set) { difference[key] = .some(value) }
        return difference
    }
}

extension Subscription.Start {
    fileprivate var text: String {
        switch self {
        case .now: "now"
        case .snapshot: "snapshot"
        case .after(let cursor): cursor.description
        }
    }

    fileprivate init(text: String) throws(DefaultsError) {
        switch text {
        case "now": self = .now
        case "snapshot": self = .snapshot
        default: self = .after(try Cursor(text))
        }
    }
}
