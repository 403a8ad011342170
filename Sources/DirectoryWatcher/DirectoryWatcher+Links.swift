internal import Glibc
internal import Linux

/// The handling of links to files elsewhere, whose targets' directories are also watched, and of tied files
/// (`FileTies`), which are watched themselves.
///
/// Each check of the paths compares the results of `stat` for each of them. This detects what no event reports: a
/// changed link further along the path, a directory above that now leads elsewhere, or a change to a target that can't
/// be watched.
extension DirectoryWatcher {
    /// Finds the links and the tied files in a directory on which a watch was just set.
    ///
    /// - Returns: Whether the directory could be listed.
    func findLinks(in directory: borrowing OpenPath, prefix: String = "", below start: String = "") -> Bool {
        guard let listing = try? DirectoryListing(".", below: directory.descriptor) else { return false }
        while let entry = try? listing.next() {
            guard let name = entry.name, configuration.isRelevant(prefix + name) else { continue }
            if entry.mayBeLink || !FileTies(ofFileAt: name, in: directory.descriptor).isEmpty {
                state.recordArrival(of: prefix + name, below: start)
            }
        }
        return true
    }

    /// Checks all links and tied files, and the names that may have become one.
    func checkLinks() {
        for name in state.dequeueArrivals().union(state.links.all) { checkLink(name) }
        armLinkDirectories(Array(state.links.directories))
    }

    /// Checks the names that may have become links or tied files.
    func checkArrivals() {
        let names = state.dequeueArrivals()
        if names.isEmpty { return }
        for name in names { checkLink(name) }
        armLinkDirectories(state.unwatchedLinkDirectories)
    }

    /// Watches directories that links lead into, and ends the watches on directories that no link leads into anymore.
    ///
    /// Setting a watch reports the links as changed, so the consumer also finds earlier changes.
    private func armLinkDirectories(_ paths: [String]) {
        for path in paths {
            do {
                try arm(.linked(path), on: OpenPath(path), for: .linked)
            } catch {
                if !error.isShortage { lose(.linked(path)) }
            }
        }
        for path in state.unusedLinkDirectories { lose(.linked(path)) }
    }

    private func checkLink(_ name: String) {
        let path = Path.isAbsolute(name) ? name : directory + "/" + name
        let signature: FileSignature
        do {
            signature = try FileSignature(path)
        } catch {
            // The state of the name is unknown, for example because its directory can't be searched.
            if [ENOENT, ENOTDIR].contains(error.number) { forgetLink(name) } else { state.postpone(name) }
            return
        }
        if !signature.isLink {
            if FileTies(ofFileAt: path).isEmpty { return forgetLink(name) }
            // If the file can't be watched, the checks of the paths detect its changes.
            try? arm(.file(name), on: OpenPath(file: path), for: .file)
        }
        let old = state.links[name]
        if let old, !signature.mayDiffer(from: old.signature) { return }
        let target = signature.isLink ? realpath(path, nil) : nil
        defer { free(target) }
        state.recordLink(
            name, to: Links.Target(path: target.map { String(cString: $0) } ?? old?.path, signature: signature))
    }

    private func forgetLink(_ name: String) {
        state.forgetLink(name)
        lose(.file(name))
    }
}
