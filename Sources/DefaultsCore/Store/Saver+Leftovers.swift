import Glibc
import Linux
import PropertyList

extension Saver {
    /// The file that a leftover belongs to.
    private struct Original {
        var path: String
        /// The file's domain; `nil` if no known file matches the leftover.
        var domain: Domain?
    }

    /// A temporary file left by a crash, and its path.
    private typealias Leftover = (temporary: TemporaryName, path: String)

    /// Merges, backs up or removes temporary files left by a crash, or by a process that couldn't wait for a writer.
    ///
    /// It searches the directory, `ByHost`, and the directories that links in them lead to. It leaves alone the files
    /// that this store itself has displaced.
    ///
    /// - Throws: `directory` if the directory can't be read.
    mutating func handleLeftovers() throws(DefaultsError) {
        leftovers = .some
        let (found, links, isComplete) = try search()
        // There are almost never leftovers. Only they need all the other names, of which there may be thousands.
        let domains = found.isEmpty ? [] : try store.directory.visibleDomains().domains
        let areHandled = handle(found, of: originals(of: domains))
        // Some may remain: a program has one open for writing, one can't be merged, saved and removed yet, or a
        // directory can't be searched.
        if handleLinked(originals(of: links)), areHandled, isComplete { leftovers = .none }
    }

    private func originals(of domains: [Domain]) -> [Original] {
        let directory = store.directory
        return domains.map { Original(path: directory.path(of: $0), domain: $0) }
    }

    /// Searches the directory and `ByHost`.
    ///
    /// - Returns: The leftovers; the domains whose files are links, or may be; and whether both could be read.
    private func search() throws(DefaultsError) -> (leftovers: [Leftover], links: [Domain], isComplete: Bool) {
        var leftovers: [Leftover] = []
        var links: [Domain] = []
        var isComplete = true
        for subdirectory in ["", Domain.hostDirectory] {
            let prefix = subdirectory.isEmpty ? "" : subdirectory + "/"
            do throws(DefaultsError) {
                let found = try store.directory.entries(in: subdirectory) {
                    $0.mayBeLink || TemporaryName(name: $0.name) != nil
                }
                leftovers += Self.leftovers(among: found.map(\.name)).map {
                    ($1, "\(store.directory.path)/\(prefix)\($0)")
                }
                links += found.filter(\.mayBeLink).compactMap { Domain(fileName: prefix + $0.name) }
            } catch {
                // An unreadable `ByHost` is no reason to stop all saves.
                if subdirectory.isEmpty { throw error }
                isComplete = false
            }
        }
        return (leftovers, links, isComplete)
    }

    /// Handles leftovers in the directory and in `ByHost`.
    ///
    /// - Returns: Whether all could be dealt with.
    private mutating func handle(_ leftovers: [Leftover], of files: [Original]) -> Bool {
        if leftovers.isEmpty { return true }
        let ours = Set(displacedPaths)
        var isDone = true
        // The hash in a temporary file's name identifies its original: a file beside it, a file that has since been
        // removed, or a link to that directory.
        let known = store.state.withLock { $0.domains.keys.filter { $0.user == .current } }
        let originals = Dictionary(grouping: files + originals(of: known)) { TemporaryName.hash(ofNameAt: $0.path) }
        for (temporary, path) in leftovers where !ours.contains(path) {
            let parent = Path.directory(of: path)
            let candidates = originals[temporary.target] ?? []
            let original =
                candidates.first { Path.directory(of: $0.path) == parent } ?? candidates.first
                ?? Original(path: "\(parent)/recovered")
            if !handle(temporary, at: path, of: original) { isDone = false }
        }
        return isDone
    }

    /// Handles leftovers in the directories that links lead to.
    ///
    /// - Returns: Whether all could be dealt with.
    private mutating func handleLinked(_ links: [Original]) -> Bool {
        let ours = Set(displacedPaths)
        var isDone = true
        var linked: [String: [ContentHash: Original]] = [:]
        for original in links {
            let path = original.path
            guard let real = try? DomainFile.resolvingLinks(path), real != path else { continue }
            linked[Path.directory(of: real), default: [:]][TemporaryName.hash(ofNameAt: path)] = original
        }
        for (parent, originals) in linked {
            // The directory may be shared with other users; leave their files alone. If it can't be read, there is
            // nothing to do.
            let names = (try? PreferencesDirectory(path: parent).names(in: "")) ?? []
            let found = Self.leftovers(among: names).map { (temporary: $1, path: "\(parent)/\($0)") }
                .filter { originals[$0.temporary.target] != nil && !ours.contains($0.path) }
            guard let link = originals.values.first, !found.isEmpty else { continue }
            do throws(DefaultsError) {
                // A process that saves by the file's real path locks only that directory.
                let file = DomainFile(path: link.path, limits: store.limits)
                let lock = try file.lockTarget(beside: store.directory, timeout: 0)
                for (temporary, path) in found {
                    guard let original = originals[temporary.target] else { continue }
                    if !handle(temporary, at: path, of: original) { isDone = false }
                }
                _ = consume lock
            } catch {
                isDone = false
            }
        }
        return isDone
    }

