internal import Glibc

/// Links to files elsewhere: the directories that hold what they lead to are watched as well.
///
/// What no event tells, a link further on the way or a directory above that leads elsewhere now, the next look at the
/// paths finds: it compares what `stat` says, and so it does where no watch is to be had.
extension WatchThread {
    /// Finds the links in a directory that is watched from now on.
    func findLinks(in directory: borrowing OpenDirectory, prefix: String = "", below start: String = "") {
        let descriptor = openat(directory.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        guard let stream = fdopendir(descriptor) else {
            close(descriptor)
            return
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            // Some file systems don't say what an entry is.
            guard [DT_LNK, DT_UNKNOWN].contains(Int(entry.pointee.d_type)) else { continue }
            state.noteArrival(of: prefix + entryName(entry), below: start)
        }
    }

    /// Looks at all links, and at the names that may be links by now.
    func lookAtLinks() {
        lookAtLinks(state.takeArrivals().union(state.links.all))
    }

    /// Looks at the names that may be links by now.
    func lookAtArrivals() {
        let names = state.takeArrivals()
        if !names.isEmpty { lookAtLinks(names) }
    }

    private func lookAtLinks(_ names: Set<String>) {
        let now = Duration.sinceEpoch
        for name in names { lookAtLink(name, at: now) }
        // What came before a watch is found by whoever looks at the names that are reported then.
        for path in state.links.directories {
            let place = WatcherState.Place.linked(path)
            if (try? arm(place, OpenDirectory(path), for: .contents)) == nil { lose(place) }
        }
        for place in state.unusedLinkPlaces { lose(place) }
    }

    private func lookAtLink(_ name: String, at now: Duration) {
        let path = name.hasPrefix("/") ? name : directory + "/" + name
        let old = state.links[name]
        guard let signature = PollingScan.Signature(path, at: now), signature.isLink else {
            if old != nil { state.links[name] = nil }
            return
        }
        if let old, !signature.mayDiffer(from: old.signature) { return }
        let target = realpath(path, nil)
        defer { free(target) }
        state.links[name] = Links.Target(path: target.map { String(cString: $0) }, signature: signature)
        state.noteChanges(of: [name])
    }
}
