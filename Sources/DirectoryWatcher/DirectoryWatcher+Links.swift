internal import Glibc
internal import Linux

/// The handling of links to files elsewhere, whose targets' directories are also watched.
///
/// Each check of the paths compares the results of `stat` for each link. This detects what no event reports: a changed
/// link further along the path, a directory above that now leads elsewhere, or a change to a target that can't be
/// watched.
extension DirectoryWatcher {
    /// Finds the links in a directory on which a watch was just set.
    ///
    /// - Returns: Whether the directory could be listed.
    func findLinks(in directory: borrowing OpenDirectory, prefix: String = "", below start: String = "") -> Bool {
        guard let listing = try? DirectoryListing(".", below: directory.descriptor) else { return false }
        while let entry = try? listing.next() {
            if entry.mayBeLink, let name = entry.name { state.noteArrival(of: prefix + name, below: start) }
        }
        return true
    }

    /// Checks all links, and the names that may have become links.
    func checkLinks() {
        for name in state.dequeueArrivals().union(state.links.all) { checkLink(name) }
        armLinkDirectories(Array(state.links.directories))
    }

    /// Checks the names that may have become links.
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
                try arm(.linked(path), OpenDirectory(path), for: .linked)
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
            if [ENOENT, ENOTDIR].contains(error.number) { state.forgetLink(name) } else { state.postpone(name) }
            return
        }
        guard signature.isLink else { return state.forgetLink(name) }
        let old = state.links[name]
        if let old, !signature.mayDiffer(from: old.signature) { return }
        let target = realpath(path, nil)
        defer { free(target) }
        state.noteLink(
            name, to: Links.Target(path: target.map { String(cString: $0) } ?? old?.path, signature: signature))
    }
}
