import DefaultsCore
import PropertyList

/// An edit of this process that isn't known to be in its file yet.
struct UnsavedEdit: Sendable {
    /// Its place in the order of the process's edits, from 1 on; `UnsavedEdits` gives it.
    var number: UInt64 = 0
    var domain: Domain
    /// The keys that it set or removed.
    var values: Difference
    /// What they held before.
    var replacing: DomainValues
    /// What they held since, by earlier edits that this one stands for, and that may have been saved.
    var since: FormerValues = [:]
    /// When it was set.
    var time: Timestamp
    /// Whether the session has dealt with it.
    var isAccepted = false
    /// Whether the session's stream has shown that it was made; whether it was is otherwise not known before it is accepted.
    var isMade = false
    /// Whether the agent got it so late that it must be compared with what others have done since.
    var isLate = false

    /// Whether nothing is left of it: all its keys were saved, set by later edits, or lost to others.
    var isVoid: Bool { values.isEmpty }

    /// The values of a key before this edit: the one that it replaced, and those since.
    func former(_ key: String) -> [PropertyListValue?] { [replacing[key]] + since[key, default: []] }

    /// The edit as it is asked for.
    ///
    /// - Parameters:
    ///   - session: the process's number.
    ///   - isAgain: whether it was asked for before, and may have been made.
    /// - Returns: the request.
    func request(session: UInt64, isAgain: Bool) -> EditRequest {
        let former = isAgain ? FormerValues(uniqueKeysWithValues: values.keys.map { ($0, self.former($0)) }) : nil
        return EditRequest(
            domain: domain, values: values, time: time, writer: .app(.current),
            identity: EditIdentity(session: session, number: number), replacing: former)
    }

    /// Lets a later edit of the same domain be part of this one, which nobody has been asked for yet.
    ///
    /// - Returns: whether it is part of it; one that would make it large is not.
    mutating func absorb(_ later: UnsavedEdit) -> Bool {
        guard domain == later.domain, !isLate, !later.isLate,
            later.values.keys.allSatisfy({ values[$0] != nil })
                || values.count < Self.mostAbsorbed && later.values.values.allSatisfy({ $0?.isShort ?? true })
        else { return false }
        for (key, value) in later.values where values.updateValue(value, forKey: key) == nil {
            replacing[key] = later.replacing[key]
        }
        time = later.time
        return true
    }

    /// The number of keys up to which an edit takes in others.
    private static let mostAbsorbed = 1_000
}

extension PropertyListValue {
    /// Whether the value takes little room.
    fileprivate var isShort: Bool {
        switch self {
        case .array, .dictionary: false
        case .string(let text): text.utf8.count <= 1_024
        case .data(let bytes): bytes.count <= 1_024
        default: true
        }
    }
}
