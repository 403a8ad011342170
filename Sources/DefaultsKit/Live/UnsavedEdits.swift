import DefaultsCore
import PropertyList

/// The edits of this process that aren't known to be saved, and how far they have come.
///
/// An edit is asked for, then accepted by the session, then saved. One that was asked for of a session that is lost is asked
/// for again, of the next.
///
/// Every call takes the same time on average, however many edits there are, but for a new session, which goes through all
/// of them, and somebody else's change of a key, which goes through those of the domain.
struct UnsavedEdits: Sendable {
    /// Oldest first; those that are void are removed now and then.
    private var edits: [UnsavedEdit] = []
    /// The number of edits that aren't void.
    private var count = 0
    /// The numbers of each domain's edits, oldest first; some are of edits that are void.
    private var numbers: [Domain: ArraySlice<UInt64>] = [:]
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

    var isEmpty: Bool { count == 0 }

    /// Whether there are edits of a domain.
    func has(_ domain: Domain) -> Bool { numbers[domain] != nil }

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
        edits[edits.count - 1].isMade = false
        count += 1
        unaccepted += 1
        numbers[edit.domain, default: []].append(last)
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
        return edits[index(after: asked)...].lazy.filter { !$0.isVoid }.map {
            $0.request(session: session, isAgain: $0.isLate || $0.number <= everAsked)
        }
    }

    /// Begins with another session, which is to be asked for everything.
    ///
    /// - Returns: all edits, oldest first.
    mutating func beginSession() -> [UnsavedEdit] {
        compact()
        asked = edits.first.map { $0.number - 1 } ?? last
        for index in edits.indices {
            edits[index].isAccepted = false
            edits[index].isMade = false
        }
        unaccepted = count
        return edits
    }

    /// Removes all edits in a forked child, since the parent saves them.
    ///
    /// - Returns: the edits, oldest first.
    mutating func startOver() -> [UnsavedEdit] {
        compact()
        defer {
            (edits, numbers) = ([], [:])
            (count, unaccepted) = (0, 0)
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

    /// Notes that the session has made an edit, whose acceptance is to come.
    mutating func noteMade(_ number: UInt64) {
        if let index = find(number) { edits[index].isMade = true }
    }

    /// Lets an edit go that was refused.
    mutating func drop(_ number: UInt64) {
        guard let index = find(number) else { return }
        void(index)
        let domain = edits[index].domain
        numbers[domain] = numbers[domain].flatMap { numbers in
            let left = numbers.filter { $0 != number }
            return left.isEmpty ? nil : left[...]
        }
        compactIfVoid()
    }

    /// Lets the edits of a domain go that are saved: all up to a number.
    mutating func save(_ domain: Domain, upTo number: UInt64) {
        guard var left = numbers.removeValue(forKey: domain) else { return }
        while let first = left.first, first <= number {
            if let index = find(first) { void(index) }
            left.removeFirst()
        }
        if !left.isEmpty { numbers[domain] = left }
        compactIfVoid()
    }

    /// Lets keys go that someone else has changed since the session made them: they are not to be set again.
    mutating func overrule(_ keys: [String], of domain: Domain) {
        if keys.isEmpty { return }
        for number in numbers[domain] ?? [] {
            guard let index = find(number), edits[index].isAccepted || edits[index].isMade else { continue }
            for key in keys { edits[index].values.removeValue(forKey: key) }
            if edits[index].isVoid {
                count -= 1
                if !edits[index].isAccepted { unaccepted -= 1 }
            }
        }
        dropVoidNumbers(of: domain)
        compactIfVoid()
    }

    /// Notes values that this process has set in another way before the edits of the same keys that are still to be made.
    mutating func noteOwn(_ changes: [KeyChange], of domain: Domain) {
        for number in numbers[domain] ?? [] {
            guard let index = find(number), !edits[index].isAccepted, !edits[index].isMade else { continue }
            for change in changes where edits[index].values[change.key] != nil {
                edits[index].since[change.key, default: []].append(change.new)
            }
        }
    }

    /// Voids an edit that isn't void.
    private mutating func void(_ index: Int) {
        count -= 1
        if !edits[index].isAccepted { unaccepted -= 1 }
        edits[index].values = [:]
    }

    private mutating func dropVoidNumbers(of domain: Domain) {
        guard let left = numbers.removeValue(forKey: domain)?.filter({ find($0) != nil }), !left.isEmpty else { return }
        numbers[domain] = left[...]
    }

    /// Removes the edits that are void once they are the most.
    private mutating func compactIfVoid() {
        if edits.count > 2 * count + 64 { compact() }
    }

    private mutating func compact() { edits.removeAll { $0.isVoid } }

    /// Joins what was accepted: of several edits of a key the last stands, in place of what the first replaced.
    ///
    /// What the others set may be in the file when the session is lost, and is then found to be this process's own.
    private mutating func join() {
        var earlier: [Domain: [String: Int]] = [:]
        for index in edits.indices where edits[index].isAccepted && !edits[index].isVoid {
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
        compact()
        count = edits.count
        for domain in earlier.keys { dropVoidNumbers(of: domain) }
        limit = max(Self.backlog, 2 * count)
    }

    /// The place of an edit that isn't void.
    private func find(_ number: UInt64) -> Int? {
        let index = number == 0 ? 0 : self.index(after: number - 1)
        return index < edits.count && edits[index].number == number && !edits[index].isVoid ? index : nil
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
