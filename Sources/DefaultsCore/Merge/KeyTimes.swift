/// The times at which the keys of a version that a store saved were last set or removed.
///
/// The times of the keys that changed last are known. For the others, there is one time that isn't earlier than any of
/// theirs.
package struct KeyTimes: Hashable, Sendable {
    /// The time of the newest change.
    package var newest: Timestamp
    /// An upper bound for the times of the keys that aren't listed; `nil` if it is unknown.
    var others: Timestamp?
    /// The times by the hash of the key.
    private(set) var listed: [ContentHash: Timestamp]

    /// The maximum number of keys that are listed, since an attribute of a file has to hold them.
    private static let capacity = 32

    package init(newest: Timestamp, others: Timestamp? = nil, listed: [ContentHash: Timestamp] = [:]) {
        self.newest = newest
        self.others = others
        self.listed = listed
    }

    /// The time of a key's last change, or else the earliest time by which it had happened.
    package subscript(key: String) -> Timestamp { listed[Self.hash(of: key)] ?? others ?? newest }

    /// Returns whether a key is known to have been changed after one time, and no later than another.
    ///
    /// A time in the future tells nothing: the clock was ahead.
    func haveChange(to key: String, after time: Timestamp, until now: Timestamp) -> Bool {
        listed[Self.hash(of: key)].map { time < $0 && $0 <= now } ?? false
    }

    /// Returns the times of a version with these edits that replaces another.
    ///
    /// - Parameters:
    ///   - edits: The edits that the new version adds.
    ///   - earlier: The times of the version that it replaces; `nil` if a foreign writer wrote that.
    ///   - time: The time when the version that it replaces was written; `nil` if there is none.
    /// - Returns: The times; `nil` without edits.
    static func after(_ edits: [String: Edit], on earlier: KeyTimes?, writtenAt time: Timestamp?) -> KeyTimes? {
        guard let newest = edits.values.map(\.time).max() else { return nil }
        var times = KeyTimes(
            newest: max(newest, earlier?.newest ?? newest), others: earlier?.others ?? time,
            listed: earlier?.listed ?? [:])
        for (key, edit) in edits { times.listed[hash(of: key)] = edit.time }
        guard times.listed.count > capacity else { return times }
        let oldestFirst = times.listed.sorted { $0.value < $1.value }
        for (key, time) in oldestFirst.prefix(times.listed.count - capacity) {
            times.listed[key] = nil
            times.others = max(times.others ?? time, time)
        }
        return times
    }

    private static func hash(of key: String) -> ContentHash { ContentHash(Array(key.utf8)) }
}

extension KeyTimes {
    /// The times of all but the newest change as words: that of the keys that aren't listed, and each listed key's.
    var words: [String] {
        [others.map { "\($0.nanoseconds)" } ?? "-"] + listed.map { "\($0):\($1.nanoseconds)" }
    }

    /// Creates times from words; those that can't be parsed are ignored.
    init(newest: Timestamp, words: ArraySlice<String>) {
        self.init(
            newest: newest, others: words.first.flatMap { Int64($0) }.map(Timestamp.init(nanoseconds:)))
        for word in words.dropFirst() {
            let parts = word.split(separator: ":")
            guard parts.count == 2, let key = UInt64(parts[0], radix: 16), let time = Int64(parts[1]) else { continue }
            listed[ContentHash(value: key)] = Timestamp(nanoseconds: time)
        }
    }
}
