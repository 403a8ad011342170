/// The current watches, by role and by number.
///
/// If one directory has several roles, they share a watch.
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

    /// All roles that have a watch.
    var allRoles: some Sequence<WatcherState.WatchRole> { watches.keys }

    /// The numbers of all watches.
    var numbers: Set<Int32> { Set(roles.keys) }

    /// Returns the roles that share a watch.
    func roles(of number: Int32) -> Set<WatcherState.WatchRole> { roles[number] ?? [] }

    /// The watch of a role; `nil` if it has none.
    subscript(role: WatcherState.WatchRole) -> Watch? {
        get { watches[role] }
        set {
            if let old = watches[role] {
                roles[old.number]?.remove(role)
                if roles[old.number]?.isEmpty == true { roles[old.number] = nil }
            }
            watches[role] = newValue
            if let newValue { roles[newValue.number, default: []].insert(role) }
        }
    }

    /// Marks every watch as possibly stale.
    mutating func markAllStale() {
        for role in watches.keys { watches[role]?.mayBeStale = true }
    }
}
