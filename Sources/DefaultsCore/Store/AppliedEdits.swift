/// The last applied edit of each session.
///
/// It remembers at most 4,096 sessions, and forgets those with the oldest last edits. That is enough, since a session
/// resends edits within moments of losing its connection.
struct AppliedEdits: Sendable {
    static let capacity = 4_096

    /// The number of each session's last edit, and the position of that among all edits.
    private var last: [UInt64: (number: UInt64, position: UInt64)] = [:]
    private var count: UInt64 = 0

    /// The number of each session's last edit.
    var numbers: [UInt64: UInt64] { last.mapValues(\.number) }

    /// The last edit of each session, newest first.
    var newestFirst: [EditIdentity] {
        last.sorted { $0.value.position > $1.value.position }.map {
            EditIdentity(session: $0.key, number: $0.value.number)
        }
    }

    /// Returns whether an edit has been applied already.
    func holds(_ edit: EditIdentity) -> Bool {
        last[edit.session].map { edit.number <= $0.number } ?? false
    }

    /// Records that an edit has been applied.
    mutating func insert(_ edit: EditIdentity) {
        count += 1
        last[edit.session] = (max(edit.number, last[edit.session]?.number ?? 0), count)
        // Remove half of the sessions at once, since they have to be sorted.
        guard last.count > Self.capacity else { return }
        let oldest = last.sorted { $0.value.position < $1.value.position }.prefix(Self.capacity / 2)
        for (session, _) in oldest { last[session] = nil }
    }
}
