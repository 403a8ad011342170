import Glibc
import Linux
import PropertyList

extension Store {
    /// The file that a leftover belongs to.
    private struct Original {
        var path: String
        /// `nil` where no file is known that it could belong to.
        var domain: Domain?
    }

    /// Merges, keeps or removes the temporary files that a crash left behind, or a process that could not wait for a writer:
    /// in the directory, in `ByHost`, and beside the files that links in them lead to.
    ///
    /// Those that this store has displaced itself are left alone.
    ///
    /// - Returns: whether none is left that someone still has open for writing, or that can't be merged, removed or found.
    /// - Throws: `directory` when the directory can't be read.
    func keepLeftovers(_ inHand: inout FilesInHand) throws(DefaultsError) -> Bool {
        let ours = Set(inHand.temporaryPaths)
        var isDone = true
        var leftovers: [(temporary: TemporaryFile, path: String)] = []
        // By their names relative to the directory.
        var entries: [PreferencesDirectory.Entry] = []
        for subdirectory in ["", Domain.hostDirectory] {
            let prefix = subdirectory.isEmpty ? "" : subdirectory + "/"
            do throws(DefaultsError) {
                let found = try directory.entries(in: subdirectory)
                leftovers += Self.leftovers(among: found.map(\.name)).map { ($1, "\(directory.path)/\(prefix)\($0)") }
                entries += found.map { .init(name: prefix + $0.name, mayBeLink: $0.mayBeLink) }
            } catch {
                // What can't be listed for hosts is no reason to save nothing for any host.
                if subdirectory.isEmpty { throw error }
                isDone = false
            }
        }
        // Nearly always there is nothing: then no name of thousands is looked at further.
        let files = entries.filter { !leftovers.isEmpty || $0.mayBeLink }.compactMap { entry in
            Domain(fileName: entry.name).map { domain in
                let path = "\(directory.path)/\(entry.name)"
                return (original: Original(path: path, domain: domain), mayBeLink: entry.mayBeLink)
            }
        }
        // What a temporary file belongs to is told by the hash in its name: a file beside it, one that is gone by now, or a
        // link that leads there.
        let known = leftovers.isEmpty ? [] : state.withLock { $0.domains.keys.filter { $0.user == .current } }
        let gone = known.map { Original(path: directory.path(of: $0), domain: $0) }
        let originals = Dictionary(grouping: files.map(\.original) + gone) { TemporaryFile.hash(ofNameAt: $0.path) }
        for (temporary, path) in leftovers where !ours.contains(path) {
            let place = Path.directory(of: path)
            let candidates = originals[temporary.target] ?? []
            let original =
                candidates.first { Path.directory(of: $0.path) == place } ?? candidates.first
                ?? Original(path: "\(place)/recovered")
            if !keepLeftover(temporary, at: path, of: original, &inHand) { isDone = false }
        }
        var linked: [String: [ContentHash: Original]] = [:]
        for (original, mayBeLink) in files where mayBeLink {
            let path = original.path
            guard let real = try? DomainFile.resolvingLinks(path), real != path else { continue }
            linked[Path.directory(of: real), default: [:]][TemporaryFile.hash(ofNameAt: path)] = original
        }
        for (place, originals) in linked {
            // It may be shared with others, whose files are none of ours; and where it can't be read nothing is to be done.
            let names = (try? PreferencesDirectory(path: place).names(in: "")) ?? []
            for (name, temporary) in Self.leftovers(among: names) {
                let path = "\(place)/\(name)"
                guard let original = originals[temporary.target], !ours.contains(path) else { continue }
                if !keepLeftover(temporary, at: path, of: original, &inHand) { isDone = false }
            }
        }
        return isDone
    }

    private static func leftovers(among names: [String]) -> [(name: String, TemporaryFile)] {
        names.compactMap { name in TemporaryFile(name: name).map { (name, $0) } }
    }

