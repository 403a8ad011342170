import DefaultsCore
import PropertyList

/// An edit of this process that isn't known to be saved.
struct UnsavedEdit: Sendable {
    /// Its position in the order of the process's edits, from 1; assigned by `UnsavedEdits`.
    var number: UInt64 = 0
    var domain: Domain
    /// The keys that it set or removed.
    var values: Difference
    /// The values of the keys before it.
    var replacing: DomainValues
    /// The later values of the keys, from edits that were joined into this one or from conditional edits; possibly
    /// saved.
    var since: FormerValues = [:]
    /// The time when it was made.
    var time: Timestamp
    /// Whether the session has processed it.
    var isAccepted = false
    /// Whether its record has arrived in the session's stream; if not, its outcome is unknown until it is accepted.
    var isMade = false
    /// Whether it reached the agent so late that it must be compared with what others have done since.
    var isLate = false

    /// Whether nothing is left of it: all its keys were saved, set by later edits, or overruled by others.
    var isVoid: Bool { values.isEmpty }

    /// Returns the values of a key before this edit: the one that it replaced, and those since.
    func former(_ key: String) -> [PropertyListValue?] { [replacing[key]] + since[key, default: []] }

    /// Creates the request for the edit.
    ///
    /// - Parameters:
    ///   - session: The process's identifier.
    ///   - isAgain: Whether the edit was sent before, and may have been made.
    /// - Returns: The request.
    func request(session: UInt64, isAgain: Bool) -> EditRequest {
        let former = isAgain ? FormerValues(uniqueKeysWithValues: values.keys.map { ($0, self.former($0)) }) : nil
        return EditRequest(
            domain: domain, values: values, time: time, writer: .app(.current),
            identity: EditIdentity(session: session, number: number), replacing: former)
    }

    /// Joins a later edit of the same domain into this one, which hasn't been sent yet.
    ///
    /// - Returns: Whether it was joined; one that would make this edit large isn't.
    mutating func absorb(_ later: UnsavedEdit) -> Bool {
        guard domain == later.domain, !isLate, !later.isLate,
            later.values.keys.allSatisfy({ values[$0] != nil })
                || values.count < Self.maximumAbsorbed && later.values.values.allSatisfy({ $0?.isShort ?? true })
        else { return false }
        for (key, value) in later.values where values.updateValue(value, forKey: key) == nil {
            replacing[key] = later.replacing[key]
        }
        time = later.time
        return true
    }

    /// The number of keys at which an edit stops absorbing new ones.
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
