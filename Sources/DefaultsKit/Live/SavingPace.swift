import DefaultsCore

/// How long a session waits before it sees again to edits that aren't saved, and what it has told of them.
///
/// Pure; it knows no clock.
struct SavingPace {
    /// The pause before the next attempt, in milliseconds.
    private(set) var pause: Int64
    private let first: Int64
    private var told: Set<DefaultsError> = []
    private static let longest: Int64 = 60_000

    /// Begins with a pause, which is doubled with each failure.
    init(first: Int64) {
        self.first = first
        pause = first
    }

    /// Takes what came of an attempt.
    ///
    /// - Returns: what is to be told: each failure once, until an attempt has none.
    mutating func note(_ failures: [DefaultsError]) -> [SessionEvent] {
        if failures.isEmpty {
            self = SavingPace(first: first)
            return []
        }
        pause = min(pause * 2, Self.longest)
        return failures.filter { told.insert($0).inserted }.map { .trouble($0) }
    }
}
