import DefaultsCore

/// The names whose domains are here, but that nobody uses at present.
///
/// Some are kept, since programs open a suite for each use of it. Every call takes the same time on average.
struct IdleNames: Sendable {
    /// The names, oldest first, each with the turn in which it was added; an entry whose turn isn't the name's is void.
    private var order: ArraySlice<(name: DomainName, turn: UInt64)> = []
    private var turns: [DomainName: UInt64] = [:]
    private var lastTurn: UInt64 = 0

    /// The number of names that are kept.
    static let capacity = 32
    /// The number of names that are taken at once.
    private static let batch = 1_024

    /// Whether there are more than are kept.
    var hasExcess: Bool { turns.count > Self.capacity }

    mutating func add(_ name: DomainName) {
        lastTurn += 1
        turns[name] = lastTurn
        order.append((name, lastTurn))
        // Else a name that is used again and again would fill the order while nothing is taken from it.
        if order.count > 2 * turns.count + Self.batch { order = order.filter { turns[$0.name] == $0.turn }[...] }
    }

    mutating func remove(_ name: DomainName) { turns[name] = nil }

    /// Takes the oldest names beyond those that are kept, or as many of them as are dealt with at once.
    mutating func takeExcess() -> [DomainName] {
        var taken: [DomainName] = []
        while hasExcess, taken.count < Self.batch, let (name, turn) = order.popFirst() {
            if turns[name] != turn { continue }
            turns[name] = nil
            taken.append(name)
        }
        return taken
    }
}
