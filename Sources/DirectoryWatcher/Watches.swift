/// The watches that are set, by their purpose and by their number.
///
/// If two places are one directory, they share a watch.
struct Watches {
    struct Watch {
        var identity: DirectoryIdentity
        var number: Int32
        /// Whether the kernel may have ended the watch without an event reaching us.
        var mayBeStale = false
    }

    private var watches: [WatcherState.WatchRole: Watch] = [:]
    private var roles: [Int32: Set<WatcherState.WatchRole>] = [:]

    /// The number of watches.
    var count: Int { roles.count }

    /// All places that have a watch.
    var allRoles: some Sequence<WatcherState.WatchRole> { watches.keys }

    /// The numbers of all watches.
    var numbers: Set<Int32> { Set(roles.keys) }

    /// Returns the places that share a watch.
    func roles(of number: Int32) -> Set<WatcherState.WatchRole> { roles[number] ?? [] }

    /// The watch of a place; `nil` if it has none.
    subscript(place: WatcherState.WatchRole) -> Watch? {
        get { watches[place] }
        set {
            if let old = watches[place] {
                roles[old.number]?.remove(place)
                if roles[old.number]?.isEmpty == true { roles[old.number] = nil }
            }
            watches[place] = newValue
            if let newValue { roles[newValue.number, default: []].insert(place) }
        }
    }

    /// Marks every watch as possibly stale.
    mutating func doubt() {
        for place in watches.keys { watches[place]?.mayBeStale = true }
    }
}
