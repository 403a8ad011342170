import DefaultsCore
import PropertyList

/// The edits of this process that aren't known to be saved, and how far they have come.
///
/// An edit is asked for, then accepted by the session, then saved. One that was asked for of a session that is lost is asked
/// for again, of the next.
///
/// Every call takes the same time on average, however many edits there are, but for those that go through all of them: a new
/// session, a save, and somebody else's change of a key.
struct UnsavedEdits: Sendable {
    /// Oldest first.
    private var edits: [UnsavedEdit] = []
    /// The number of the last edit.
    private(set) var last: UInt64 = 0
    /// The last edit that the session was asked for; and that any session was.
    private var asked: UInt64 = 0
    private var everAsked: UInt64 = 0
    /// The last edit that no later one may be joined with.
    private var sealed: UInt64 = 0
    /// The number of edits that the session has yet to deal with.
    private(set) var unaccepted = 0
    /// The number of edits at which those are joined that were accepted.
    private var limit = Self.backlog

    /// So many edits are kept apart, so that others see each of them; a longer burst is joined as far as nobody was asked for
    /// it yet, or all of it was accepted.
    static let backlog = 256

    var isEmpty: Bool { edits.isEmpty }

    /// Whether the session has dealt with every edit.
    var isAccepted: Bool { unaccepted == 0 }

    /// Adds an edit.
    ///
    /// - Returns: its number, which is that of the one before where the two are joined.
    mutating func add(_ edit: UnsavedEdit) -> UInt64 {
        let isBehind = last >= max(asked, everAsked) + UInt64(Self.backlog)
        if isBehind, last > sealed, let index = find(last), edits[index].absorb(edit) { return last }
        last += 1
        edits.append(edit)
        edits[edits.count - 1].number = last
        edits[edits.count - 1].isAccepted = false
        unaccepted += 1
        if edits.count > limit { join() }
        return last
    }

    /// Keeps later edits apart from those that there are.
    ///
    /// - Returns: the number of the last of these.
    mutating func seal() -> UInt64 {
        sealed = last
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
        for index in edits.indices { edits[index].isAccepted = false }
        unaccepted = edits.count
        return edits
    }

    /// Removes all edits in a forked child, since the parent saves them.
    ///
    /// - Returns: the edits, oldest first.
    mutating func startOver() -> [UnsavedEdit] {
        defer {
            edits = []
            unaccepted = 0
            (asked, everAsked) = (last, last)
        }
        return edits
    }

    /// Notes that the session has dealt with an edit.
    ///
    /// - Returns: the edit, if it isn't saved already.
    mutating func accept(_ number: UInt64) -> UnsavedEdit? {
        guard let index = find(number) else { return nil }
        if !edits[index].isAccepted { unaccepted -= 1 }
        edits[index].isAccepted = true
        return edits[index]
    }

    /// Lets an edit go that was refused.
    mutating func drop(_ number: UInt64) {
        remove { $0.number == number }
    }

    /// Lets the edits of a domain go that are saved: all up to a number.
    mutating func save(_ domain: Domain, upTo number: UInt64) {
        remove { $0.number <= number && $0.domain == domain }
    }

    /// Lets keys go that someone else has changed since the session accepted them: they are not to be set again.
    mutating func overrule(_ keys: Set<String>, of domain: Domain) {
        for index in edits.indices where edits[index].isAccepted && edits[index].domain == domain {
            for key in keys { edits[index].values[key] = nil }
        }
        edits.removeAll { $0.values.isEmpty }
    }

    private mutating func remove(where isGone: (UnsavedEdit) -> Bool) {
        edits.removeAll(where: isGone)
        unaccepted = edits.count { !$0.isAccepted }
    }

    /// Joins what was accepted: of several edits of a key the last stands, in place of what the first replaced.
    ///
    /// What the others set may be in the file when the session is lost, and is then found to be this process's own.
    private mutating func join() {
        var earlier: [Domain: [String: Int]] = [:]
        for index in edits.indices where edits[index].isAccepted {
            let domain = edits[index].domain
            for key in edits[index].values.keys {
                if let former = earlier[domain]?[key] {
                    // Taken out first, so that what is appended to isn't copied.
                    var since = edits[former].since.removeValue(forKey: key) ?? []
                    since.append(edits[former].values.removeValue(forKey: key) ?? nil)
                    since += edits[index].since[key, default: []]
                    edits[index].since[key] = since
                    edits[index].replacing[key] = edits[former].replacing[key]
                }
                earlier[domain, default: [:]][key] = index
            }
        }
        edits.removeAll { $0.values.isEmpty }
        limit = max(Self.backlog, 2 * edits.count)
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
