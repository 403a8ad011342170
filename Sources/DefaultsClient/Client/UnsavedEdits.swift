import DefaultsCore
import PropertyList

/// The edits of this process that aren't known to be saved, and the progress of each.
///
/// An edit is sent, then accepted by the session, then saved. If the session is lost, the edit is resent to the next
/// session.
///
/// The average time of a call doesn't depend on the number of edits, with two exceptions. The start of a session visits
/// all edits, and another writer's change to a key visits those of the domain.
struct UnsavedEdits: Sendable {
    /// The edits, oldest first; void edits are removed from time to time.
    private var edits: [UnsavedEdit] = []
    /// The number of edits that aren't void.
    private var count = 0
    /// The numbers of each domain's edits, oldest first; some belong to void edits.
    private var numbers: [Domain: ArraySlice<UInt64>] = [:]
    /// The number of the last edit.
    private(set) var last: UInt64 = 0
    /// The number of the last edit that was sent to this session.
    private var lastSent: UInt64 = 0
    /// The number of the last edit that was sent to any session.
    private var everAsked: UInt64 = 0
    /// The number of the last edit that must not be joined with later ones.
    private var sealed: UInt64 = 0
    /// The number of edits that the session has yet to process.
    private(set) var unaccepted = 0
    /// The number of edits above which accepted edits are joined.
    private var limit = Self.backlog
    /// The values that keys may have by conditional edits of this process whose outcome is unknown, until the keys'
    /// values are known again.
    private var undecided: [Domain: FormerValues] = [:]

    /// The number of edits that stay separate, so that others see each of them.
    ///
    /// Edits of a longer burst are joined if they haven't been sent yet, or have been accepted.
    static let backlog = 256

    var isEmpty: Bool { count == 0 }

    /// Returns whether there are edits of a domain.
    func has(_ domain: Domain) -> Bool { numbers[domain] != nil }

    /// Returns the number of edits up to one that the session has yet to process.
    func unaccepted(upTo number: UInt64) -> Int {
        unaccepted == 0 ? 0 : edits[..<index(after: number)].count { !$0.isAccepted && !$0.isVoid }
    }

