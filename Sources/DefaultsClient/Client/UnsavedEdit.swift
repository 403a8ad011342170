import DefaultsCore
import PropertyList

/// An edit of this process that isn't known to be saved.
struct UnsavedEdit: Sendable {
    /// The edit's position in the order of the process's edits, starting at 1; assigned by `UnsavedEdits`.
    var number: UInt64 = 0
    /// The number under which the edit was first sent, if it was refused and sent again; otherwise 0.
    var first: UInt64 = 0
    var domain: Domain
    /// The keys that the edit set or removed.
    var values: Difference
    /// Whether nothing is set if one of the values is refused, as in a transaction.
    var isWhole = false
    /// The values that the keys had before the edit.
    var replacing: DomainValues
    /// The keys' other former values, from edits that were joined into this one or from conditional edits; they may
    /// have been saved.
    var since: FormerValues = [:]
    /// The time when the edit was made.
    var time: Timestamp
    /// Whether the session has processed the edit.
    var isAccepted = false
    /// Whether the edit's record has arrived in the session's stream; if not, the outcome is unknown until the edit is
    /// accepted.
    var isMade = false
    /// Whether the edit reached the agent so late that it must be compared with what others have done since.
    var isLate = false

    /// Whether nothing is left of the edit, because all its keys were saved, set by later edits, or overruled by
    /// others.
    var isVoid: Bool { values.isEmpty }

    /// Returns the former values of a key: the one that this edit replaced, and others.
    func former(_ key: String) -> [PropertyListValue?] { [replacing[key]] + since[key, default: []] }

    /// Creates the request for the edit.
    ///
    /// - Parameters:
    ///   - session: The process's identifier.
    ///   - isAgain: Whether the edit is being resent and may already have been made.
    /// - Returns: The request.
    func request(session: UInt64, isAgain: Bool) -> EditRequest {
        let former = isAgain ? FormerValues(uniqueKeysWithValues: values.keys.map { ($0, self.former($0)) }) : nil
        return EditRequest(
            domain: domain, values: values, time: time, writer: .app(.current),
            identity: EditIdentity(session: session, number: number), replacing: former)
    }

    /// The edit as edits of one key each.
    var divided: [UnsavedEdit] {
        values.map { key, value in
            var part = self
            (part.values, part.replacing, part.since) = ([key: value], [:], [:])
            part.replacing[key] = replacing[key]
            part.since[key] = since[key]
            return part
        }
    }

    /// Joins a later edit of the same domain into this one, which hasn't been sent yet.
    ///
    /// - Returns: Whether the edit was joined; one that would make this one large isn't, nor is a transaction.
    mutating func absorb(_ later: UnsavedEdit) -> Bool {
        guard domain == later.domain, !isLate, !later.isLate, !isWhole, !later.isWhole,
            later.values.keys.allSatisfy({ values[$0] != nil })
                || values.count < Self.maximumAbsorbed && later.values.values.allSatisfy({ $0?.isShort ?? true })
        else { return false }
        for (key, value) in later.values {
            if values.updateValue(value, forKey: key) == nil { replacing[key] = later.replacing[key] }
            if let former = later.since[key] { since[key, default: []] += former }
        }
        time = later.time
        if later.first != 0 { first = min(first == 0 ? later.first : first, later.first) }
        return true
    }

    /// The number of keys at which an edit stops absorbing new keys.
    private static let maximumAbsorbed = 1_000
}

extension PropertyListValue {
    /// Whether the value takes little memory.
    fileprivate var isShort: Bool {
        switch self {
        case .array, .dictionary: false
        case .string(let text): text.utf8.count <= 1_024
        case .data(let bytes): bytes.count <= 1_024
        default: true
        }
    }
}
