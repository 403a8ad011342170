import CLinux
import Glibc
import Linux

/// One attempt to replace a file by a new version, with the steps in the order in which they must happen.
struct Replacement {
    private let original: DomainFile
    private let target: String
    private let expected: FileVersion?
    private let newest: Timestamp?
    private let publisher: Publisher
    private let policy: ObstaclePolicy

    init(
        of original: DomainFile, at target: String, expecting expected: FileVersion?, newest: Timestamp?,
        by publisher: Publisher, _ policy: ObstaclePolicy
    ) {
        self.original = original
        self.target = target
        self.expected = expected
        self.newest = newest
        self.publisher = publisher
        self.policy = policy
    }

    func run(_ bytes: [UInt8]?) throws(SystemCall.Failure) -> Publication {
        let newHash = bytes.map(ContentHash.init) ?? ContentHash(value: 0)
        let temporaryPath = try freePath(new: newHash)
        guard let bytes else { return try remove(to: temporaryPath) }

        if target == original.path { try makeDirectory() }
        let new = try FileDescriptor(opening: temporaryPath, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        var isNeeded = false
        defer { if !isNeeded { unlink(temporaryPath) } }
        // Before its content: so recovery knows a torn one from a foreign writer's version.
        let mark = PublicationMark(hash: newHash, newest: newest)
        mark.set(on: new)
        try new.write(bytes)

        guard let expected else {
            try new.synchronize()
            guard try place(temporaryPath) else { return .overtaken }
            isNeeded = true
            return finish(try version(of: new, newHash), displaced: nil)
        }

        guard let old = try openTarget() else { return .overtaken }
        let status = try old.status()
        try copyAttributes(from: old, status, to: new)
        mark.set(on: new)
        try new.synchronize()
        if let obstacle = try obstacle(to: old, expected) { return obstacle }
        if status.st_nlink > 1 {
            // Other names of the file must go on to name it: it is written in place.
            linux_lease_release(old.number)
            try synchronizeDirectory()
            guard let file = try openTarget(O_RDWR) else { return .overtaken }
            try reserve(bytes.count, in: file)
            // Who writes can't hold a lease, so a foreign writer may have come since it was released. What is compared is
            // what is overwritten, this file and no other that has come to bear the name, and at once before that.
            guard try hasContent(file, of: expected) else { return .overtaken }
            // From here on the copy may be the only whole version, until the file is durable. If that fails, or a crash
            // comes first, it stays for recovery.
            isNeeded = true
            let version = try overwrite(file, bytes, newHash)
            isNeeded = false
            return .done(version, displaced: nil)
        }
        guard try exchange(temporaryPath) else { return .overtaken }
        isNeeded = true
        linux_lease_release(old.number)
        guard Self.isFile(temporaryPath) else {
            // A directory or a link has come into the file's place in the last moment: nothing of ours to replace.
            try SystemCall.run { linux_rename_exchange(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            isNeeded = false
            return .overtaken
        }
        return finish(try version(of: new, newHash), displaced: displaced(old, at: temporaryPath))
    }

    /// Removes the file: moves it aside, so that it can be examined like a displaced one.
    private func remove(to temporaryPath: String) throws(SystemCall.Failure) -> Publication {
        guard let expected else {
            return access(target, F_OK) == 0 ? .overtaken : .done(nil, displaced: nil)
        }
        guard let old = try openTarget() else { return .overtaken }
        if let obstacle = try obstacle(to: old, expected) { return obstacle }
        do throws(SystemCall.Failure) {
            try SystemCall.run { rename(target, temporaryPath) }
        } catch {
            if error.number == ENOENT { return .overtaken }
            throw error
        }
        linux_lease_release(old.number)
        guard Self.isFile(temporaryPath) else {
            try SystemCall.run { linux_rename_noreplace(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            return .overtaken
        }
        return finish(nil, displaced: displaced(old, at: temporaryPath))
    }

    private func openTarget(
        _ flags: Int32 = O_RDONLY | O_NONBLOCK | O_NOCTTY
    ) throws(SystemCall.Failure) -> FileDescriptor? {
        do throws(SystemCall.Failure) {
            return try FileDescriptor(opening: target, flags)
        } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Waits until nobody has the file open for writing, and compares it with what was last seen.
    ///
    /// - Returns: `nil` when it is as expected. Then its read lease is held, where leases are to be had, so that no writer
    ///   opens it before the exchange.
    private func obstacle(
        to old: borrowing FileDescriptor, _ expected: FileVersion
    ) throws(SystemCall.Failure) -> Publication? {
        var pause: Int32 = 1
        var waited: Int32 = 0
        while linux_lease_read(old.number) != 0, errno == EAGAIN {
            switch policy {
            // Whatever it holds: it is merged when its writer is done.
            case .override: return nil
            case .report where waited >= 10: return .openForWriting
            case .wait where waited >= (publisher == .lasting ? 1_000 : 3_000):
                if publisher == .passing { return .openForWriting }
                return try hasContent(old, of: expected) ? nil : .overtaken
            case .report, .wait: break
            }
            poll(nil, 0, pause)
            waited += pause
            pause = min(pause * 2, 50)
        }
        return try hasContent(old, of: expected) ? nil : .overtaken
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

    /// Gives the new file the old one's mode, owner and extended attributes, before anyone can see it.
    private func copyAttributes(
        from old: borrowing FileDescriptor, _ status: stat, to new: borrowing FileDescriptor
    ) throws(SystemCall.Failure) {
        // Only root may give a file away; for others the file becomes theirs, as with any save by rename. Its group they can
        // keep if it is one of their own.
        let isOwned =
            fchown(new.number, status.st_uid, status.st_gid) == 0 || fchown(new.number, .max, status.st_gid) == 0
        // What the old group might do, another mightn't: it gets no more than everyone, from the first moment of an ACL on.
        let mode = isOwned ? status.st_mode : status.st_mode & (~0o070 | (status.st_mode & 0o007) << 3)
        try SystemCall.run { linux_copy_attributes(old.number, new.number, mode >> 3 & 0o7) }
        try SystemCall.run { fchmod(new.number, mode & 0o7777) }
    }

    /// Names the new file; false when a file of the name has appeared.
    private func place(_ temporaryPath: String) throws(SystemCall.Failure) -> Bool {
        do throws(SystemCall.Failure) {
            try SystemCall.run { linux_rename_noreplace(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            return true
        } catch {
            if error.number == EEXIST { return false }
            guard error.number == EINVAL || error.number == ENOSYS else { throw error }
        }
        // No RENAME_NOREPLACE on this file system: a hard link refuses an existing name as well.
        do throws(SystemCall.Failure) {
            try SystemCall.run { link(temporaryPath, target) }
            unlink(temporaryPath)
            return true
        } catch {
            if error.number == EEXIST { return false }
            throw error
        }
    }

    /// Swaps the new file and the old one; false when the old one has vanished.
    private func exchange(_ temporaryPath: String) throws(SystemCall.Failure) -> Bool {
        do throws(SystemCall.Failure) {
            try SystemCall.run { linux_rename_exchange(AT_FDCWD, temporaryPath, AT_FDCWD, target) }
            return true
        } catch {
            if error.number == ENOENT { return false }
            guard error.number == EINVAL || error.number == ENOSYS else { throw error }
        }
        try exchangeInSteps(temporaryPath)
        return true
    }

    /// Swaps the two where the file system has no RENAME_EXCHANGE.
    ///
    /// Keeps the old file by a second name, then renames over it. A file that someone renames over the old one between the
    /// two is lost.
    func exchangeInSteps(_ temporaryPath: String) throws(SystemCall.Failure) {
        let backup = try freePath(new: ContentHash(value: 0))
        try SystemCall.run { link(target, backup) }
        do throws(SystemCall.Failure) {
            try SystemCall.run { rename(temporaryPath, target) }
        } catch {
            unlink(backup)
            throw error
        }
        try SystemCall.run { rename(backup, temporaryPath) }
    }

    /// A hidden name beside the file that nothing bears: a version displaced a moment ago may have the first one, and must
    /// keep it.
    ///
    /// With a hash of 0 it is the old file's, for the time in which it has two names or is removed: after a crash recovery
    /// keeps what it holds if that isn't what was expected.
    func freePath(new: ContentHash) throws(SystemCall.Failure) -> String {
        var temporary = TemporaryFile(for: original.path, new: new, expected: expected?.hash)
        var status = stat()
        while true {
            let path = "\(Path.directory(of: target))/\(temporary.name)"
            if lstat(path, &status) != 0 {
                if errno == ENOENT { return path }
                throw SystemCall.Failure(number: errno)
            }
            temporary.serial += 1
        }
    }

    /// Reserves room for a new content in an open file, which is left as it is.
    private func reserve(_ count: Int, in file: borrowing FileDescriptor) throws(SystemCall.Failure) {
        do throws(SystemCall.Failure) {
            try SystemCall.run { linux_reserve(file.number, off_t(count)) }
        } catch {
            guard error.number == EOPNOTSUPP || error.number == ENOSYS else { throw error }
        }
    }

    /// Writes the content into the file that is there, for one with several names.
    private func overwrite(
        _ file: borrowing FileDescriptor, _ bytes: [UInt8], _ hash: ContentHash
    ) throws(SystemCall.Failure) -> FileVersion {
        try SystemCall.run { lseek(file.number, 0, SEEK_SET) }
        try file.write(bytes)
        try SystemCall.run { ftruncate(file.number, off_t(bytes.count)) }
        PublicationMark(hash: hash, newest: newest).set(on: file)
        try file.synchronize()
        return try version(of: file, hash)
    }

    /// The state of a file that was written here.
    ///
    /// Another writer may have come before its times are asked for; so they aren't trusted until the file was read.
    private func version(
        of file: borrowing FileDescriptor, _ hash: ContentHash
    ) throws(SystemCall.Failure) -> FileVersion {
        FileVersion(identity: FileIdentity(try file.status()), hash: hash, isSettled: false)
    }

    /// Makes durable what was done to names, and hands back what was displaced whether or not that succeeds.
    private func finish(_ version: FileVersion?, displaced: DisplacedFile?) -> Publication {
        do throws(SystemCall.Failure) {
            try synchronizeDirectory()
            return .done(version, displaced: displaced)
        } catch {
            return .doneUnsafely(
                version,
                DefaultsError(
                    .notSaved, errno: error.number,
                    "\(original.path) is written, but its directory can't be brought to the disk; "
                        + "its edits are kept in memory and tried again. The system says"),
                displaced: displaced)
        }
    }

    /// The displaced file: the one that was open already, or one that has come into its place since.
    ///
    /// The latter must be opened, for which there may be no descriptor left: then it stays under its hidden name for
    /// recovery, which `nil` says.
    private func displaced(_ old: consuming FileDescriptor, at temporaryPath: String) -> DisplacedFile? {
        var status = stat()
        if let known = try? old.status(), lstat(temporaryPath, &status) == 0, known.st_ino == status.st_ino,
            known.st_dev == status.st_dev
        {
            return DisplacedFile(original, file: old, temporaryPath: temporaryPath)
        }
        guard let file = try? FileDescriptor(opening: temporaryPath, O_RDONLY | O_NONBLOCK | O_NOCTTY) else {
            return nil
        }
        return DisplacedFile(original, file: file, temporaryPath: temporaryPath)
    }

    private func makeDirectory() throws(SystemCall.Failure) {
        let directory = Path.directory(of: target)
        if access(directory, F_OK) == 0 { return }
        do throws(SystemCall.Failure) {
            try SystemCall.run { mkdir(directory, 0o700) }
        } catch {
            if error.number != EEXIST { throw error }
        }
        try FileDescriptor.synchronizeDirectory(of: directory)
    }

    private func synchronizeDirectory() throws(SystemCall.Failure) {
        try FileDescriptor.synchronizeDirectory(of: target)
    }
}
