import CLinux
import Glibc
import Linux
import PropertyList

extension DomainFile {
    /// Puts a new version of the file in place, unless the file has changed since it was last seen.
    ///
    /// The new version is written beside the file and made durable, then exchanged with it in one step, so that readers
    /// see the old one or the new one and a crash leaves one of them. A foreign writer may still come between the last
    /// look and the exchange; so what was displaced is handed back to be examined. Call it with the directory's lock held.
    ///
    /// That nothing is lost needs a file system with RENAME_EXCHANGE, as all usual local ones are. Elsewhere (NFS, some of
    /// FUSE) the exchange takes two steps, and a file that someone renames into place between them is lost.
    ///
    /// A file with several names is written in place, and so a foreign writer's work may be lost that comes between the
    /// last comparison and the writing, and a crash may leave a torn file; then the new version stays beside it.
    ///
    /// - Parameters:
    ///   - bytes: the new content, or `nil` to remove the file.
    ///   - expected: the state last seen; `nil` when there should be no file.
    ///   - newest: when the newest edit was made that is in the content, for other stores to know.
    ///   - publisher: who publishes.
    ///   - policy: the way to deal with a file that is open for writing.
    /// - Returns: whether it was done, and if so, what it displaced.
    /// - Throws: `notSaved`; then the file is as it was, unless what was displaced couldn't even be opened, or one with
    ///   several names may be torn.
    package func publish(
        _ bytes: [UInt8]?, expecting expected: FileVersion?, newest: Timestamp? = nil,
        by publisher: Publisher = .lasting, _ policy: ObstaclePolicy = .wait
    ) throws(DefaultsError) -> Publication {
        do throws(SystemCall.Failure) {
            let target = try Self.resolvingLinks(path)
            // Nothing is made where a link leads: that may be on a file system that isn't mounted.
            if target != path, access(target, F_OK) != 0, errno == ENOENT { return .overtaken }
            return try Replacement(
                of: self, at: target, expecting: expected, newest: newest, by: publisher, policy
            ).run(bytes)
        } catch {
            if error.number == EILSEQ {
                throw DefaultsError(
                    .notSaved,
                    "\(path) is a link to a name that is not UTF-8, and can't be saved through it: rename the file that it "
                        + "leads to, and link to that; \(publisher.consequence).", errno: EILSEQ)
            }
            throw DefaultsError(
                .notSaved, errno: error.number,
                "\(path) can't be written; \(publisher.consequence). The system says")
        }
    }

    /// Puts an empty dictionary in the place of a file that is no property list, for a user who asks for it, once the file
    /// is copied aside.
    ///
    /// Links are followed. A file that can be taken, or isn't there, is left as it is.
    ///
    /// - Returns: the copy's path; `nil` where nothing was to be done.
    /// - Throws: why the file can't be read, copied or replaced.
    package func replaceDamage() throws(DefaultsError) -> String? {
        guard let target = try? Self.resolvingLinks(path) else { return nil }
        let real = DomainFile(path: target, limits: limits)
        guard case .unusable(let damage) = real.read(known: nil, patience: .insist) else { return nil }
        guard let version = damage.version else { throw damage.error }
        let lock = try DirectoryLock(PreferencesDirectory(path: Path.directory(of: path)))
        let copy: String
        do throws(SystemCall.Failure) {
            let bytes = try FileDescriptor(opening: target, O_RDONLY | O_NONBLOCK).read(upTo: limits.bytes)
            guard ContentHash(bytes) == version.hash else { throw SystemCall.Failure(number: EBUSY) }
            copy = try AsideFile.keep(bytes, of: target, because: .damaged)
        } catch {
            throw DefaultsError(
                .notSaved, errno: error.number, "\(target) can't be copied aside, so it isn't replaced")
        }
        let empty = Array("<plist version=\"1.0\"><dict/></plist>\n".utf8)
        let replaced: DisplacedFile?
        switch try publish(empty, expecting: version, by: .passing) {
        case .done(_, let displaced): replaced = displaced
        case .doneUnsafely(_, let error, _): throw error
        case .overtaken, .openForWriting:
            throw DefaultsError(.notSaved, "Another program is writing to \(target); try again.")
        }
        // Else it is left to the next save, which keeps what was written in the last moment.
        if case .unchanged? = replaced?.examine(known: version) { replaced?.removeName() }
        _ = consume lock
        return copy
    }

    /// The path of the real file behind symbolic links, existing or not: links are kept, what they point to is replaced.
    ///
    /// - Throws: EILSEQ when a link leads to a name that isn't UTF-8.
    static func resolvingLinks(_ path: String) throws(SystemCall.Failure) -> String {
        var path = path
        for _ in 0..<40 {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let length = buffer.withUnsafeMutableBytes { bytes in
                bytes.bindMemory(to: CChar.self).baseAddress.map { readlink(path, $0, bytes.count) } ?? -1
            }
            guard length > 0 else { return path }
            guard let target = String(validating: buffer.prefix(length), as: UTF8.self) else {
                throw SystemCall.Failure(number: EILSEQ)
            }
            path = Path.isAbsolute(target) ? target : "\(Path.directory(of: path))/\(target)"
        }
        return path
    }
}
