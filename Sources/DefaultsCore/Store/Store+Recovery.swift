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
        guard let file = try? FileDescriptor(opening: path, O_RDONLY), let status = try? file.status(),
            let bytes = try? file.read(upTo: Int(status.st_size))
        else { return }
        let hash = ContentHash(bytes)
        if hash != temporary.expected, hash != temporary.new, !bytes.isEmpty,
            (try? PropertyListValue.read(bytes, limits: limits)) != nil
        {
            // A foreign writer's, displaced in the moment of the crash: what it belongs to is told by the name's hash.
            let names = (try? directory.domains())?.map { directory.path(of: $0) } ?? []
            let original = names.first { TemporaryFile.hash(ofNameAt: $0) == temporary.target } ?? "\(place)/recovered"
            guard (try? AsideFile.keep(bytes, of: original, because: .displaced)) != nil else { return }
        }
        unlink(path)
    }
}
