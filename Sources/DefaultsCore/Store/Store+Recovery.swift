import Glibc
import PropertyList

extension Store {
    /// Keeps or removes the temporary files that a crash left behind.
    func keepLeftovers() throws(DefaultsError) {
        for subdirectory in ["", Domain.hostDirectory] {
            for name in try directory.names(in: subdirectory) {
                guard let temporary = TemporaryFile(name: name),
                    temporary.owner == getpid() || (kill(temporary.owner, 0) != 0 && errno == ESRCH)
                else { continue }
                let place = subdirectory.isEmpty ? directory.path : "\(directory.path)/\(subdirectory)"
                keepLeftover(temporary, at: "\(place)/\(name)", in: place)
            }
        }
    }

    private func keepLeftover(_ temporary: TemporaryFile, at path: String, in place: String) {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK) else { return }
        // What it belongs to is told by the name's hash.
        let names = (try? directory.domains())?.map { directory.path(of: $0) } ?? []
        let original = names.first { TemporaryFile.hash(ofNameAt: $0) == temporary.target } ?? "\(place)/recovered"
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
