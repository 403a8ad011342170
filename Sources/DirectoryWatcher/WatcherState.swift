/// What is watched, and what its events make dirty: pure, with no I/O and no clock.
///
/// The thread puts events in with ``receive(_:)``, and after looking at the paths says with ``armed(_:identity:watch:)``
/// and ``lost(_:)`` what is watched now; it takes out ``takeDirty()`` and ``checkIsDue``.
struct WatcherState {
    /// What a watch is for.
    enum Place: Hashable, Sendable {
        /// The nearest directory above that exists; its parent, as a rule.
        case ancestor
        case directory
        case subdirectory(String)
        /// A companion, by its path, or a subdirectory of it.
        case companion(String, subdirectory: String?)
        /// A directory that holds what links lead to.
        case linked(String)
    }

    private var watches = Watches()
    private let subdirectories: Set<String>
    private let isRelevant: @Sendable (String) -> Bool
    private var dirty = DirtyNames()
    /// Which places have ever had a watch.
    private var known: Set<Place> = []
    /// The names that have come, and may be links.
    private var arrivals: Set<String> = []

    /// The names that are links.
    private(set) var links = Links()

    /// The name in the ancestor whose coming and going matters.
    var awaitedName = ""

    /// Whether the paths are to be looked at again.
    private(set) var checkIsDue = true

    private(set) var overflows = 0
    private(set) var rescans = 0
    private(set) var rearms = 0
    private(set) var undecodableNames = 0

    init(subdirectories: [String], isRelevant: @escaping @Sendable (String) -> Bool) {
        self.subdirectories = Set(subdirectories)
        self.isRelevant = isRelevant
    }

    /// How many watches are held.
    var watchCount: Int { watches.count }

    // MARK: Events

    /// Takes in an event.
    mutating func receive(_ event: InotifyEvent) {
        if event.mask.contains(.overflow) {
            overflows += 1
            markRescan(.overflow)
            // The end of a watch may be among what was lost, and ext4 may have given the inode to a new directory.
            watches.doubt()
            checkIsDue = true
            return
        }
        // A watch that isn't ours any more has events in the queue still: what it watched was replaced, and a rescan
        // is marked already.
        for place in watches.places(of: event.watch) { receive(event, at: place) }
    }

    private mutating func receive(_ event: InotifyEvent, at place: Place) {
        if event.mask.contains(.ignored) {
            // The kernel has ended the watch: its number must not be used again, not even to remove it.
            forget(place)
            noteReplacement(of: place)
            checkIsDue = true
            return
        }
        if !event.mask.isDisjoint(with: [.deleteSelf, .moveSelf, .unmount]) {
            checkIsDue = true
            noteReplacement(of: place)
            return
        }
        switch event.name {
        case .none:
            checkIsDue = true  // the directory's own permissions
            if case .companion = place { markRescan(.permissions) }
        case .undecodable:
            if place.holdsDomains { undecodableNames += 1 }
        case .name(let name):
            switch place {
            case .ancestor: if name == awaitedName { checkIsDue = true }
            case .directory where subdirectories.contains(name),
                .companion(_, nil) where subdirectories.contains(name):
                checkIsDue = true
            case .directory: receive(event.mask, name: name, entry: name)
            case .subdirectory(let parent): receive(event.mask, name: parent + "/" + name, entry: name)
            case .companion(let path, let subdirectory):
                let relative = subdirectory.map { $0 + "/" + name } ?? name
                receive(event.mask, name: relative, entry: name, below: path + "/")
            case .linked(let path):
                for link in links.names(to: name, in: path) {
                    note(event.mask, of: link)
                    // It may lead further, or nowhere, from now on.
                    if event.mask.isDisjoint(with: [.closeWrite, .modify]) { arrivals.insert(link) }
                }
            }
        }
    }

    private mutating func receive(_ mask: InotifyMask, name: String, entry: String, below start: String = "") {
        if entry == "..data", !mask.isDisjoint(with: [.create, .movedTo]) {
            markRescan(.linkSwitched)
            // The links that lead through it lead elsewhere now.
            if !links.isEmpty { checkIsDue = true }
        } else if isRelevant(name) {
            if !mask.isDisjoint(with: [.create, .movedTo]) { arrivals.insert(start + name) }
            note(mask, of: start + name)
        }
    }

    private mutating func note(_ mask: InotifyMask, of name: String) {
        // A writer that is still at it: reading now would show the half of it.
        if mask.isDisjoint(with: [.closeWrite, .movedTo, .movedFrom, .delete, .create, .attributes]) {
            dirty.noteWriting(to: name)
        } else {
            dirty.noteChange(of: name)
        }
    }

