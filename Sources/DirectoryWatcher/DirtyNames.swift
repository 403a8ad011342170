/// The hints collected since the last ``DirectoryWatcher/read(checkingPaths:)``: names to read again.
///
/// A name is relative to the watched directory: `com.example.plist`, `ByHost/com.example.plist`. A name in a companion
/// is an absolute path: the companion's path, a slash, and such a relative name. A name means only "read this again";
/// `stat` and the contents tell the file's state. The kernel merges and drops events, so the number and order of names
/// mean nothing.
package struct DirtyNames: Sendable, Equatable {
    /// The reason why everything needs to be read again.
    package enum RescanReason: Sendable, Hashable {
        /// The watcher has just started, and nothing is known yet.
        case started
        /// The kernel's queue overflowed, and events were lost.
        case overflow
        /// The directory or one of its subdirectories has appeared, vanished, or been replaced.
        case replaced
        /// The owner or mode of a companion or its subdirectory changed, so other users may have written its files.
        case permissions
        /// The link `..data` was switched, which is how Kubernetes updates a volume: every file behind the link is new.
        case linkSwitched
        /// ``DirectoryWatcher/requestRescan()`` was called.
        case requested
        /// inotify became unavailable, and polling has taken over.
        case polled
        /// Two names have different bytes but are equal strings, such as composed and decomposed "é". A set can hold
        /// only one of them.
        case namesAlike
    }

    /// Names to read now.
    package var changed: Set<String> = []

    /// Names of files that have been written to but not yet closed; read them again later.
    ///
    /// A name in ``changed`` is never in this set. When the writer closes the file, the name moves to ``changed``.
    package var beingWritten: Set<String> = []

    /// The reason why everything needs to be read again; `nil` if only the collected names do.
    ///
    /// If there are several reasons, this is the first.
    package var rescan: RescanReason?

    package init(changed: Set<String> = [], beingWritten: Set<String> = [], rescan: RescanReason? = nil) {
        self.changed = changed
        self.beingWritten = beingWritten.subtracting(changed)
        self.rescan = rescan
    }

    /// Whether there is nothing to read.
    package var isEmpty: Bool { changed.isEmpty && beingWritten.isEmpty && rescan == nil }

    /// Adds a name to read now.
    mutating func recordChange(of name: String) {
        compare(name)
        changed.insert(name)
        beingWritten.remove(name)
    }

    /// Adds a name that is being written.
    ///
    /// A name already in `changed` isn't added, since the read that is already due also sees what has been written
    /// since.
    mutating func recordWriting(to name: String) {
        compare(name)
        if !changed.contains(name) { beingWritten.insert(name) }
    }

    /// Marks a rescan if a name is equal, as a string, to a collected name with different bytes.
    private mutating func compare(_ name: String) {
        for names in [changed, beingWritten] {
            guard let index = names.firstIndex(of: name), !names[index].utf8.elementsEqual(name.utf8) else { continue }
            rescan = rescan ?? .namesAlike
        }
    }
}
