internal import Glibc
internal import Linux

/// Setting watches where the paths lead to now.
///
/// The order is from above to below: once the directory above is watched, a directory that is made, removed or replaced
/// after it was opened shows as an event, and the paths are looked at again.
extension WatchThread {
    /// Looks at every path, and sets the watches that are missing.
    func arm() -> WatcherStatus.Mode {
        for _ in 0..<4 {
            let ancestor = armAncestor()
            do {
                let directory = try OpenDirectory(directory)
                if let mode = try arm(directory) { return mode }
            } catch {
                // The directory the ancestor waits for was made after the ancestor was opened: there is one nearer now.
                if error.code == ENOENT, let ancestor, ancestor != self.directory,
                    (try? OpenDirectory(ancestor)) != nil
                {
                    continue
                }
                // Nothing can be looked at: what is watched stays so until the next identity check.
                if error.isShortage, mode == .inotify { return .inotify }
                loseContents(of: self.directory)
                return .waiting(WatcherStatus.WaitingReason(errno: error.code))
            }
        }
        // It changes as fast as we look: come back when the back-off is over.
        state.requestCheck()
        return .waiting(.missing)
    }

    /// Watches the directory and its subdirectories; `nil` if it was removed meanwhile.
    private func arm(_ directory: borrowing OpenDirectory) throws(ErrorNumber) -> WatcherStatus.Mode? {
        do {
            return try arm(directory, at: self.directory)
        } catch {
            switch error.code {
            case ENOENT:
                return nil
            case ENOSPC, ENOMEM:
                let failure = InotifyFailure.noWatch(errno: error.code)
                giveUpLibrary(failure)
                return .polling(.inotifyUnavailable(failure))
            default:
                throw error
            }
        }
    }

    /// Watches a companion and its subdirectories, as far as they are there.
    ///
    /// Nothing above it is watched: that it has come, or is another one, is for the next look at the paths to find.
    func arm(companion path: String) -> WatcherStatus.Mode {
        do {
            return try arm(OpenDirectory(path), at: path)
        } catch {
            // What is watched of it stays so: to end that would mark a rescan with each look at the paths.
            if error.code == ENOSPC { return .polling(.inotifyUnavailable(.noWatch(errno: error.code))) }
            if error.isShortage, companionModes[path] == .inotify { return .inotify }
            loseContents(of: path)
            return .waiting(WatcherStatus.WaitingReason(errno: error.code))
        }
    }

    /// Watches a directory and its subdirectories.
    private func arm(
        _ directory: borrowing OpenDirectory, at path: String
    ) throws(ErrorNumber) -> WatcherStatus.Mode {
        if let name = unreportingFileSystem(directory, at: path) {
            loseContents(of: path)
            return .polling(.fileSystem(name: name))
        }
        try arm(place(path), directory, for: .contents)
        for name in configuration.subdirectories {
            // Opened by the path, and not below the open directory: should that have been replaced meanwhile, an
            // event of the directory above is on its way.
            let subdirectory: OpenDirectory
            do {
                subdirectory = try OpenDirectory(path + "/" + name)
            } catch {
                if error.isShortage { return .inotify }
                lose(place(path, name))
                continue
            }
            try arm(place(path, name), subdirectory, for: .contents)
        }
        return .inotify
    }

    /// What a watch is for on a directory, the watched one or a companion, or on a subdirectory of it.
    private func place(_ path: String, _ subdirectory: String? = nil) -> WatcherState.Place {
        if path != directory { return .companion(path, subdirectory: subdirectory) }
        return subdirectory.map { .subdirectory($0) } ?? .directory
    }

    /// The file system, if the directory or a subdirectory is on one that doesn't report every change.
    ///
    /// Asked before any watch is set, so that a poll sets none in vain: each would mark a rescan.
    private func unreportingFileSystem(_ directory: borrowing OpenDirectory, at path: String) -> String? {
        if let name = configuration.unreportingFileSystems[directory.fileSystem] { return name }
        for name in configuration.subdirectories {
            guard let subdirectory = try? OpenDirectory(path + "/" + name) else { continue }
            if let name = configuration.unreportingFileSystems[subdirectory.fileSystem] { return name }
        }
        return nil
    }

    /// Watches the nearest directory above that can be opened.
    ///
    /// - Returns: The path that leads one step down from it, towards the directory; `nil` if there is none above.
    private func armAncestor() -> String? {
        var next = directory
        while next != "/", Path.hasSeparator(next) {
            let path = Path.directory(of: next)
            state.awaitedName = Path.lastName(of: next)
            do {
                let ancestor = try OpenDirectory(path)
                // Without a watch here, the identity check does its work.
                if (try? arm(.ancestor, ancestor, for: .entries)) == nil { lose(.ancestor) }
                return next
            } catch {
                if error.isShortage { return nil }
            }
            next = path
        }
        lose(.ancestor)
        return nil
    }

    /// Watches a place, which is this directory now, unless it is watched already, and finds the links in it.
    func arm(
        _ place: WatcherState.Place, _ directory: borrowing OpenDirectory, for mask: InotifyMask
    ) throws(ErrorNumber) {
        guard state.needsWatch(place, identity: directory.identity) else { return }
        guard let watch = try library?.watch(directory, for: mask) else { return }
        end(state.armed(place, identity: directory.identity, watch: watch))
        let isListed =
            switch place {
            case .ancestor, .linked: true
            case .directory: findLinks(in: directory)
            case .subdirectory(let name): findLinks(in: directory, prefix: name + "/")
            case .companion(let path, let name):
                findLinks(in: directory, prefix: name.map { $0 + "/" } ?? "", below: path + "/")
            }
        if !isListed { state.doubt(place) }
    }

    func lose(_ place: WatcherState.Place) { end(state.lost(place)) }

    private func loseContents(of path: String) {
        lose(place(path))
        for name in configuration.subdirectories { lose(place(path, name)) }
    }

    private func end(_ watch: Int32?) {
        if let watch { library?.unwatch(watch) }
    }
}

extension ErrorNumber {
    /// Whether the error says nothing about the path: descriptors or memory are short.
    var isShortage: Bool { [EMFILE, ENFILE, ENOMEM].contains(code) }
}

extension WatcherStatus.WaitingReason {
    /// What it means that a directory can't be opened.
    init(errno code: Int32) {
        self =
            switch code {
            case ENOENT: .missing
            case ENOTDIR: .notADirectory
            default: .unreadable(errno: code)
            }
    }
}
