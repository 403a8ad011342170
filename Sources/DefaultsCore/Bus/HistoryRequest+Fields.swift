import PropertyList

// The encoding of a request for the history, and of its answer.

extension HistoryRequest {
    var fields: DomainValues {
        var fields: DomainValues = [
            "type": "history", "limit": .integer(Int64(limit)),
            "domains": .array(filter.domains.map { .string($0.text) }),
            "keys": .array(filter.keys.map { .string($0.text) }),
        ]
        fields["before"] = before.map { .string($0.description) }
        return fields
    }

    init(_ fields: Fields) throws(DefaultsError) {
        let limit = try fields.integer("limit")
        guard (1...Self.maximum).contains(limit) else { throw Fields.wrong("limit", not: "from 1 to \(Self.maximum)") }
        self.init(
            filter: SubscriptionFilter(
                domains: try fields.strings("domains").map { GlobPattern($0) },
                keys: try fields.strings("keys").map { GlobPattern($0) }),
            before: try fields.optionalString("before").map { text throws(DefaultsError) in try Cursor(text) },
            limit: Int(limit))
    }

    /// The maximum number of records in an answer.
    private static let maximum: Int64 = 1_000
}

extension HistoryPage {
    var fields: DomainValues {
        var fields: DomainValues = [
            "type": "history", "next": .string(next.description), "end": .boolean(isEnd),
            "records": .array(
                records.map { record in
                    let cursor = Cursor(epoch: next.epoch, revision: record.revision).description
                    return .dictionary(record.fields.merging(["cursor": .string(cursor)]) { $1 })
                }),
        ]
        fields["log"] = log.map { .string($0) }
        fields["archive"] = archive.map { .string($0) }
        return fields
    }

    init(_ fields: Fields) throws(DefaultsError) {
        records = try fields.array("records").map { value throws(DefaultsError) in
            try LogRecord(Fields(value, of: "A record"))
        }
        next = try Cursor(fields.string("next"))
        isEnd = try fields.flag("end")
        log = try fields.optionalString("log")
        archive = try fields.optionalString("archive")
    }
}
