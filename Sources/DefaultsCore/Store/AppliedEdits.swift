/// The last applied edit of each session.
///
/// It remembers at most 4,096 sessions, and forgets those with the oldest first edits. That is enough, since a session
/// resends edits within moments of losing its connection.
struct AppliedEdits: Sendable {
    static let capacity = 4_096

    private var last: [UInt64: UInt64] = [:]
    private var sessions: [UInt64] = []

    /// Returns whether an edit has been applied already.
    func holds(_ edit: EditIdentity) -> Bool {
        last[edit.session].map { edit.number <= $0 } ?? false
    }

    /// Records that an edit has been applied.
    mutating func insert(_ edit: EditIdentity) {
        let known = last.updateValue(max(edit.number, last[edit.session] ?? 0), forKey: edit.session)
        guard known == nil else { return }
        sessions.append(edit.session)
        // Remove half of the sessions at once, since each removal shifts the rest.
        guard sessions.count > Self.capacity else { return }
        for session in sessions.prefix(Self.capacity / 2) { last[session] = nil }
        sessions.removeFirst(Self.capacity / 2)
    }
}
