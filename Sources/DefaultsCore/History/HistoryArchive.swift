import Glibc
package import Linux

/// The file with the records that the change log has lost, for the history.
///
/// It has a header, followed by the entries of records as in the change log file. Only the agent writes it; any process
/// of the user may read it.
package struct HistoryArchive: Sendable {
    package let path: String
    /// Whether the file has been found to end with a whole entry.
    private var isChecked = false
    /// The size of the file after it was last thinned, in bytes.
    private var thinnedSize = 0

    static let magic = Array("defaultsd arc 1\n".utf8)

    package init(path: String) {
        self.path = path
    }

    /// Appends encoded entries.
    ///
    /// A record that is already in the file may be appended again; readers ignore it.
    ///
    /// - Throws: The failure of the system call; the file is then as it was.
    mutating func append(_ entries: [UInt8]) throws(SystemCall.Failure) {
        try check()
        // Opening a FIFO would block otherwise.
        let file = try FileDescriptor(
            opening: path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemCall.Failure(number: EINVAL) }
        let size = status.st_size
        do throws(SystemCall.Failure) {
            try file.write(size == 0 ? Self.magic + entries : entries)
        } catch {
            ftruncate(file.number, size)
            throw error
        }
    }

    /// Appends records.
    package mutating func append(_ records: [LogRecord]) throws(SystemCall.Failure) {
        if records.isEmpty { return }
        try append(records.flatMap { LogEntry.record($0).encoded })
    }

    /// The revision of the newest record; 0 if the archive is empty.
    package var newestRevision: Revision {
        ((try? HistoryFile(reading: path)) ?? nil)?.newestRevision ?? 0
    }

    /// Returns whether the file has grown a quarter beyond a size, or beyond what thinning left of it.
    func isOversized(_ limit: Int) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return Int(status.st_size) > max(limit, thinnedSize) / 4 * 5
    }

    /// Repairs a damaged file before it is first used.
    mutating func check() throws(SystemCall.Failure) {
        if !isChecked { try repair() }
        isChecked = true
    }

    /// Moves a damaged file aside, and keeps the records before the damage.
    private mutating func repair() throws(SystemCall.Failure) {
        guard let contents = try HistoryFile(reading: path), let bytes = contents.bytesBeforeDamage else { return }
        var number = 1
        while access("\(path).damaged-\(number)", F_OK) == 0 { number += 1 }
        let replacement = try prepare(bytes)
        try SystemCall.run { rename(path, "\(path).damaged-\(number)") }
        try SystemCall.run { rename(replacement, path) }
    }

    /// Writes a new version of the file beside it, and makes it durable.
    ///
    /// - Returns: The new version's path.
    func prepare(_ bytes: [UInt8]) throws(SystemCall.Failure) -> String {
        let temporary = "\(path).new"
        unlink(temporary)
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try file.write(bytes)
            try file.synchronize()
        } catch {
            unlink(temporary)
            throw error
        }
        return temporary
    }

    /// Replaces the file with a prepared version, to which it adds what has been appended in the meantime.
    ///
    /// - Parameters:
    ///   - old: The contents from which the version was made.
    ///   - replacement: The path of the version.
    /// - Throws: The failure of the system call; the file is then as it was.
    mutating func replace(_ old: HistoryFile, with replacement: String) throws(SystemCall.Failure) {
        let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW)
        let more = Int(try file.status().st_size) - old.size
        if more > 0 {
            let target = try FileDescriptor(opening: replacement, O_WRONLY | O_APPEND | O_NOFOLLOW)
            try target.write(try file.read(upTo: more, from: old.size))
        }
        thinnedSize = (try? FileDescriptor(opening: replacement, O_RDONLY).status()).map { Int($0.st_size) } ?? 0
        try SystemCall.run { rename(replacement, path) }
    }
}
