import CLinux
import Glibc
import Linux
import PropertyList

extension DomainFile {
    /// Saves a new version of the file, unless the file has changed since it was last seen.
    ///
    /// The new version is written beside the file, made durable, and then exchanged with the file in one step. So
    /// readers see either the old version or the new one, and a crash leaves one of them. A foreign writer may still
    /// write between the last check and the exchange, so the displaced file is returned for examination. The caller
    /// must hold the directory's lock.
    ///
    /// The guarantee that nothing is lost requires RENAME_EXCHANGE, which all common local file systems support. On
    /// others (NFS, some FUSE file systems), the exchange takes two steps, and a file that another program renames into
    /// place between them is lost.
    ///
    /// A file is written in place if it has several hard links, is a mount point, or is in a directory that isn't
    /// writable. A foreign writer's changes between the last comparison and the write may then be lost. A crash may
    /// leave a torn file, with the complete new version beside it if the directory is writable.
    ///
    /// - Parameters:
    ///   - bytes: The new content; `nil` to remove the file.
    ///   - expected: The version last seen; `nil` if there should be no file.
    ///   - edits: The edits that the content adds, whose times are recorded for other stores.
    ///   - sessions: The last edits that the store has made, by session; `nil` if a log has them and what others made.
    ///   - lifetime: The lifetime of the store that saves.
    ///   - policy: The way to deal with a file that is open for writing.
    /// - Returns: The outcome, and the displaced file if the save was made.
    /// - Throws: `notSaved`. The file is then unchanged, unless the displaced file couldn't even be opened, or a file
    ///   that is written in place is torn.
    package func save(
        _ bytes: [UInt8]?, expecting expected: FileVersion?, adding edits: [String: Edit] = [:],
        after sessions: [EditIdentity]? = [], by lifetime: StoreLifetime = .resident,
        onObstacle policy: ObstaclePolicy = .wait
    ) throws(DefaultsError) -> SaveResult {
        do throws(SystemCall.Failure) {
            let target = try Self.resolvingLinks(path)
            // Don't create the missing target of a link: it may be on a file system that isn't mounted. Nor may the
            // target of a new link be removed, since the link would lead nowhere then.
            if target != path, bytes == nil || Path.isMissing(target) { return .fileChanged }
            let result = try Replacement(
                of: self, at: target, expecting: expected, adding: edits, after: sessions, by: lifetime,
                onObstacle: policy
            ).run(bytes)
            guard target != path, try Self.resolvingLinks(path) != target, !Path.isMissing(path) else {
                return result
            }
            // Another program has replaced the link meanwhile, so the domain has another file, without the edits. If it
            // was only removed, so were they.
            if case .unchanged? = result.displaced?.examine(known: expected) { result.displaced?.removeName() }
            return .fileChanged
        } catch {
            if error.number == EILSEQ {
                throw DefaultsError(
                    .notSaved,
                    "\(path) is a link to a name that is not UTF-8, so it can't be saved. \(lifetime.consequence)",
                    remedy: "Rename the file that it leads to, and link to the new name.",
                    errno: EILSEQ)
            }
            throw DefaultsError(.notSaved, errno: error.number, "\(path) can't be written").adding(lifetime.consequence)
        }
    }

    /// Backs up a file that isn't a property list and replaces it with its last good values, on a user's request.
    ///
    /// Links are followed. A file that is usable or missing is left as it is.
    ///
    /// - Parameters:
    ///   - values: The last good values; empty if there were none.
    ///   - time: The time at which they were in effect. Edits that others have made since then stand.
    ///   - directory: The preferences directory that the file belongs to, whose lock is held meanwhile.
    ///   - milliseconds: The time to wait for the lock.
    /// - Returns: The backup copy's path; `nil` if there was nothing to do.
    /// - Throws: `locked` if another process holds the lock until then; or the reason why the file can't be read,
    ///   copied or replaced.
    package func replaceDamage(
        with values: DomainValues, of time: Timestamp, in directory: PreferencesDirectory,
        timeout milliseconds: Int = 10_000
    ) throws(DefaultsError) -> String? {
        guard let target = try? Self.resolvingLinks(path) else { return nil }
        let real = DomainFile(path: target, limits: limits)
        guard case .unusable(let damage) = real.read(known: nil, openWriters: .readAnyway) else { return nil }
        guard let version = damage.version else { throw damage.error }
        let lock = try DirectoryLock(directory, timeout: milliseconds)
        let targetLock = try lockTarget(beside: directory, timeout: milliseconds)
        let copy: String
        do throws(SystemCall.Failure) {
            let bytes = try FileDescriptor(openingUnseen: target, O_RDONLY | O_NONBLOCK).read(upTo: limits.bytes)
            guard ContentHash(bytes) == version.hash else { throw SystemCall.Failure(number: EBUSY) }
            copy = try BackupFile.write(bytes, of: target, because: .damaged)
        } catch {
            throw DefaultsError(.notSaved, errno: error.number, "\(target) can't be backed up").adding(
                "So it isn't replaced.")
        }
        let value = PropertyListValue.dictionary(values)
        let new: [UInt8]
        do throws(PropertyListError) {
            // XML can't represent some characters, and may be too large to read back.
            let xml = try? value.write(as: .xml)
            new = if let xml, xml.count <= limits.bytes { xml } else { try value.write(as: .binary) }
        } catch {
            throw DefaultsError(.invalidValue, "The last good values of \(target) can't be written: \(error)")
        }
        let replaced: DisplacedFile?
        let edits = values.mapValues {
            Edit(value: $0, time: time, writer: .app(.current), sequence: Edit.unordered)
        }
        switch try save(new, expecting: version, adding: edits, by: .transient) {
        case .saved(_, let displaced): replaced = displaced
        case .savedUnsafely(_, let error, _): throw error
        case .fileChanged, .openForWriting:
            throw DefaultsError(
                .notSaved,
                "Another program is writing to \(target).",
                remedy: "Try again.")
        }
        // If the displaced file has changed, leave it to the next save, which preserves what was written at the last
        // moment.
        if case .unchanged? = replaced?.examine(known: version) { replaced?.removeName() }
        _ = consume targetLock
        _ = consume lock
        return copy
    }

    /// Locks the directory of a link's target, since a process that uses the file's real path locks that directory.
    ///
    /// - Parameters:
    ///   - directory: The preferences directory, which is already locked.
    ///   - milliseconds: The time to wait for the lock.
    /// - Returns: The lock; `nil` if the file isn't a link, or if the target's directory is already locked or can't be
    ///   used.
    /// - Throws: `locked` if another process holds the lock until then.
    func lockTarget(
        beside directory: PreferencesDirectory, timeout milliseconds: Int
    ) throws(DefaultsError) -> DirectoryLock? {
        guard isLink, let target = try? Self.resolvingLinks(path) else { return nil }
        let parent = PreferencesDirectory(path: Path.directory(of: target))
        let own = PreferencesDirectory(path: Path.directory(of: path))
        if [directory.resolvedPath, own.resolvedPath].contains(parent.resolvedPath) { return nil }
        do throws(DefaultsError) {
            return try DirectoryLock(parent, timeout: milliseconds)
        } catch {
            if error.code == .directory { return nil }
            throw error
        }
    }
}
