import DefaultsCore

/// What is to be done after a transition of `LiveState`, once its lock is let go.
struct LiveEffects {
    /// What changed, as search lists see it.
    private(set) var changes: [(list: SearchList, changes: [EffectiveChange])] = []
    /// Who has something to take.
    var wakeUps: [WakeUp] = []
    /// Who waits for what has come.
    var latches: [Latch] = []
    /// What is wrong with files.
    var problems: [DefaultsError] = []
    /// The languages whose values are to be made: a search list asks for them.
    var languages: Set<String> = []
    /// Whether the session is to be asked for something.
    var needsSession = false
    /// Whether the calling thread sends the edits itself, unless other requests come first.
    var isSentByCaller = false

    mutating func add(_ changes: [EffectiveChange], in list: SearchList) {
        if !changes.isEmpty { self.changes.append((list, changes)) }
    }

    mutating func add(_ other: LiveEffects) {
        changes += other.changes
        wakeUps += other.wakeUps
        latches += other.latches
        problems += other.problems
        languages.formUnion(other.languages)
        needsSession = needsSession || other.needsSession
        isSentByCaller = isSentByCaller || other.isSentByCaller
    }
}
