internal import Glibc
internal import Linux

/// Links to files elsewhere: the directories that hold what they lead to are watched as well.
///
/// What no event tells, a link further on the way or a directory above that leads elsewhere now, the next look at the
/// paths finds: it compares what `stat` says, and so it does where no watch is to be had.
extension WatchThread {
    /// Finds the links in a directory that is watched from now on.
    ///
    /// - Returns: Whether the directory could be listed.
    func findLinks(in directory: borrowing OpenDirectory, prefix: String = "", below start: String = "") -> Bool {
        guard let stream = try? openListing(".", below: directory.descriptor) else { return false }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            // Some file systems don't say what an entry is.
            guard [DT_LNK, DT_UNKNOWN].contains(Int(entry.pointee.d_type)) else { continue }
            state.noteArrival(of: prefix + entryName(entry), below: start)
        }
        return true
    }

    /// Looks at all links, and at the names that may be links by now.
    func lookAtLinks() {
        for name in state.takeArrivals().union(state.links.all) { lookAtLink(name) }
        armLinkDirectories(Array(state.links.directories))
    }

    /// Looks at the names that may be links by now.
    func lookAtArrivals() {
        let names = state.takeArrivals()
        if names.isEmpty { return }
        for name in names { lookAtLink(name) }
        armLinkDirectories(state.unwatchedLinkDirectories)
    }

    /// Watches directories that links lead into, and no longer those that none does.
    ///
    /// What came before a watch is found by whoever looks at the names that are reported then.
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

    private func lookAtLink(_ name: String) {
        let path = Path.isAbsolute(name) ? name : directory + "/" + name
        let signature: FileSignature
        do {
            signature = try FileSignature(path)
        } catch {
            // While its directory can't be searched, say, nothing is known of it.
            if [ENOENT, ENOTDIR].contains(error.code) { state.forgetLink(name) } else { state.postpone(name) }
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
