/// The last edit that was made of each session.
///
/// It remembers the sessions that made their first edit last, 4,096 of them: one that sends edits again does so within
/// moments of the loss of its connection.
struct EditLedger: Sendable {
    static let capacity = 4_096

    private var last: [UInt64: UInt64] = [:]
    private var sessions: [UInt64] = []

    /// Whether an edit has been made already.
    func holds(_ edit: EditIdentity) -> Bool {
        last[edit.session].map { edit.number <= $0 } ?? false
    }

    /// Notes that an edit has been made.
    mutating func note(_ edit: EditIdentity) {
        let known = last.updateValue(max(edit.number, last[edit.session] ?? 0), forKey: edit.session)
        guard known == nil else { return }
        sessions.append(edit.session)
        // Half at once, since the array moves what remains.
        guard sessions.count > Self.capacity else { return }
        for session in sessions.prefix(Self.capacity / 2) { last[session] = nil }
        sessions.removeFirst(Self.capacity / 2)
    }
}