    /// What a place holds may have changed, and no event has told or tells.
    private mutating func noteReplacement(of place: Place) {
        switch place {
        case .ancestor: break
        case .linked(let path): noteChanges(of: links.names(into: path))
        case .directory, .subdirectory, .companion: markRescan(.replaced)
        }
    }

    /// Takes in what a comparison of listings has found.
    mutating func noteChanges(of names: some Sequence<String>) {
        for name in names { dirty.noteChange(of: name) }
    }

    /// Marks everything dirty; the first reason stays.
    mutating func markRescan(_ reason: DirtyNames.RescanReason) {
        guard dirty.rescan == nil else { return }
        dirty.rescan = reason
        rescans += 1
    }

    /// Takes what has gathered.
    mutating func takeDirty() -> DirtyNames {
        let taken = dirty
        dirty = DirtyNames()
        return taken
    }

    // MARK: Links

    /// Takes in that a name was there before anyone watched, and may be a link.
    mutating func noteArrival(of name: String, below start: String = "") {
        if isRelevant(name) { arrivals.insert(start + name) }
    }

    /// Takes in that a name could not be looked at, and may be a link.
    mutating func postpone(_ name: String) { arrivals.insert(name) }

    /// Takes in what a link leads to now.
    mutating func noteLink(_ name: String, to target: Links.Target) {
        links[name] = target
        dirty.noteChange(of: name)
    }

    /// Takes in that a name is no link.
    mutating func forgetLink(_ name: String) {
        if links[name] != nil { links[name] = nil }
    }

    /// Takes the names that have come.
    mutating func takeArrivals() -> Set<String> {
        defer { arrivals = [] }
        return arrivals
    }

    /// The directories that links lead into, and which have no watch.
    var unwatchedLinkDirectories: [String] { links.directories.filter { watches[.linked($0)] == nil } }

    /// The directories that are watched and that no link leads into any more.
    var unusedLinkDirectories: [String] {
        watches.allPlaces.compactMap {
            if case .linked(let path) = $0, !links.lead(into: path) { path } else { nil }
        }
    }

    // MARK: Watches

    /// Asks for the paths to be looked at.
    mutating func requestCheck() { checkIsDue = true }

    /// The paths are being looked at.
    mutating func beginCheck() { checkIsDue = false }

    /// Whether a place, which is this directory now, has to be given a watch.
    func needsWatch(_ place: Place, identity: DirectoryIdentity) -> Bool {
        guard let watch = watches[place] else { return true }
        return watch.isDoubtful || watch.identity != identity
    }

    /// A watch was set.
    ///
    /// What happened before it, was seen by nobody: hence the rescan.
    ///
    /// - Returns: The number of a watch that nothing needs any more, to be ended.
    mutating func armed(_ place: Place, identity: DirectoryIdentity, watch number: Int32) -> Int32? {
        let old = watches[place]
        watches[place] = Watches.Watch(identity: identity, number: number)
        guard old?.number != number || old?.identity != identity else { return nil }
        if !known.insert(place).inserted { rearms += 1 }
        noteReplacement(of: place)
        return unneeded(old)
    }

    /// Not everything was seen of a place when its watch was set: it is to be set again.
    mutating func doubt(_ place: Place) { watches[place]?.isDoubtful = true }

    /// A place is no more.
    ///
    /// - Returns: The number of a watch that nothing needs any more, to be ended.
    mutating func lost(_ place: Place) -> Int32? {
        guard let old = watches[place] else { return nil }
        forget(place)
        noteReplacement(of: place)
        return unneeded(old)
    }

    /// Forgets every watch.
    ///
    /// - Returns: Their numbers, to be ended if the library lives on.
    mutating func forgetWatches() -> Set<Int32> {
        defer { watches = Watches() }
        return watches.numbers
    }

    private mutating func forget(_ place: Place) {
        watches[place] = nil
        // Any number of them may come and go.
        if case .linked = place { known.remove(place) }
    }

    private func unneeded(_ watch: Watches.Watch?) -> Int32? {
        guard let watch, watches.places(of: watch.number).isEmpty else { return nil }
        return watch.number
    }
}

extension WatcherState.Place {
    /// Whether names in it are reported as they are.
    fileprivate var holdsDomains: Bool {
        switch self {
        case .ancestor, .linked: false
        case .directory, .subdirectory, .companion: true
        }
    }
}
