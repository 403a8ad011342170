import DefaultsCore
import PropertyList

/// The edits of this process that aren't known to be saved, and how far they have come.
///
/// An edit is asked for, then accepted by the session, then saved. One that was asked for of a session that is lost is asked
/// for again, of the next.
struct UnsavedEdits: Sendable {
    /// Oldest first.
    private var edits: [UnsavedEdit] = []
    /// The number of the last edit.
    private(set) var last: UInt64 = 0
    /// The last edit that the session was asked for; and that any session was.
    private var asked: UInt64 = 0
    private var everAsked: UInt64 = 0
    /// The last edit that the session has dealt with.
    private var accepted: UInt64 = 0
    /// How many edits there may be before they are joined.
    private var limit = 256

    var isEmpty: Bool { edits.isEmpty }

    /// Whether the session has dealt with every edit.
    var isAccepted: Bool { edits.isEmpty || accepted >= last }

    /// Adds an edit.
    ///
    /// - Returns: its number.
    mutating func add(_ edit: UnsavedEdit) -> UInt64 {
        last += 1
        edits.append(edit)
        edits[edits.count - 1].number = last
        if edits.count > limit { join() }
        return last
    }

    /// Takes what the session is to be asked for.
    mutating func takeUnasked(session: UInt64) -> [EditRequest] {
        defer {
            asked = last
            everAsked = max(everAsked, asked)
        }
        return edits[index(after: asked)...].map {
            $0.request(session: session, isAgain: $0.isLate || $0.number <= everAsked)
        }
    }

    /// Begins with another session, which is to be asked for everything.
    ///
    /// - Returns: all edits, oldest first.
    mutating func beginSession() -> [UnsavedEdit] {
        asked = edits.first.map { $0.number - 1 } ?? last
        accepted = min(accepted, asked)
        return edits
    }

    /// Removes all edits in a forked child, since the parent saves them.
    ///
    /// - Returns: the edits, oldest first.
    mutating func startOver() -> [UnsavedEdit] {
        defer {
            edits = []
            (asked, everAsked, accepted) = (last, last, last)
        }
        return edits
    }

    /// Notes that the session has dealt with an edit.
    ///
    /// - Returns: the edit, if it isn't saved already.
    mutating func accept(_ number: UInt64) -> UnsavedEdit? {
        accepted = max(accepted, number)
        return find(number).map { edits[$0] }
    }

    /// Lets an edit go that was refused.
    mutating func drop(_ number: UInt64) {
        if let index = find(number) { edits.remove(at: index) }
    }

    /// Lets the edits of a domain go that are saved: all up to a number.
    mutating func save(_ domain: Domain, upTo number: UInt64) {
        edits.removeAll { $0.number <= number && $0.domain == domain }
    }

    /// Lets keys go that someone else has changed since the session accepted them: they are not to be set again.
    mutating func overrule(_ keys: Set<String>, of domain: Domain) {
        for index in edits.indices where edits[index].number <= accepted && edits[index].domain == domain {
            for key in keys { edits[index].values[key] = nil }
        }
        edits.removeAll { $0.values.isEmpty }
    }

    /// Joins what was accepted: of several edits of a key the last stands, in place of what the first replaced.
    private mutating func join() {
        var newest: [Domain: [String: Int]] = [:]
        for index in edits[..<index(after: accepted)].indices.reversed() {
            let domain = edits[index].domain
            for key in edits[index].values.keys {
                if let later = newest[domain]?[key] {
                    edits[later].replacing[key] = edits[index].replacing[key]
                    edits[index].values[key] = nil
                } else {
                    newest[domain, default: [:]][key] = index
                }
            }
        }
        edits.removeAll { $0.values.isEmpty }
        limit = max(256, 2 * edits.count)
    }

    /// The place of an edit.
    private func find(_ number: UInt64) -> Int? {
        let index = number == 0 ? 0 : self.index(after: number - 1)
        return index < edits.count && edits[index].number == number ? index : nil
    }

    /// The place of the first edit after a number.
    private func index(after number: UInt64) -> Int {
        var (low, high) = (0, edits.count)
        while low < high {
            let middle = (low + high) / 2
            if edits[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
