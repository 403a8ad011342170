import Glibc
import PropertyList

extension Store {
    /// Keeps or removes the temporary files that a crash left behind: in the directory, in `ByHost`, and beside the files
    /// that links in them lead to.
    func keepLeftovers() throws(DefaultsError) {
        // What a temporary file belongs to is told by the hash in its name.
        var originals: [ContentHash: String] = [:]
        var linked: [String: [ContentHash: String]] = [:]
        for domain in try directory.domains() {
            let path = directory.path(of: domain)
            let hash = TemporaryFile.hash(ofNameAt: path)
            originals[hash] = path
            let real = DomainFile.resolvingLinks(path)
            if real != path { linked[DomainFile.directory(of: real), default: [:]][hash] = path }
        }
        for subdirectory in ["", Domain.hostDirectory] {
            let place = subdirectory.isEmpty ? directory.path : "\(directory.path)/\(subdirectory)"
            for (name, temporary) in Self.leftovers(among: try directory.names(in: subdirectory)) {
                keepLeftover(
                    temporary, at: "\(place)/\(name)", of: originals[temporary.target] ?? "\(place)/recovered")
            }
        }
        for (place, originals) in linked {
            // It may be shared with others, whose files are none of ours; and where it can't be read nothing is to be done.
            let names = (try? PreferencesDirectory(path: place).names(in: "")) ?? []
            for (name, temporary) in Self.leftovers(among: names) {
                guard let original = originals[temporary.target] else { continue }
                keepLeftover(temporary, at: "\(place)/\(name)", of: original)
            }
        }
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

    private func keepLeftover(_ temporary: TemporaryFile, at path: String, of original: String) {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK) else { return }
        do throws(SystemCall.Failure) {
            let leftover = DomainFile(path: path, limits: limits)
            guard let (bytes, version, _) = try leftover.readWhole(file, patience: .insist) else { return }
            if version.hash == temporary.new {
                // The file may have been torn when it was written in place. It isn't written here all the same: someone may
                // have damaged it since, and be about to mend it; and a domain's file is replaced for its own edits alone.
                switch DomainFile(path: original, limits: limits).read(known: nil, patience: .insist) {
                case .beingWritten: return
                case .unusable: _ = try AsideFile.keep(bytes, of: original, because: .unpublished)
                case .missing, .unchanged, .contents: break
                }
            } else if version.hash != temporary.expected, !bytes.isEmpty,
                (try? PropertyListValue.read(bytes, limits: limits)) != nil
            {
                // A foreign writer's, displaced in the moment of the crash.
                _ = try AsideFile.keep(bytes, of: original, because: .displaced)
            }
            unlink(path)
        } catch {
            // Left for another time; but one too large to be read would be so then, too.
            if error.number == EFBIG { _ = try? AsideFile.move(path, of: original, because: .displaced) }
        }
    }
}
