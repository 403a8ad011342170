import DefaultsCore
import PropertyList

/// Everything that was written to the keys of one domain during a trial, and when, so that their final values can be
/// judged.
///
/// Not thread-safe: a trial's threads take turns.
struct Ledger {
    /// Whether a write took place.
    enum Outcome: Hashable {
        /// It was acknowledged, or completed by a foreign writer.
        case certain
        /// It failed, or its answer is missing: it may have taken place, or may still.
        case unknown
        /// It was refused.
        case refused
    }

    private struct Write {
        var value: PropertyListValue?
        var began: Int
        /// The end of a certain write.
        var ended: Int?
        var outcome = Outcome.unknown
        var isEdit: Bool
    }

    /// A write to some keys that has begun.
    struct Token {
        fileprivate var indices: [String: Int] = [:]
    }

    private var writes: [String: [Write]] = [:]
    private var time = 0

    /// Creates a ledger of a domain that has values.
    init(_ values: DomainValues = [:]) {
        let token = begin(values.mapValues { $0 })
        end(token, .certain)
    }

    /// The outcomes of the writes to each key, in order.
    var outcomes: [String: [Outcome]] { writes.mapValues { $0.map(\.outcome) } }

    /// All keys that have been written.
    var keys: [String] { writes.keys.sorted() }

    /// Records the beginning of a write; a value of `nil` removes the key.
    ///
    /// An edit takes place as a whole, or not at all.
    mutating func begin(_ values: Difference, isEdit: Bool = false) -> Token {
        time += 1
        var token = Token()
        for (key, value) in values {
            token.indices[key] = writes[key, default: []].count
            writes[key, default: []].append(Write(value: value, began: time, isEdit: isEdit))
        }
        return token
    }

    /// Records the end of a write.
    mutating func end(_ token: Token, _ outcome: Outcome) {
        time += 1
        for (key, index) in token.indices {
            writes[key]?[index].outcome = outcome
            if outcome == .certain { writes[key]?[index].ended = time }
        }
    }

    /// Retracts that the last writes of some keys certainly took place.
    mutating func doubt(_ keys: some Sequence<String>) {
        for key in keys {
            guard let last = writes[key]?.indices.last, writes[key]?[last].outcome == .certain else { continue }
            writes[key]?[last].outcome = .unknown
            writes[key]?[last].ended = nil
        }
    }

    /// Returns the values that a key may finally have: those of writes after which no other has certainly begun.
    func allowed(_ key: String) -> [PropertyListValue?] {
        let made = (writes[key] ?? []).filter { $0.outcome != .refused }
        let last = made.filter { write in
            !made.contains { $0.outcome == .certain && $0.began > write.ended ?? .max }
        }
        // A key that perhaps no program has written may be missing.
        return last.map(\.value) + (made.contains { $0.outcome == .certain } ? [] : [nil])
    }

    /// Returns whether one write was the last one to all of some keys.
    func isOneWrite(_ keys: some Sequence<String>) -> Bool { Set(keys.map { writes[$0]?.last?.began }).count == 1 }

    /// Returns the keys of edits that are there in part.
    ///
    /// Of an edit that was the last write to some keys, the values of some are there, and those of others aren't.
    private func torn(_ values: DomainValues) -> [String] {
        let last = writes.filter { _, all in
            // A value that was there before, too, says nothing; neither does a key that was never there.
            guard let last = all.last, last.isEdit else { return false }
            let former = all.dropLast().map(\.value)
            return !former.contains(last.value) && !(former.isEmpty && last.value == nil)
        }
        return Dictionary(grouping: last.keys) { last[$0]?.last?.began }.values.flatMap { keys in
            let made = keys.filter { values[$0] == writes[$0]?.last?.value }
            return made.count == keys.count ? [] : made
        }.sorted()
    }

    /// Returns the breaches of the promises about values.
    func findings(_ values: DomainValues) -> [String] {
        let torn = torn(values)
        let breaches: [String] = Set(keys).union(values.keys).sorted().compactMap { key in
            let allowed = allowed(key)
            if allowed.contains(values[key]) { return nil }
            let isKnown = values[key] == nil || (writes[key] ?? []).contains { $0.value == values[key] }
            let promise = isKnown ? Promise.nothingLost : .nothingInvented
            return "\(promise.rawValue): \(key) is \(text(values[key])), not "
                + "\(allowed.map(text).joined(separator: " or "))."
        }
        return breaches + (torn.isEmpty ? [] : ["\(Promise.whole.rawValue): of an edit, only \(torn) are there."])
    }

    private func text(_ value: PropertyListValue?) -> String {
        switch value {
        case nil: "missing"
        case .string(let text)?: "\"\(text.prefix(40))\""
        case let value?: "\(value)"
        }
    }
}
