/// The current watches, and the names that their events mark as dirty: pure, with no I/O and no clock.
///
/// The thread passes events to ``receive(_:)``. While it checks the paths, it records changes to the watches with
/// ``armed(_:identity:watch:)`` and ``lost(_:)``. It gets the results from ``dequeueDirtyNames()`` and ``checkIsDue``.
struct WatcherState {
    /// The purpose of a watch.
    enum WatchRole: Hashable, Sendable {
        /// The nearest directory above the main one that can be opened, usually its parent.
        case ancestor
        case directory
        case subdirectory(String)
        /// A companion, given by its path, or a subdirectory of it.
        case companion(String, subdirectory: String?)
        /// A directory that holds the targets of links.
        case linked(String)
        /// A file, given by its name, that can change without an event for its directory.
        case file(String)
    }

    private var watches = Watches()
    private let subdirectories: Set<String>
    private let isRelevant: @Sendable (String) -> Bool
    private var dirty = DirtyNames()
    /// The roles that have ever had a watch.
    private var known: Set<WatchRole> = []
    /// Names that have appeared and may be links or tied files.
    private var arrivals: Set<String> = []

    /// The names that are links or tied files.
    private(set) var links = Links()

    /// The name in the ancestor whose appearance or disappearance matters.
    var awaitedName = ""

    /// Whether the paths need to be checked again.
    private(set) var checkIsDue = true

    private(set) var overflows = 0
    private(set) var rescans = 0
    private(set) var rearms = 0
    private(set) var undecodableNames = 0

    init(subdirectories: [String], isRelevant: @escaping @Sendable (String) -> Bool) {
        self.subdirectories = Set(subdirectories)
        self.isRelevant = isRelevant
    }

    /// The number of watches held.
    var watchCount: Int { watches.count }

    // MARK: Events

    /// Processes an event.
    mutating func receive(_ event: InotifyEvent) {
        if event.mask.contains(.overflow) {
            overflows += 1
            markRescan(.overflow)
            // The end of a watch may be among the lost events, and ext4 may have reused the inode for a new directory.
            watches.markAllStale()
            checkIsDue = true
            return
        }
        // The queue may still hold events of a former watch, which has no roles. Its directory was replaced, and a
        // rescan is already marked.
        for role in watches.roles(of: event.watch) { receive(event, at: role) }
    }

