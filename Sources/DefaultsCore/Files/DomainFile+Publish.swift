import CLinux
import Glibc
import Linux

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
    ///   - publisher: who publishes. One that is passing waits longer for a file that is open for writing, and then
    ///     leaves it.
    /// - Returns: whether it was done, and if so, what it displaced.
    /// - Throws: `notSaved`; then the file is as it was, unless what was displaced couldn't even be opened, or one with
    ///   several names may be torn.
    package func publish(
        _ bytes: [UInt8]?, expecting expected: FileVersion?, newest: Timestamp? = nil,
        by publisher: Publisher = .lasting
    ) throws(DefaultsError) -> Publication {
        do throws(SystemCall.Failure) {
            let target = Self.resolvingLinks(path)
            // Nothing is made where a link leads: that may be on a file system that isn't mounted.
            if target != path, access(target, F_OK) != 0, errno == ENOENT { return .overtaken }
            return try Replacement(
                of: self, at: target, expecting: expected, newest: newest, by: publisher
            ).run(bytes)
        } catch {
            throw DefaultsError(
                .notSaved, errno: error.number,
                "\(path) can't be written; \(publisher.consequence). The system says")
        }
    }

    /// The path of the real file behind symbolic links, existing or not: links are kept, what they point to is replaced.
    static func resolvingLinks(_ path: String) -> String {
        var path = path
        for _ in 0..<40 {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let length = buffer.withUnsafeMutableBytes { bytes in
                bytes.bindMemory(to: CChar.self).baseAddress.map { readlink(path, $0, bytes.count) } ?? -1
            }
            guard length > 0 else { return path }
            let target = String(decoding: buffer.prefix(length), as: UTF8.self)
            path = Path.isAbsolute(target) ? target : "\(Path.directory(of: path))/\(target)"
        }
        return path
    }
}