    /// Adds an edit.
    ///
    /// - Returns: The edit's number, which is the previous edit's if the two were joined.
    mutating func add(_ edit: UnsavedEdit) -> UInt64 {
        var edit = edit
        if let undecided = undecided[edit.domain] {
            for key in edit.values.keys { if let values = undecided[key] { edit.since[key, default: []] += values } }
        }
        let isBehind = last >= max(lastSent, everAsked) + UInt64(Self.backlog)
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

    /// Prevents later edits from being joined with existing ones.
    ///
    /// - Returns: The number of the last existing edit.
    mutating func seal() -> UInt64 {
        sealed = last
        return last
    }

    /// Returns whether an edit up to a number was sent again under a later number, and isn't known to be saved.
    func hasSentAgain(upTo number: UInt64) -> Bool {
        edits[index(after: number)...].contains { !$0.isVoid && $0.first != 0 && $0.first <= number }
    }

    /// Dequeues the requests for the edits that the session hasn't been sent yet.
    mutating func dequeueUnsent(session: UInt64) -> [EditRequest] {
        defer {
            lastSent = last
            everAsked = max(everAsked, lastSent)
        }
        return edits[index(after: lastSent)...].lazy.filter { !$0.isVoid }.map {
            $0.request(session: session, isAgain: $0.isLate || $0.number <= everAsked)
        }
    }

    /// Begins a new session, to which all edits must be sent.
    ///
    /// - Returns: All edits, oldest first.
    mutating func beginSession() -> [UnsavedEdit] {
        compact()
        lastSent = edits.first.map { $0.number - 1 } ?? last
        for index in edits.indices {
            edits[index].isAccepted = false
            edits[index].isMade = false
        }
        unaccepted = count
        return edits
    }

    /// Removes all edits in a forked child, since the parent saves them.
    ///
    /// - Returns: The edits, oldest first.
    mutating func startOver() -> [UnsavedEdit] {
        compact()
        defer {
            (edits, numbers, undecided) = ([], [:], [:])
            (count, unaccepted) = (0, 0)
            (lastSent, everAsked) = (last, last)
        }
        return edits
    }

    /// Records that the session has processed an edit.
    ///
    /// - Returns: The edit; `nil` if it is already saved or otherwise void.
    mutating func accept(_ number: UInt64) -> UnsavedEdit? {
        guard let index = find(number) else { return nil }
        if !edits[index].isAccepted { unaccepted -= 1 }
        edits[index].isAccepted = true
        return edits[index]
    }

    /// Records that the session has made an edit, which it hasn't accepted yet.
    mutating func markMade(_ number: UInt64) {
        if let index = find(number) { edits[index].isMade = true }
    }

    /// Removes an edit that was refused.
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

    /// Removes the saved edits of a domain, which are all edits up to a number.
    mutating func removeSaved(of domain: Domain, upTo number: UInt64) {
        guard var left = numbers.removeValue(forKey: domain) else { return }
        while let first = left.first, first <= number {
            if let index = find(first) {
                decide(edits[index].values.keys, of: domain)
                void(index)
            }
            left.removeFirst()
        }
        if !left.isEmpty { numbers[domain] = left }
        compactIfVoid()
    }

    /// Removes keys that another writer has changed since the session made their edits, so that they aren't resent.
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

    /// Records values set by a conditional edit of this process while edits of the same keys are pending.
    mutating func recordOwn(_ changes: [KeyChange], of domain: Domain) {
        for number in numbers[domain] ?? [] {
            guard let index = find(number), !edits[index].isAccepted, !edits[index].isMade else { continue }
            for change in changes where edits[index].values[change.key] != nil {
                edits[index].since[change.key, default: []].append(change.new)
            }
        }
    }

    /// Records the values of a conditional edit of this process whose outcome is unknown.
    ///
    /// Later edits of the same keys don't know whether they replace these values. Otherwise, when they are resent, the
    /// conditional edit would be mistaken for another writer's.
    mutating func recordUndecided(_ values: Difference, of domain: Domain, after number: UInt64) {
        for (key, value) in values where undecided[domain]?[key]?.contains(value) != true {
            undecided[domain, default: [:]][key, default: []].append(value)
        }
        for number in numbers[domain]?.filter({ $0 > number }) ?? [] {
            guard let index = find(number) else { continue }
            for (key, value) in values where edits[index].values[key] != nil {
                edits[index].since[key, default: []].append(value)
            }
        }
    }

    /// Forgets the values of conditional edits of some keys, whose present values are known.
    mutating func decide(_ keys: some Sequence<String>, of domain: Domain) {
        guard !undecided.isEmpty, var left = undecided.removeValue(forKey: domain) else { return }
        for key in keys { left[key] = nil }
        if !left.isEmpty { undecided[domain] = left }
    }

    /// Voids an edit that isn't void yet.
    private mutating func void(_ index: Int) {
        count -= 1
        if !edits[index].isAccepted { unaccepted -= 1 }
        edits[index].values = [:]
    }

    private mutating func dropVoidNumbers(of domain: Domain) {
        guard let left = numbers.removeValue(forKey: domain)?.filter({ find($0) != nil }), !left.isEmpty else { return }
        numbers[domain] = left[...]
    }

    /// Removes void edits once they are the majority.
    private mutating func compactIfVoid() {
        if edits.count > 2 * count + 64 { compact() }
    }

    private mutating func compact() { edits.removeAll { $0.isVoid } }

    /// Joins accepted edits: of several edits of a key, the last remains, with the value that the first one replaced.
    ///
    /// If the session is lost, the file may hold a value of one of the other edits, which must then be recognized as
    /// set by this process.
    private mutating func join() {
        var earlier: [Domain: [String: Int]] = [:]
        for index in edits.indices where edits[index].isAccepted && !edits[index].isVoid {
            let domain = edits[index].domain
            for key in edits[index].values.keys {
                if let former = earlier[domain]?[key] {
                    // Remove the array first, so that appending doesn't copy it.
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

    /// Returns the index of an edit that isn't void.
    private func find(_ number: UInt64) -> Int? {
        let index = number == 0 ? 0 : self.index(after: number - 1)
        return index < edits.count && edits[index].number == number && !edits[index].isVoid ? index : nil
    }

    /// Returns the index of the first edit after a number.
    private func index(after number: UInt64) -> Int {
        var (low, high) = (0, edits.count)
        while low < high {
            let middle = (low + high) / 2
            if edits[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