    private static func leftovers(among names: [String]) -> [(name: String, TemporaryName)] {
        names.compactMap { name in TemporaryName(name: name).map { (name, $0) } }
    }

    /// Merges, backs up or removes one leftover.
    ///
    /// - Returns: False if a process still uses the leftover, or it can't be handled now.
    private mutating func handle(_ temporary: TemporaryName, at path: String, of original: Original) -> Bool {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(openingUnseen: path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            guard try file.status().isRegular else { return true }
            // A running process that will examine the file again holds a lock on it: see `DisplacedFile`.
            if flock(file.number, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return false }
            let leftover = DomainFile(path: path, limits: store.limits)
            guard let (bytes, version, _) = try leftover.readWhole(file, openWriters: .wait) else { return false }
            // The next agent needs it to find out whether the last one made its save.
            if store.lifetime == .transient, temporary.isAnnounced,
                [temporary.new, temporary.expected].contains(version.hash)
            {
                return false
            }
            if mergedLeftovers[path] != version.hash {
                let isOwn = temporary.new.flatMap { SaveMark(of: $0, on: file) } != nil
                guard
                    try preserve(
                        bytes, of: version, isOwn: isOwn, named: temporary, in: leftover, of: original)
                else { return false }
                mergedLeftovers[path] = version.hash
            }
            // Keep the leftover while its changes are nowhere else on the disk.
            if hasUnsavedForeignEdits(of: original.domain) { return false }
            mergedLeftovers[path] = nil
            return unlink(path) == 0 || errno == ENOENT
        } catch {
            switch error.number {
            // The file is gone, or this user may not access it.
            case ENOENT, EACCES, EPERM, ELOOP: return true
            // A file that is too large to be read will still be too large next time.
            case EFBIG:
                return backUp { () throws(SystemCall.Failure) in
                    try BackupFile.move(path, of: original.path, because: .displaced)
                }
            default: return false
            }
        }
    }

    /// Preserves the contents of a leftover: merges them, or makes a backup copy.
    ///
    /// `isOwn` says whether the leftover has a store's mark, which distinguishes an incomplete new version from a
    /// foreign writer's version.
    ///
    /// - Returns: False if a program is writing to the original.
    private func preserve(
        _ bytes: [UInt8], of version: FileVersion, isOwn: Bool, named temporary: TemporaryName,
        in leftover: DomainFile, of original: Original
    ) throws(SystemCall.Failure) -> Bool {
        let current = DomainFile(path: original.path, limits: store.limits).read(known: nil, openWriters: .readAnyway)
        if version.hash == temporary.new {
            // The original may be torn, since it was being written in place. Even so, don't rewrite it here. A foreign
            // writer may have damaged it since and be about to repair it, and a domain's file is replaced only to save
            // edits of that domain.
            switch current {
            case .beingWritten: return false
            case .unusable:
                store.reportCopy(try BackupFile.write(bytes, of: original.path, because: .unsaved))
                if let domain = original.domain, case .contents(let contents) = leftover.parse(bytes, of: version) {
                    store.transition { state in ((), state.applyUnsavedVersion(contents, of: domain, now: .now())) }
                }
            case .missing, .unchanged, .contents: break
            }
            return true
        }
        // An empty file has nothing to preserve: the save had just created it, or a program had truncated it.
        if version.hash == temporary.expected || bytes.isEmpty { return true }
        switch leftover.parse(bytes, of: version) {
        case .contents(var contents):
            if case .contents(let new) = current, new.version.hash == temporary.new {
                contents.setTime(displacedAfter: new.evidence.written)
            }
            // A foreign writer's version: the writer was still writing when the file was displaced.
            if merge(contents, from: temporary, of: original.domain), !contents.hasEquivalentKeys { return true }
        default:
            // On a file system without extended attributes: if the new version was incomplete, the expected one is
            // still in place.
            if isOwn || temporary.expected == nil || current.hash == temporary.expected { return true }
        }
        store.reportCopy(try BackupFile.write(bytes, of: original.path, because: .displaced))
        return true
    }

    /// Merges a version that an earlier agent displaced while its writer was still writing.
    ///
    /// - Returns: False if the version that the writer had loaded is unknown, because the log doesn't say where the
    ///   displaced version belongs among the others.
    private func merge(_ contents: FileContents, from temporary: TemporaryName, of domain: Domain?) -> Bool {
        guard store.lifetime == .resident, let domain else { return false }
        return store.transition { state in
            guard let known = state.domains[domain], known.merge.versions.count > 0,
                let expected = temporary.expected,
                let total = known.earlierVersions[expected] ?? known.merge.versions.total(of: expected),
                known.merge.versions.total - total <= known.merge.versions.count
            else { return (false, []) }
            return (true, state.applyDisplaced(contents, of: domain, loadedBefore: total, now: .now()))
        }
    }
}

extension FileReading {
    /// The hash of the bytes that were read; `nil` if there are none.
    fileprivate var hash: ContentHash? {
        switch self {
        case .contents(let contents): contents.version.hash
        case .unchanged(let version): version.hash
        case .unusable(let damage): damage.version?.hash
        case .missing, .beingWritten: nil
        }
    }
}
