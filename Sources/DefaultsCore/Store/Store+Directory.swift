import Glibc
import Linux

/// The directory's disappearance, and its creation before a save.
///
/// A directory that is gone may have been removed, with its files. Or it was moved, or its file system was unmounted,
/// and it is expected to come back with them. Only the open directory tells which.
extension Store {
    /// Opens the directory, so that it can be told later whether it was removed.
    ///
    /// Only a resident store keeps it open. Reads from the disk.
    func followDirectory() {
        guard lifetime == .resident else { return }
        openDirectory.withLock { open in
            guard let status = try? FileStatus(at: directory.path) else { return }
            if let known = try? open?.status(), known.isSame(as: status) { return }
            // Without an open directory, a missing one counts as moved.
            open = try? FileDescriptor(opening: directory.path, O_RDONLY | O_DIRECTORY | O_NONBLOCK)
        }
    }

    /// Creates the directory if it is missing and may be created.
    ///
    /// If a new directory took the place of one that was moved, the files would seem to have been removed.
    func makeDirectory() throws(DefaultsError) {
        if isDirectoryRemoved {
            // A program may be about to put another directory there.
            var backoff = Backoff(from: .milliseconds(10), to: .milliseconds(10), timeout: .milliseconds(250))
            while isDirectoryRemoved, backoff.wait() {}
            if isDirectoryRemoved {
                // The files are about to be found missing. Unsaved edits stand.
                markFilesUnreachable()
                try directory.make()
            }
        } else {
            let hasHeldFiles = state.withLock { state in
                state.domains.contains { $0.user == .current && $1.hash != nil }
            }
            if !hasHeldFiles { try directory.makeIfUsual() }
        }
        followDirectory()
    }

    /// Whether the directory has been removed, and nothing has taken its place.
    private var isDirectoryRemoved: Bool {
        directory.isMissing && openDirectory.withLock { $0?.isRemovedDirectory ?? false }
    }

    /// Records that the files of all domains in the directory are inaccessible because the directory is.
    func markFilesUnreachable() {
        let domains = state.withLock { $0.domains.keys.filter { $0.user == .current } }
        for domain in domains { markUnreachable(of: domain) }
    }
}
