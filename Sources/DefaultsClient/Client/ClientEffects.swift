import DefaultsCore

/// The side effects of a `ClientState` transition, performed after its lock is released.
struct ClientEffects {
    /// The changes to the values that search lists find.
    private(set) var changes: [(list: SearchList, changes: [KeyChange])] = []
    /// The wake-ups of followers that have new items.
    var wakeUps: [WakeUp] = []
    /// The latches to open because the values have arrived, or won't arrive.
    var latches: [Latch] = []
    /// The problems with files that must be reported.
    var problems: [DefaultsError] = []
    /// The languages whose values must be loaded because a search list needs them.
    var languages: Set<String> = []
    /// Whether there are new requests for the session.
    var needsSession = false
    /// Whether the calling thread sends the edits itself, unless other requests come first.
    var isSentByCaller = false

    mutating func add(_ changes: [KeyChange], in list: SearchList) {
        if !changes.isEmpty { self.changes.append((list, changes)) }
    }

    mutating func add(_ other: ClientEffects) {
        changes += other.changes
        wakeUps += other.wakeUps
        latches += other.latches
        problems += other.problems
        languages.formUnion(other.languages)
        needsSession = needsSession || other.needsSession
        isSentByCaller = isSentByCaller || other.isSentByCaller
    }
}