    private mutating func receive(_ event: InotifyEvent, at role: WatchRole) {
        if event.mask.contains(.ignored) {
            // The kernel has ended the watch, so its number must not be used again, not even to remove the watch.
            forget(role)
            recordReplacement(of: role)
            checkIsDue = true
            return
        }
        if !event.mask.isDisjoint(with: [.deleteSelf, .moveSelf, .unmount]) {
            checkIsDue = true
            recordReplacement(of: role)
            return
        }
        switch event.name {
        case .none:
            if case .file(let name) = role {
                record(event.mask, of: name)
                // The file may have lost its other links.
                if event.mask.contains(.attributes) { arrivals.insert(name) }
                return
            }
            checkIsDue = true  // the directory's own permissions changed
            if case .companion = role { markRescan(.permissions) }
        case .undecodable:
            if role.holdsDomains { undecodableNames += 1 }
        case .name(let name):
            switch role {
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
                    record(event.mask, of: link)
                    // The link may now lead elsewhere or nowhere.
                    if event.mask.isDisjoint(with: [.closeWrite, .modify]) { arrivals.insert(link) }
                }
            case .file: break
            }
        }
    }

    private mutating func receive(_ mask: InotifyMask, name: String, entry: String, below start: String = "") {
        if entry == "..data", !mask.isDisjoint(with: [.create, .movedTo]) {
            markRescan(.linkSwitched)
            // The links that lead through it now lead elsewhere.
            if !links.isEmpty { checkIsDue = true }
        } else if isRelevant(name) {
            // No event reports that a file gets another hard link elsewhere, so look with each other event.
            if mask != .modify { arrivals.insert(start + name) }
            record(mask, of: start + name)
        }
    }

    private mutating func record(_ mask: InotifyMask, of name: String) {
        // The writer hasn't closed the file yet, so a read might see half of its output.
        if mask.isDisjoint(with: [.closeWrite, .movedTo, .movedFrom, .delete, .create, .attributes]) {
            dirty.recordWriting(to: name)
        } else {
            dirty.recordChange(of: name)
        }
    }

    /// Records that the contents of a directory with this role may have changed without an event.
    private mutating func recordReplacement(of role: WatchRole) {
        switch role {
        case .ancestor: break
        case .linked(let path): recordChanges(of: links.names(into: path))
        case .file(let name): recordChanges(of: [name])
        case .directory, .subdirectory, .companion: markRescan(.replaced)
        }
    }

    /// Records the names that a comparison of listings has found.
    mutating func recordChanges(of names: some Sequence<String>) {
        for name in names { dirty.recordChange(of: name) }
    }

    /// Marks everything dirty; the first reason stays.
    mutating func markRescan(_ reason: DirtyNames.RescanReason) {
        guard dirty.rescan == nil else { return }
        dirty.rescan = reason
        rescans += 1
    }

    /// Returns everything that has accumulated, and clears it.
    mutating func dequeueDirtyNames() -> DirtyNames {
        let dequeued = dirty
        dirty = DirtyNames()
        return dequeued
    }

    // MARK: Links

    /// Records a name that existed before its directory was watched and may be a link or a tied file.
    mutating func recordArrival(of name: String, below start: String = "") {
        if isRelevant(name) { arrivals.insert(start + name) }
    }

    /// Records a name that couldn't be examined and may be a link or a tied file.
    mutating func postpone(_ name: String) { arrivals.insert(name) }

    /// Records the current target of a link, or the current state of a tied file.
    mutating func recordLink(_ name: String, to target: Links.Target) {
        links[name] = target
        dirty.recordChange(of: name)
    }

    /// Records that a name is neither a link nor a tied file.
    mutating func forgetLink(_ name: String) {
        if links[name] != nil { links[name] = nil }
    }

    /// Returns the names that may be links or tied files, and clears them.
    mutating func dequeueArrivals() -> Set<String> {
        defer { arrivals = [] }
        return arrivals
    }

    /// The directories that links lead into and that aren't watched.
    var unwatchedLinkDirectories: [String] { links.directories.filter { watches[.linked($0)] == nil } }

    /// The directories watched for links that no link leads into anymore.
    var unusedLinkDirectories: [String] {
        watches.allRoles.compactMap {
            if case .linked(let path) = $0, !links.lead(into: path) { path } else { nil }
        }
    }

    // MARK: Watches

    /// Requests a check of the paths.
    mutating func requestCheck() { checkIsDue = true }

    /// Records that a check of the paths has begun.
    mutating func beginCheck() { checkIsDue = false }

    /// Returns whether the directory that currently has a role needs a watch.
    func needsWatch(_ role: WatchRole, identity: DirectoryIdentity) -> Bool {
        guard let watch = watches[role] else { return true }
        return watch.mayBeStale || watch.identity != identity
    }

    /// Records that a watch was set.
    ///
    /// Changes before the watch was set went unseen, so a rescan is marked, or the links that lead into the directory.
    ///
    /// - Returns: The number of a watch that is no longer needed and must be ended.
    mutating func armed(_ role: WatchRole, identity: DirectoryIdentity, watch number: Int32) -> Int32? {
        let old = watches[role]
        watches[role] = Watches.Watch(identity: identity, number: number)
        guard old?.number != number || old?.identity != identity else { return nil }
        if !known.insert(role).inserted { rearms += 1 }
        recordReplacement(of: role)
        return unneeded(old)
    }

    /// Marks a role's watch for renewal, because the directory couldn't be listed when the watch was set.
    mutating func doubt(_ role: WatchRole) { watches[role]?.mayBeStale = true }

    /// Marks every watch for renewal, so that all directories are listed again.
    mutating func doubtAll() { watches.markAllStale() }

    /// Records that no directory has a role anymore.
    ///
    /// - Returns: The number of a watch that is no longer needed and must be ended.
    mutating func lost(_ role: WatchRole) -> Int32? {
        guard let old = watches[role] else { return nil }
        forget(role)
        recordReplacement(of: role)
        return unneeded(old)
    }

    /// Forgets every watch.
    ///
    /// - Returns: The watches' numbers, which must be ended if the library stays in use.
    mutating func forgetWatches() -> Set<Int32> {
        defer { watches = Watches() }
        return watches.numbers
    }

    private mutating func forget(_ role: WatchRole) {
        watches[role] = nil
        // The number of such roles is unbounded over time.
        switch role {
        case .linked, .file: known.remove(role)
        case .ancestor, .directory, .subdirectory, .companion: break
        }
    }

    private func unneeded(_ watch: Watches.Watch?) -> Int32? {
        guard let watch, watches.roles(of: watch.number).isEmpty else { return nil }
        return watch.number
    }
}

extension WatcherState.WatchRole {
    /// Whether a directory with this role holds domains, whose names are reported.
    fileprivate var holdsDomains: Bool {
        switch self {
        case .ancestor, .linked, .file: false
        case .directory, .subdirectory, .companion: true
        }
    }
}
