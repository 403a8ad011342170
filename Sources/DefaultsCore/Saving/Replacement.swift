import CLinux
import Glibc
import Linux

/// An attempt to replace a file with a new version.
struct Replacement {
    let original: DomainFile
    let target: String
    let expected: FileVersion?
    private let edits: [String: Edit]
    private let sessions: [EditIdentity]?
    let lifetime: StoreLifetime
    private let policy: ObstaclePolicy

    init(
        of original: DomainFile, at target: String, expecting expected: FileVersion?,
        adding edits: [String: Edit], after sessions: [EditIdentity]? = [], by lifetime: StoreLifetime,
        onObstacle policy: ObstaclePolicy
    ) {
        self.original = original
        self.target = target
        self.expected = expected
        self.edits = edits
        self.sessions = sessions
        self.lifetime = lifetime
        self.policy = policy
    }

    func run(_ bytes: [UInt8]?) throws(SystemCall.Failure) -> SaveResult {
        guard let bytes else { return try remove(to: freePath(new: nil)) }
        let newHash = ContentHash(bytes)
        let temporaryPath = try freePath(new: newHash)

        if target == original.path { try makeDirectory() }
        var isNeeded = false
        let written: FileDescriptor?
        do throws(SystemCall.Failure) {
            written = try write(bytes, hashed: newHash, to: temporaryPath)
        } catch {
            guard [EACCES, EPERM, EROFS].contains(error.number), let expected else { throw error }
            return try writeInUnwritableDirectory(bytes, hashed: newHash, over: expected)
        }
        guard let new = written else { return .fileChanged }
        defer { if !isNeeded { unlink(temporaryPath) } }

        let seal = seal(ofFileAt: temporaryPath)
        guard let expected else {
            try new.synchronize()
            guard !new.hasLostName(temporaryPath), try place(temporaryPath) else { return .fileChanged }
            isNeeded = true
            return finish(try version(of: new, hashed: newHash, seal), displaced: nil)
        }

        guard let old = try openTarget() else { return .fileChanged }
        let status = try old.status()
        try copyAttributes(from: old, status, to: new)
        try new.synchronize()
        var checked = Timestamp.now()
        if let obstacle = try obstacle(to: old, expected, at: &checked) { return obstacle }
        if status.st_nlink > 1 {
            // The file's other hard links must keep referring to it, so it is written in place.
            linux_lease_release(old.number)
            return try writeInPlace(bytes, hashed: newHash, over: expected, isNeeded: &isNeeded)
        }
        do throws(SystemCall.Failure) {
            guard !new.hasLostName(temporaryPath), try exchange(temporaryPath) else { return .fileChanged }
        } catch {
            // A mount point can't be renamed.
            guard error.number == EBUSY else { throw error }
            linux_lease_release(old.number)
            return try writeInPlace(bytes, hashed: newHash, over: expected, isNeeded: &isNeeded)
        }
        isNeeded = true
        linux_lease_release(old.number)
        guard Self.isFile(temporaryPath) else {
            // A directory or a link replaced the file at the last moment and must not be displaced, so undo the
            // exchange.
            try SystemCall.run { linux_rename_exchange(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            isNeeded = false
            return .fileChanged
        }
        // The permissions may have changed since they were copied.
        let last = try old.status()
        if (last.st_mode, last.st_uid, last.st_gid) != (status.st_mode, status.st_uid, status.st_gid) {
            try copyAttributes(from: old, last, to: new)
            try new.synchronize()
        }
        return finish(
            try version(of: new, hashed: newHash, seal), displaced: displaced(old, at: temporaryPath, after: checked))
    }

    /// Writes the new version to a hidden file.
    ///
    /// - Returns: The file, open for reading; `nil` if its name leads to another one. It is closed for writing before
    ///   it gets its final name, so that this process's own watcher isn't woken once more.
    private func write(
        _ bytes: [UInt8], hashed hash: ContentHash, to temporaryPath: String
    ) throws(SystemCall.Failure) -> FileDescriptor? {
        let new = try NewFile.create(temporaryPath, flags: O_WRONLY, isForEveryone: expected == nil)
        do throws(SystemCall.Failure) {
            // Set the mark before writing the content, so that an incomplete version that is left can be told from
            // a foreign writer's.
            mark(hashed: hash).set(on: new)
            try new.write(bytes)
            let file = try FileDescriptor(opening: temporaryPath, O_RDONLY)
            // The directory may have been replaced by a copy, with an incomplete copy of the new file.
            guard try file.status().isSame(as: new.status()) else {
                unlink(temporaryPath)
                return nil
            }
            Seal.set(on: file)
            // The file is still in use when it is no longer open for writing; see `TemporaryName`.
            flock(file.number, LOCK_SH | LOCK_NB)
            return file
        } catch {
            unlink(temporaryPath)
            throw error
        }
    }

    /// Returns the mark of the new version, as far as its keys' times are known from the edits and the version being
    /// replaced.
    private func mark(hashed hash: ContentHash) -> SaveMark {
        // Without the old mark, all keys count as changed when that version was written, which is never too early.
        var old: SaveMark?
        if let expected, let file = try? openTarget() { old = SaveMark(of: expected.hash, on: file) }
        let times = KeyTimes.after(edits, on: old?.times, writtenAt: expected?.identity.changed)
        // An agent's log tells which edits the file has.
        guard let sessions else { return SaveMark(hash: hash, times: times) }
        let others = (old?.sessions ?? []).filter { other in !sessions.contains { $0.session == other.session } }
        return SaveMark(hash: hash, times: times, sessions: sessions + others)
    }

    /// Writes the new version into the existing file, unless that file has changed.
    ///
    /// `isNeeded` is set while the temporary file must be preserved because it may be the only complete version.
    private func writeInPlace(
        _ bytes: [UInt8], hashed hash: ContentHash, over expected: FileVersion, isNeeded: inout Bool
    ) throws(SystemCall.Failure) -> SaveResult {
        try synchronizeDirectory()
        guard let file = try openTarget(O_RDWR) else { return .fileChanged }
        try reserve(bytes.count, in: file)
        // The lease had to be released before this process could open the file for writing, so a foreign writer may
        // have written it since. Compare the open file, since the name may already lead to another, and do so
        // immediately before overwriting it.
        guard try hasContent(file, of: expected) else { return .fileChanged }
        // From here until the file is durable, the temporary file may be the only complete version. If the write fails,
        // or after a crash, the temporary file stays as a leftover.
        isNeeded = true
        let version = try overwrite(file, with: bytes, hashed: hash)
        isNeeded = false
        // If another program has replaced the file meanwhile, the new one lacks the edits. If it was only removed, so
        // were they.
        if file.hasLostName(target), !Path.isMissing(target) { return .fileChanged }
        _ = consume file
        // A foreign writer that waited for the lease may have written at the same time, or may still do so.
        if let written = try openTarget(), try obstacle(to: written, version) != nil { return .fileChanged }
        return .saved(version, displaced: nil)
    }

    /// Writes the new version into a file in whose directory no other file can be created.
    private func writeInUnwritableDirectory(
        _ bytes: [UInt8], hashed hash: ContentHash, over expected: FileVersion
    ) throws(SystemCall.Failure) -> SaveResult {
        guard let old = try openTarget() else { return .fileChanged }
        if let obstacle = try obstacle(to: old, expected) { return obstacle }
        linux_lease_release(old.number)
        var isNeeded = false
        return try writeInPlace(bytes, hashed: hash, over: expected, isNeeded: &isNeeded)
    }

    /// Removes the file by moving it aside, so that it can be examined like any other displaced file.
    private func remove(to temporaryPath: String) throws(SystemCall.Failure) -> SaveResult {
        guard let expected else {
            return Path.isMissing(target) ? .saved(nil, displaced: nil) : .fileChanged
        }
        guard let old = try openTarget() else { return .fileChanged }
        var checked = Timestamp.now()
        if let obstacle = try obstacle(to: old, expected, at: &checked) { return obstacle }
        do throws(SystemCall.Failure) {
            try SystemCall.run { rename(target, temporaryPath) }
        } catch {
            if error.number == ENOENT { return .fileChanged }
            throw error
        }
        linux_lease_release(old.number)
        guard Self.isFile(temporaryPath) else {
            try SystemCall.run { linux_rename_noreplace(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            return .fileChanged
        }
        return finish(nil, displaced: displaced(old, at: temporaryPath, after: checked))
    }

    private func openTarget(
        _ flags: Int32 = O_RDONLY | O_NONBLOCK | O_NOCTTY
    ) throws(SystemCall.Failure) -> FileDescriptor? {
        do throws(SystemCall.Failure) {
            return try FileDescriptor(openingUnseen: target, flags)
        } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
    }

    /// Waits until no program has the file open for writing, and compares the file with the version last seen.
    ///
    /// - Returns: The result that prevents the replacement; `nil` if the file may be replaced. Where leases are
    ///   available, a read lease is then held unless the file has a writer, so that no other writer opens it before the
    ///   exchange.
    private func obstacle(
        to old: borrowing FileDescriptor, _ expected: FileVersion
    ) throws(SystemCall.Failure) -> SaveResult? {
        var checked = Timestamp.now()
        return try obstacle(to: old, expected, at: &checked)
    }

    /// Does the same, and sets the time of the comparison, or of a moment before it.
    private func obstacle(
        to old: borrowing FileDescriptor, _ expected: FileVersion, at checked: inout Timestamp
    ) throws(SystemCall.Failure) -> SaveResult? {
        var backoff = Backoff(from: .milliseconds(1), to: .milliseconds(50), timeout: nil)
        while linux_lease_read(old.number) != 0, errno == EAGAIN {
            switch policy {
            // The contents don't matter: they are merged when the writer is done.
            case .override: return nil
            case .report where backoff.elapsed >= .milliseconds(10): return .openForWriting
            case .wait where backoff.elapsed >= .seconds(lifetime == .resident ? 1 : 3):
                if lifetime == .transient { return .openForWriting }
                return try hasContent(old, of: expected) ? nil : .fileChanged
            case .report, .wait: break
            }
            _ = backoff.wait()
        }
        checked = .now()
        return try hasContent(old, of: expected) ? nil : .fileChanged
    }

    private func hasContent(
        _ old: borrowing FileDescriptor, of expected: FileVersion
    ) throws(SystemCall.Failure) -> Bool {
        let identity = FileIdentity(try old.status())
        if expected.isSettled, identity == expected.identity { return true }
        guard identity.size == expected.identity.size else { return false }
        try SystemCall.run { lseek(old.number, 0, SEEK_SET) }
        return ContentHash(try old.read(upTo: Int(identity.size))) == expected.hash
    }

    /// Gives the new file the old one's mode, owner and extended attributes.
    ///
    /// Sets only what differs, because the kernel reports each call to every watcher of the directory.
    private func copyAttributes(
        from old: borrowing FileDescriptor, _ status: FileStatus, to new: borrowing FileDescriptor
    ) throws(SystemCall.Failure) {
        // Only root can give a file away. For other users, the new file is theirs, as with any save by rename, but they
        // can preserve its group if they are a member.
        let own = try new.status()
        let isOwned =
            own.st_uid == status.st_uid && own.st_gid == status.st_gid
            || fchown(new.number, status.st_uid, status.st_gid) == 0 || fchown(new.number, .max, status.st_gid) == 0
        // If the group couldn't be preserved, the new group must not get the old group's permissions: limit them to
        // those of everyone, already when the ACL is set.
        let mode = isOwned ? status.st_mode : status.st_mode & (~0o070 | (status.st_mode & 0o007) << 3)
        try SystemCall.run { linux_copy_attributes(old.number, new.number, mode >> 3 & 0o7, SaveMark.name) }
        if try new.status().st_mode & 0o7777 != mode & 0o7777 {
            try SystemCall.run { fchmod(new.number, mode & 0o7777) }
        }
    }

    /// Reserves space for new content in an open file without changing the file.
    private func reserve(_ count: Int, in file: borrowing FileDescriptor) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            try SystemCall.run { linux_reserve(file.number, off_t(count)) }
        } catch {
            guard error.number == EOPNOTSUPP || error.number == ENOSYS else { throw error }
        }
    }

    /// Overwrites the content of an open file that must stay the same file.
    private func overwrite(
        _ file: borrowing FileDescriptor, with bytes: [UInt8], hashed hash: ContentHash
    ) throws(SystemCall.Failure) -> FileVersion {
        let mark = mark(hashed: hash)
        // Seal the file first, so that a read while it is being written isn't overlooked.
        Seal.set(on: file)
        try SystemCall.run { lseek(file.number, 0, SEEK_SET) }
        try file.write(bytes)
        try SystemCall.run { ftruncate(file.number, off_t(bytes.count)) }
        mark.set(on: file)
        try file.synchronize()
        return try version(of: file, hashed: hash, seal(ofFileAt: target))
    }

    /// Returns the seal of a version that this store has just written.
    ///
    /// A transient store has no use for it, and shouldn't hold files open in another program's process.
    private func seal(ofFileAt path: String) -> Seal? {
        lifetime == .resident ? Seal(ofFileAt: path, in: Path.directory(of: original.path)) : nil
    }

    /// Returns the version of a file that was just written here.
    ///
    /// Another writer may have changed the file before its times are read, so they aren't trusted until the file is
    /// read again.
    private func version(
        of file: borrowing FileDescriptor, hashed hash: ContentHash, _ seal: Seal?
    ) throws(SystemCall.Failure) -> FileVersion {
        FileVersion(identity: FileIdentity(try file.status()), hash: hash, isSettled: false, seal: seal)
    }

    /// Makes the new names durable, and returns the displaced file even if that fails.
    private func finish(_ version: FileVersion?, displaced: DisplacedFile?) -> SaveResult {
        do throws(SystemCall.Failure) {
            try synchronizeDirectory()
            return .saved(version, displaced: displaced)
        } catch {
            return .savedUnsafely(
                version,
                DefaultsError(
                    .notSaved, errno: error.number,
                    "\(original.path) was written, but its directory can't be made durable"
                ).adding(lifetime.consequence),
                displaced: displaced)
        }
    }
}
