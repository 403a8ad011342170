internal import Glibc
internal import Linux

/// The setting of watches on the directories that the paths currently lead to.
///
/// Watches are set from the top down. Once the directory above is watched, an event reports if a directory is created,
/// removed or replaced after it was opened, and the paths are then checked again.
extension DirectoryWatcher {
    /// Checks the directory's path and sets missing watches.
    func arm() -> WatcherStatus.Mode {
        for _ in 0..<4 {
            let ancestor = armAncestor()
            do {
                let directory = try OpenPath(directory)
                if let mode = try arm(directory) { return mode }
            } catch {
                // The awaited directory was created after the ancestor was opened, so a nearer ancestor now exists.
                if error.number == ENOENT, let ancestor, ancestor != self.directory,
                    (try? OpenPath(ancestor)) != nil
                {
                    continue
                }
                // The directory can't be examined for lack of resources: keep its watches until the next identity
                // check.
                if error.isShortage, mode == .inotify { return .inotify }
                loseContents(of: self.directory)
                return .waiting(WatcherStatus.WaitingReason(errno: error.number))
            }
        }
        // The path changes as fast as it can be checked. Try again after the rearm interval.
        state.requestCheck()
        return .waiting(.missing)
    }

    /// Watches the directory and its subdirectories; returns `nil` if the directory has been removed in the meantime.
    private func arm(_ directory: borrowing OpenPath) throws(SystemCall.Failure) -> WatcherStatus.Mode? {
        do {
            return try arm(directory, at: self.directory)
        } catch {
            switch error.number {
            case ENOENT:
                return nil
            case ENOSPC, ENOMEM:
                let failure = InotifyFailure.noWatch(errno: error.number)
                giveUpInotify(failure)
                return .polling(.inotifyUnavailable(failure))
            default:
                throw error
            }
        }
    }

    /// Watches a companion and those of its subdirectories that exist.
    ///
    /// The directories above aren't watched: the next check of the paths finds a companion that has appeared or been
    /// replaced.
    func arm(companion path: String) -> WatcherStatus.Mode {
        do {
            return try arm(OpenPath(path), at: path)
        } catch {
            // Keep the companion's watches, since ending them would mark a rescan with every check of the paths.
            if error.number == ENOSPC { return .polling(.inotifyUnavailable(.noWatch(errno: error.number))) }
            if error.isShortage, companionModes[path] == .inotify { return .inotify }
            loseContents(of: path)
            return .waiting(WatcherStatus.WaitingReason(errno: error.number))
        }
    }

    /// Watches a directory and its subdirectories.
    private func arm(
        _ directory: borrowing OpenPath, at path: String
    ) throws(SystemCall.Failure) -> WatcherStatus.Mode {
        if let name = unreportingFileSystem(directory, at: path) {
            loseContents(of: path)
            return .polling(.fileSystem(name: name))
        }
        try arm(role(of: path), on: directory, for: .contents)
        for name in configuration.subdirectories {
            // Open the subdirectory by its path and not relative to the open directory. If the directory has been
            // replaced in the meantime, an event from the directory above is already on its way.
            let subdirectory: OpenPath
            do {
                subdirectory = try OpenPath(path + "/" + name)
            } catch {
                if error.isShortage { return .inotify }
                lose(role(of: path, subdirectory: name))
                continue
            }
            try arm(role(of: path, subdirectory: name), on: subdirectory, for: .contents)
        }
        return .inotify
    }

    /// Returns the role of a watch on the main directory, a companion, or a subdirectory of either.
    private func role(of path: String, subdirectory: String? = nil) -> WatcherState.WatchRole {
        if path != directory { return .companion(path, subdirectory: subdirectory) }
        return subdirectory.map { .subdirectory($0) } ?? .directory
    }

    /// Returns the name of the file system, if the directory or a subdirectory is on one that doesn't report every
    /// change.
    ///
    /// This is checked before any watch is set, since setting watches in vain would mark a rescan with every poll.
    private func unreportingFileSystem(_ directory: borrowing OpenPath, at path: String) -> String? {
        if let name = configuration.unreportingFileSystems[directory.fileSystem] { return name }
        for name in configuration.subdirectories {
            guard let subdirectory = try? OpenPath(path + "/" + name) else { continue }
            if let name = configuration.unreportingFileSystems[subdirectory.fileSystem] { return name }
        }
        return nil
    }

    /// Watches the nearest directory above the main one that can be opened.
    ///
    /// - Returns: The path one step down from that directory toward the main one; `nil` if no such directory can be
    ///   opened.
    private func armAncestor() -> String? {
        var next = directory
        while next != "/", Path.hasSeparator(next) {
            let path = Path.directory(of: next)
            state.awaitedName = Path.lastName(of: next)
            do {
                let ancestor = try OpenPath(path)
                // If the watch can't be set, the identity check detects the changes.
                if (try? arm(.ancestor, on: ancestor, for: .entries)) == nil { lose(.ancestor) }
                return next
            } catch {
                if error.isShortage { return nil }
            }
            next = path
        }
        lose(.ancestor)
        return nil
    }

    /// Watches the directory that currently has a role, unless it is already watched, and finds the links in it.
    func arm(
        _ role: WatcherState.WatchRole, on directory: borrowing OpenPath, for mask: InotifyMask
    ) throws(SystemCall.Failure) {
        guard state.needsWatch(role, identity: directory.identity) else { return }
        guard let watch = try inotify?.watch(directory, for: mask) else { return }
        end(state.armed(role, identity: directory.identity, watch: watch))
        let isListed =
            switch role {
            case .ancestor, .linked, .file: true
            case .directory: findLinks(in: directory)
            case .subdirectory(let name): findLinks(in: directory, prefix: name + "/")
            case .companion(let path, let name):
                findLinks(in: directory, prefix: name.map { $0 + "/" } ?? "", below: path + "/")
            }
        if !isListed { state.doubt(role) }
    }

    func lose(_ role: WatcherState.WatchRole) { end(state.lost(role)) }

    private func loseContents(of path: String) {
        lose(role(of: path))
        for name in configuration.subdirectories { lose(role(of: path, subdirectory: name)) }
    }

    private func end(_ watch: Int32?) {
        if let watch { inotify?.unwatch(watch) }
    }
}

extension SystemCall.Failure {
    /// Whether descriptors or memory have run out, so that the error says nothing about the path.
    var isShortage: Bool { [EMFILE, ENFILE, ENOMEM].contains(number) }
}

extension WatcherStatus.WaitingReason {
    /// Creates the reason that corresponds to an error from opening a directory.
    init(errno code: Int32) {
        self =
            switch code {
            case ENOENT: .missing
            case ENOTDIR: .notADirectory
            default: .unreadable(errno: code)
            }
    }
}
