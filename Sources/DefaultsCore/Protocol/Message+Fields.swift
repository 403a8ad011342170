import PropertyList

extension NumberedMessage {
    package var fields: DomainValues {
        var fields = message.fields
        fields["request"] = .number(number)
        return fields
    }

    package init(_ fields: Fields) throws(DefaultsError) {
        self.init(number: try fields.unsigned("request"), message: try Message(fields))
    }
}

extension Message {
    fileprivate var fields: DomainValues {
        switch self {
        case .welcome(let welcome): welcome.fields.merging(["type": "welcome"]) { $1 }
        case .values(let snapshot): snapshot.fields.merging(["type": "values"]) { $1 }
        case .domains(let domains): ["type": "domains", "domains": .array(domains.map { .dictionary($0.fields) })]
        case .edited(let cursor): ["type": "edited", "cursor": .string(cursor.description)]
        case .synchronized(let cursor, let failures):
            [
                "type": "synchronized", "cursor": .string(cursor.description),
                "failures": .array(failures.map { .dictionary($0.fields) }),
            ]
        case .subscribed(let cursor): ["type": "subscribed", "cursor": .string(cursor.description)]
        case .widened(let cursor): ["type": "widened", "cursor": .string(cursor.description)]
        case .narrowed: ["type": "narrowed"]
        case .unsubscribed: ["type": "unsubscribed"]
        case .history(let page): page.fields
        case .status(let values): ["type": "status", "status": .dictionary(values)]
        case .handingOver: ["type": "handingOver"]
        case .failure(let error):
            error.fields.merging(["type": "failure"]) { $1 }
        case .event(let event): event.fields
        }
    }

    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        switch try fields.string("type") {
        case "welcome": self = .welcome(try Welcome(fields))
        case "values": self = .values(try DomainSnapshot(fields))
        case "domains":
            self = .domains(try fields.domains())
        case "edited": self = .edited(try fields.cursor("cursor"))
        case "synchronized":
            self = .synchronized(
                try fields.cursor("cursor"),
                failures: try fields.array("failures").map { value throws(DefaultsError) in
                    try DefaultsError(Fields(value, of: "A failure"))
                })
        case "subscribed": self = .subscribed(try fields.cursor("cursor"))
        case "widened": self = .widened(try fields.cursor("cursor"))
        case "narrowed": self = .narrowed
        case "unsubscribed": self = .unsubscribed
        case "history": self = .history(try HistoryPage(fields))
        case "status": self = .status(try fields.dictionary("status"))
        case "handingOver": self = .handingOver
        case "failure":
            self = .failure(try DefaultsError(fields))
        default: self = .event(try StreamEvent(fields))
        }
    }
}

extension Welcome {
    package var fields: DomainValues {
        var fields = system.fields
        fields["protocol"] = .integer(protocolVersion)
        fields["version"] = version.map { .string($0) }
        fields["pid"] = .integer(pid)
        fields["directory"] = .string(directory)
        fields["cursor"] = .string(cursor.description)
        return fields
    }

    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        self.init(
            pid: try fields.integer("pid"), directory: try fields.string("directory"),
            system: try fields.systemDirectories(), cursor: try fields.cursor("cursor"),
            protocolVersion: try fields.integer("protocol"))
        version = try fields.optionalString("version")
    }
}

extension DefaultsError {
    /// The entries of an error; its `remedy` is also the end of its `message`.
    package var fields: DomainValues {
        var fields: DomainValues = ["code": .string(code.description), "message": .string(description)]
        fields["remedy"] = remedy.map { .string($0) }
        fields["errno"] = errno.map { .integer(Int64($0)) }
        return fields
    }

    /// Creates an error from its entries; in a status, earlier agents leave out the code and the remedy.
    package init(_ fields: Fields) throws(DefaultsError) {
        let code = Code(named: try fields.string("code")) ?? .agentRefused
        let number = fields.values["errno"] == nil ? nil : Int32(truncatingIfNeeded: try fields.integer("errno"))
        let message = try fields.string("message")
        let remedy = fields.values["remedy"] == nil ? nil : try fields.string("remedy")
        let ending = " \(remedy ?? "")".utf8
        guard let remedy, !remedy.isEmpty, message.utf8.count > ending.count,
            message.utf8.suffix(ending.count).elementsEqual(ending)
        else {
            self.init(code, message, errno: number)
            return
        }
        let reason = String(Substring(message.utf8.dropLast(ending.count)))
        self.init(code, reason, remedy: remedy, errno: number)
    }
}

extension StreamEvent {
    fileprivate var fields: DomainValues {
        switch self {
        case .record(let record, let cursor): record.fields(at: cursor)
        case .initial(let snapshot): snapshot.fields.merging(["type": "initial"]) { $1 }
        case .gap(let from, let to):
            ["type": "gap", "from": .string(from.description), "to": .string(to.description)]
        case .bookmark(let cursor): ["type": "bookmark", "cursor": .string(cursor.description)]
        case .ended: ["type": "ended"]
        }
    }

    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        switch try fields.string("type") {
        case "initial": self = .initial(try DomainSnapshot(fields))
        case "gap": self = .gap(from: try fields.cursor("from"), to: try fields.cursor("to"))
        case "bookmark": self = .bookmark(try fields.cursor("cursor"))
        case "ended": self = .ended
        default: self = .record(try LogRecord(fields), cursor: try fields.cursor("cursor"))
        }
    }
}

extension LogRecord {
    fileprivate func fields(at cursor: Cursor) -> DomainValues {
        var fields = fields
        fields["cursor"] = .string(cursor.description)
        return fields
    }
}

extension DomainSnapshot {
    fileprivate var fields: DomainValues {
        var fields = domain.fields
        fields["values"] = .dictionary(values)
        fields["cursor"] = .string(cursor.description)
        fields["damage"] = damage.map { .string($0) }
        return fields
    }

    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        self.init(
            domain: try fields.domain(), values: try fields.dictionary("values"), cursor: try fields.cursor("cursor"),
            damage: try fields.optionalString("damage"))
    }
}

extension Fields {
    fileprivate func cursor(_ key: String) throws(DefaultsError) -> Cursor {
        try Cursor(string(key))
    }
}

extension Fields {
    /// Returns the system directories listed in the entries `system` and `managed`.
    package func systemDirectories() throws(DefaultsError) -> SystemDirectories {
        let (anyUser, managed) = (try strings("system"), try optionalString("managed"))
        guard anyUser.allSatisfy(Self.isAbsolute) else { throw Self.wrong("system", not: "an array of absolute paths") }
        guard managed.map(Self.isAbsolute) ?? true else { throw Self.wrong("managed", not: "an absolute path") }
        return SystemDirectories(anyUser: anyUser, managed: managed)
    }
}

extension SystemDirectories {
    /// The entries that list the directories in a message.
    package var fields: DomainValues {
        var fields: DomainValues = ["system": .array(anyUser.map { .string($0) })]
        if let managed { fields["managed"] = .string(managed) }
        return fields
    }
}
