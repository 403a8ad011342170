import Glibc
import PropertyList

extension Store {
    /// Keeps or removes the temporary files that a crash left behind, or a process that could not wait for a writer: in the
    /// directory, in `ByHost`, and beside the files that links in them lead to.
    ///
    /// - Parameter ours: the paths of those that this store has displaced itself.
    /// - Returns: whether none is left that someone still has open for writing, or that can't be removed or found.
    /// - Throws: `directory` when the directory can't be read.
    func keepLeftovers(besides ours: [String]) throws(DefaultsError) -> Bool {
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
        let files = entries.filter { (!leftovers.isEmpty || $0.mayBeLink) && Domain(fileName: $0.name) != nil }
            .map { (path: "\(directory.path)/\($0.name)", mayBeLink: $0.mayBeLink) }
        // What a temporary file belongs to is told by the hash in its name: a file beside it, or a link that leads there.
        let originals = Dictionary(grouping: files.map(\.path)) { TemporaryFile.hash(ofNameAt: $0) }
        for (temporary, path) in leftovers where !ours.contains(path) {
            let place = DomainFile.directory(of: path)
            let candidates = originals[temporary.target] ?? []
            let original = candidates.first { DomainFile.directory(of: $0) == place } ?? candidates.first
            if !keepLeftover(temporary, at: path, of: original ?? "\(place)/recovered") { isDone = false }
        }
        var linked: [String: [ContentHash: String]] = [:]
        for (path, mayBeLink) in files where mayBeLink {
            let real = DomainFile.resolvingLinks(path)
            if real == path { continue }
            linked[DomainFile.directory(of: real), default: [:]][TemporaryFile.hash(ofNameAt: path)] = path
        }
        for (place, originals) in linked {
            // It may be shared with others, whose files are none of ours; and where it can't be read nothing is to be done.
            let names = (try? PreferencesDirectory(path: place).names(in: "")) ?? []
            for (name, temporary) in Self.leftovers(among: names) {
                let path = "\(place)/\(name)"
                guard let original = originals[temporary.target], !ours.contains(path) else { continue }
                if !keepLeftover(temporary, at: path, of: original) { isDone = false }
            }
        }
        return isDone
    }

    /// The temporary files whose process is gone, or is this one: numbers come again, and a version that is in hand here is
    /// open, and does without its name.
    private static func leftovers(among names: [String]) -> [(name: String, TemporaryFile)] {
        names.compactMap { name in
            guard let temporary = TemporaryFile(name: name),
                temporary.owner == getpid() || (kill(temporary.owner, 0) != 0 && errno == ESRCH)
            else { return nil }
            return (name, temporary)
        }
    }

    /// - Returns: false when someone has it open for writing, or it can't be removed.
    private func keepLeftover(_ temporary: TemporaryFile, at path: String, of original: String) -> Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK) else { return true }
        do throws(SystemCall.Failure) {
            let leftover = DomainFile(path: path, limits: limits)
            guard let (bytes, version, _) = try leftover.readWhole(file, patience: .wait) else { return false }
            if version.hash == temporary.new {
                // The file may have been torn when it was written in place. It isn't written here all the same: someone may
                // have damaged it since, and be about to mend it; and a domain's file is replaced for its own edits alone.
                switch DomainFile(path: original, limits: limits).read(known: nil, patience: .insist) {
                case .beingWritten: return false
                case .unusable: tellKept(try AsideFile.keep(bytes, of: original, because: .unpublished))
                case .missing, .unchanged, .contents: break
                }
            } else if version.hash != temporary.expected, !bytes.isEmpty,
                (try? PropertyListDocument(reading: bytes, limits: limits)) != nil
            {
                // A foreign writer's, displaced in the moment of the crash.
                tellKept(try AsideFile.keep(bytes, of: original, because: .displaced))
            }
            return unlink(path) == 0 || errno == ENOENT
        } catch {
            // Left for another time; but one too large to be read would be so then, too.
            if error.number == EFBIG, let copy = try? AsideFile.move(path, of: original, because: .displaced) {
                tellKept(copy)
            }
        }
        return true
    }
}
