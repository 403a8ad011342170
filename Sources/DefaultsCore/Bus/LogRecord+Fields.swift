package import Manifests
import PropertyList

// The encoding of records in messages and in the change log file.

extension LogRecord {
    package var fields: DomainValues {
        var fields = domain.fields
        fields["revision"] = .number(revision)
        fields["time"] = .integer(time.nanoseconds)
        fields["made"] = made.map { .integer($0.nanoseconds) }
        switch event {
        case .change(let changeSet):
            fields["type"] = "change"
            changeSet.add(to: &fields)
        case .damaged(_, let reason):
            fields["type"] = "damaged"
            fields["reason"] = .string(reason)
        case .unsaved(_, let reason):
            fields["type"] = "unsaved"
            fields["reason"] = .string(reason)
        case .recovered:
            fields["type"] = "recovered"
        case .unknown(_, let rest):
            fields["type"] = "unknown"
            rest?.add(to: &fields)
        }
        return fields
    }

    package init(_ fields: Fields) throws(DefaultsError) {
        let domain = try fields.domain()
        let event: Event
        switch try fields.string("type") {
        case "change":
            event = .change(try ChangeSet(fields, of: domain))
        case "damaged": event = .damaged(domain, reason: try fields.string("reason"))
        case "unsaved": event = .unsaved(domain, reason: try fields.string("reason"))
        case "recovered": event = .recovered(domain)
        case "unknown":
            event = .unknown(domain, rest: fields.values["changes"] == nil ? nil : try ChangeSet(fields, of: domain))
        default:
            throw Fields.wrong("type", not: "\"change\", \"damaged\", \"unsaved\", \"recovered\" or \"unknown\"")
        }
        self.init(
            revision: try fields.unsigned("revision"), time: Timestamp(nanoseconds: try fields.integer("time")),
            made: fields.values["made"] == nil ? nil : Timestamp(nanoseconds: try fields.integer("made")), event: event)
    }
}

extension ChangeSet {
    fileprivate func add(to fields: inout DomainValues) {
        fields["source"] = .dictionary(source.fields)
        fields["changes"] = .array(changes.map { .dictionary($0.fields) })
        edit?.add(to: &fields)
        fields["origin"] = origin.map { .dictionary($0.fields) }
        if !overruled.isEmpty { fields["overruled"] = .array(overruled.map { .dictionary($0.fields) }) }
        if !violations.isEmpty { fields["violations"] = .array(violations.map { .dictionary($0.fields) }) }
        if !excluded.isEmpty { fields["excluded"] = .array(excluded.map(\.value)) }
    }

    fileprivate init(_ fields: Fields, of domain: Domain) throws(DefaultsError) {
        self.init(
            domain: domain, source: try Writer(Fields(.dictionary(fields.dictionary("source")), of: "A source")),
            changes: try fields.array("changes").map { value throws(DefaultsError) in
                try KeyChange(Fields(value, of: "A change"))
            },
            overruled: try fields.array("overruled").map { value throws(DefaultsError) in
                try Overruled(Fields(value, of: "An overruled value"))
            }, edit: try EditIdentity(fields), origin: try Origin(fields))
        // A later agent may know further rules.
        for value in try fields.array("violations") {
            if let violation = try Violation(Fields(value, of: "A violation")) { violations.append(violation) }
        }
        excluded = try fields.array("excluded").map { value throws(DefaultsError) in
            try ExcludedKeys(Fields(value, of: "An entry of \"excluded\""))
        }
    }
}

extension EditIdentity {
    /// Adds the entries that identify the edit.
    func add(to fields: inout DomainValues) {
        fields["session"] = .number(session)
        fields["edit"] = .number(number)
    }

    /// Creates the identity of the edit in a message; fails if the message has none.
    package init?(_ fields: Fields) throws(DefaultsError) {
        if fields.values["session"] == nil { return nil }
        self.init(session: try fields.unsigned("session"), number: try fields.unsigned("edit"))
    }
}

extension KeyChange {
    fileprivate var fields: DomainValues {
        var fields: DomainValues = ["key": .string(key)]
        fields["old"] = old
        fields["new"] = new
        return fields
    }

    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        self.init(key: try fields.string("key"), old: fields.values["old"], new: fields.values["new"])
    }
}

extension Overruled {
    fileprivate var fields: DomainValues {
        var fields: DomainValues = ["key": .string(key), "source": .dictionary(writer.fields)]
        fields["value"] = value
        if case .olderVersion(let time) = reason {
            fields["reason"] = "older-version"
            fields["loaded"] = time.map { .integer($0.nanoseconds) }
        }
        return fields
    }

    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        self.init(
            key: try fields.string("key"), value: fields.values["value"],
            writer: try Writer(Fields(.dictionary(fields.dictionary("source")), of: "A source")),
            reason: try Reason(fields))
    }
}

extension Overruled.Reason {
    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        guard fields.values["reason"] == "older-version" else {
            self = .laterChange
            return
        }
        let isKnown = fields.values["loaded"] != nil
        self = .olderVersion(isKnown ? Timestamp(nanoseconds: try fields.integer("loaded")) : nil)
    }
}

extension Violation {
    package var fields: DomainValues {
        var fields: DomainValues = ["key": .string(key), "rule": .string(rule.rawValue)]
        if !path.isEmpty {
            fields["path"] = .array(
                path.map { step in
                    switch step {
                    case .name(let name): .string(name)
                    case .index(let index): .integer(Int64(index))
                    }
                })
        }
        fields["limit"] = limit
        return fields
    }

    /// Creates a violation from a message; fails if the rule is unknown.
    package init?(_ fields: Fields) throws(DefaultsError) {
        guard let rule = Rule(rawValue: try fields.string("rule")) else { return nil }
        self.init(
            key: try fields.string("key"),
            path: try fields.array("path").map { value throws(DefaultsError) in
                switch value {
                case .string(let name): return .name(name)
                case .integer(let index): return .index(Int(index))
                default: throw Fields.wrong("path", not: "an array of strings and integers")
                }
            }, rule: rule, limit: fields.values["limit"])
    }
}

extension Writer {
    package var fields: DomainValues {
        switch self {
        case .file: ["kind": "file"]
        case .agent: ["kind": "agent"]
        case .app(let app):
            ["kind": "app", "pid": .integer(Int64(app.pid)), "executable": .string(app.executable)]
        }
    }

    package init(_ fields: Fields) throws(DefaultsError) {
        switch try fields.string("kind") {
        case "file": self = .file
        case "agent": self = .agent
        case "app":
            self = .app(
                AppIdentity(
                    pid: Int32(clamping: try fields.integer("pid")), executable: try fields.string("executable")))
        default: throw Fields.wrong("kind", not: "\"file\", \"agent\" or \"app\"")
        }
    }
}