    /// Merges, keeps or removes one leftover.
    ///
    /// - Returns: false when a process still has it in hand, or it can't be dealt with at present.
    private func keepLeftover(
        _ temporary: TemporaryFile, at path: String, of original: Original, _ inHand: inout FilesInHand
    ) -> Bool {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            guard try file.status().st_mode & S_IFMT == S_IFREG else { return true }
            // A process that lives, and looks at it again, has it locked: see `DisplacedFile`.
            if flock(file.number, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return false }
            let leftover = DomainFile(path: path, limits: limits)
            guard let (bytes, version, _) = try leftover.readWhole(file, patience: .wait) else { return false }
            if inHand.mergedLeftovers[path] != version.hash {
                let isOwn = PublicationMark(of: temporary.new, on: file) != nil
                guard try keep(bytes, version, isOwn, of: temporary, leftover, original) else { return false }
                inHand.mergedLeftovers[path] = version.hash
            }
            // As long as the disk has what it holds nowhere else.
            if isUnsaved(original.domain) { return false }
            inHand.mergedLeftovers[path] = nil
            return unlink(path) == 0 || errno == ENOENT
        } catch {
            switch error.number {
            // It is nobody's any more, or nobody's whom we could help.
            case ENOENT, EACCES, EPERM, ELOOP: return true
            // One too large to be read would be so another time, too.
            case EFBIG:
                return keep { () throws(SystemCall.Failure) in
                    try AsideFile.move(path, of: original.path, because: .displaced)
                }
            default: return false
            }
        }
    }

    /// Sees to it that nothing is lost with a leftover: merges it, or makes a copy.
    ///
    /// Whether it is marked as a store's own tells one that was never whole from a foreign writer's.
    ///
    /// - Returns: false when someone is writing to its original.
    private func keep(
        _ bytes: [UInt8], _ version: FileVersion, _ isOwn: Bool, of temporary: TemporaryFile, _ leftover: DomainFile,
        _ original: Original
    ) throws(SystemCall.Failure) -> Bool {
        let current = DomainFile(path: original.path, limits: limits).read(known: nil, patience: .insist)
        if version.hash == temporary.new {
            // The file may have been torn when it was written in place. It isn't written here all the same: someone may
            // have damaged it since, and be about to mend it; and a domain's file is replaced for its own edits alone.
            switch current {
            case .beingWritten: return false
            case .unusable:
                tellKept(try AsideFile.keep(bytes, of: original.path, because: .unpublished))
                if let domain = original.domain, case .contents(let contents) = leftover.parse(bytes, version) {
                    transition { state in ((), state.takeUnpublished(contents, of: domain, now: .now())) }
                }
            case .missing, .unchanged, .contents: break
            }
            return true
        }
        if version.hash == temporary.expected { return true }
        switch leftover.parse(bytes, version) {
        case .contents(let contents):
            // A foreign writer's, who still wrote to it when it was replaced.
            if merge(contents, temporary, of: original.domain), !contents.hasEquivalentKeys { return true }
        default:
            // Where there are no attributes: what was to replace the file, and was never whole, leaves the one before.
            if isOwn || temporary.expected.value == 0 || current.hash == temporary.expected { return true }
        }
        tellKept(try AsideFile.keep(bytes, of: original.path, because: .displaced))
        return true
    }

    /// Merges a version that an earlier agent replaced while its writer was still at it.
    ///
    /// - Returns: false when it isn't known what its writer had loaded: the log doesn't tell where the replaced version stands
    ///   in the history.
    private func merge(_ contents: FileContents, _ temporary: TemporaryFile, of domain: Domain?) -> Bool {
        guard publisher == .lasting, let domain else { return false }
        return transition { state in
            // Where the log has no mark of it, the version that took its place is the newest.
            let newest = state.domains[domain].flatMap { $0.file?.hash == temporary.new ? $0.merge.history.total : nil }
            guard let known = state.domains[domain], known.merge.history.count > 0,
                let total = known.earlierVersions[temporary.expected] ?? newest,
                known.merge.history.total - total <= known.merge.history.count
            else { return (false, []) }
            return (true, state.takeDisplaced(contents, of: domain, loadedBefore: total, now: .now()))
        }
    }
}

extension FileReading {
    /// The hash of what was read; `nil` for nothing.
    fileprivate var hash: ContentHash? {
        switch self {
        case .contents(let contents): contents.version.hash
        case .unchanged(let version): version.hash
        case .unusable(let damage): damage.version?.hash
        case .missing, .beingWritten: nil
        }
    }
}
