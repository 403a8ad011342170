import PropertyList

// The encoding of origins in messages and in the change log file.

extension Origin {
    /// The entries of an origin in a message and in the log.
    package var fields: DomainValues {
        var fields: DomainValues = [:]
        fields["program"] = program.map { .string($0) }
        if let (name, subject) = purpose?.texts {
            fields["purpose"] = .string(name)
            fields["of"] = .string(subject)
        }
        if let reach = purpose?.reach {
            if !reach.oldest.isEmpty { fields["oldest"] = .dictionary(reach.oldest.mapValues { .number($0) }) }
            fields["first"] = reach.first.map { .number($0) }
        }
        return fields
    }

    /// Creates the origin in a message's entry `origin`; `nil` if the entry is missing.
    package init?(_ fields: Fields) throws(DefaultsError) {
        if fields.values["origin"] == nil { return nil }
        let entry = Fields(try fields.dictionary("origin"))
        program = try entry.optionalString("program")
        let subject = try entry.optionalString("of") ?? ""
        switch try entry.optionalString("purpose") {
        case nil: purpose = nil
        // A purpose that isn't as expected is kept as it is: it must not make a record of the log invalid.
        case "undo"?: purpose = (try? Cursor(subject)).map { .undo($0) } ?? .other("undo", of: subject)
        case "redo"?: purpose = (try? Cursor(subject)).map { .redo($0) } ?? .other("redo", of: subject)
        case "profile"?: purpose = .profile(subject)
        case "reset"?: purpose = .reset(ofProfile: subject)
        case let name?: purpose = .other(name, of: subject)
        }
        purpose?.reach = UndoReach(
            oldest: try entry.optionalNumbers("oldest") ?? [:],
            first: entry.values["first"] == nil ? nil : try entry.unsigned("first"))
        let texts = [program, purpose?.texts.name, purpose?.texts.subject].compactMap(\.self)
        guard texts.allSatisfy({ $0.utf8.count <= Self.maximumLength }) else {
            throw Fields.wrong("origin", not: "a dictionary of strings of at most \(Self.maximumLength) bytes")
        }
    }
}

extension Fields {
    fileprivate func optionalNumbers(_ key: String) throws(DefaultsError) -> [String: UInt64]? {
        if values[key] == nil { return nil }
        let entry = Fields(try dictionary(key))
        var numbers: [String: UInt64] = [:]
        for key in entry.values.keys { numbers[key] = try entry.unsigned(key) }
        return numbers
    }
}
