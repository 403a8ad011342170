/// What is to be looked at again: the hints gathered since the last ``DirectoryWatcher/take()``.
///
/// A name is relative to the watched directory: `com.example.plist`, `ByHost/com.example.plist`. One in a companion is an
/// absolute path: the companion's, a slash, and such a name. That a name is here
/// says only "look at it": what has become of it, is for `stat` and the content to say. The kernel merges and drops
/// events, so nothing may be concluded from how often, or in which order, names turn up.
package struct DirtyNames: Sendable, Equatable {
    /// Why every name is to be looked at.
    package enum RescanReason: Sendable, Hashable {
        /// The watcher has just started: nothing is known yet.
        case started
        /// The kernel's queue overflowed: events are lost.
        case overflow
        /// The directory, or one of its subdirectories, has appeared, vanished, or been replaced by another.
        case replaced
        /// A companion's, or its subdirectory's, owner or mode was changed, which says who may have written what is in it.
        case permissions
        /// The link `..data` was switched, as Kubernetes does to publish a volume: every file behind it is new.
        case linkSwitched
        /// ``DirectoryWatcher/requestRescan()`` was called.
        case requested
        /// inotify went out, and polling has taken over.
        case polled
        /// Two names differ in their bytes and are the same text, "é" in one scalar and in two: a set holds one of them.
        case namesAlike
    }

    /// Names to look at now.
    package var changed: Set<String> = []

    /// Names that are being written by a writer that hasn't closed them: look again in a while.
    ///
    /// A name that is in ``changed`` is never here too. When its writer closes the file, it moves to ``changed``.
    package var beingWritten: Set<String> = []

    /// Why everything is to be looked at.
    ///
    /// The first reason, if there are several. `nil` if only the names are.
    package var rescan: RescanReason?

    package init(changed: Set<String> = [], beingWritten: Set<String> = [], rescan: RescanReason? = nil) {
        self.changed = changed
        self.beingWritten = beingWritten.subtracting(changed)
        self.rescan = rescan
    }

    /// Whether there is nothing to look at.
    package var isEmpty: Bool { changed.isEmpty && beingWritten.isEmpty && rescan == nil }

    /// Adds what was gathered later.
    mutating func merge(_ later: DirtyNames) {
        for name in later.changed.union(later.beingWritten) { compare(name) }
        changed.formUnion(later.changed)
        beingWritten.formUnion(later.beingWritten)
        beingWritten.subtract(changed)
        rescan = rescan ?? later.rescan
    }

    /// Adds a name to look at now.
    mutating func noteChange(of name: String) {
        compare(name)
        changed.insert(name)
        beingWritten.remove(name)
    }

    /// Adds a name that is being written.
    ///
    /// Who looks at a changed name now, sees what is written by now too.
    mutating func noteWriting(to name: String) {
        compare(name)
        if !changed.contains(name) { beingWritten.insert(name) }
    }

    /// Marks everything if a name is about to be taken for another one.
    private mutating func compare(_ name: String) {
        for names in [changed, beingWritten] {
            guard let index = names.firstIndex(of: name), !names[index].utf8.elementsEqual(name.utf8) else { continue }
            rescan = rescan ?? .namesAlike
        }
    }
}
