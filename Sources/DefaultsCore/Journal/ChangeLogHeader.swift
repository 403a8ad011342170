import Glibc
import Linux

/// The header of a change log file.
struct ChangeLogHeader {
    /// The magic number, which identifies the format.
    ///
    /// Formats 2 to 4 are still read. Format 4 had no identity, formats 2 and 3 had no end, and format 2 had no groups
    /// of marks. Format 1 didn't name the boot, so a reader couldn't tell whether the end of the log had been lost. No
    /// release wrote that format, and none reads it: such a file is moved aside, and a new epoch begins.
    private static let magic = Array("defaultsd log 5\n".utf8)
    private static let formerMagics = ["defaultsd log 2\n", "defaultsd log 3\n", "defaultsd log 4\n"]
    /// The size in bytes: the magic number, the epoch, the revision before the first record, the boot, and the hash of
    /// all of these.
    static let size = magic.count + 32
    /// The epoch in a file that isn't up to date, because the log continued without it.
    private static let outdated = Epoch(value: 0)

    var epoch: Epoch
    /// The revision before the first record.
    var start: Revision
    var boot = RecoveredLog.boot

    /// Creates a header.
    init(epoch: Epoch, start: Revision) {
        (self.epoch, self.start) = (epoch, start)
    }

    /// Reads the header of a file; `nil` if it has none, or it is damaged.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.size,
            bytes.starts(with: Self.magic) || Self.formerMagics.contains(where: { bytes.starts(with: $0.utf8) }),
            ContentHash(Array(bytes[..<(Self.size - 8)])).value == Frame.number(bytes, at: Self.size - 8)
        else { return nil }
        epoch = Epoch(value: Frame.number(bytes, at: Self.magic.count))
        start = Frame.number(bytes, at: Self.magic.count + 8)
        boot = ContentHash(value: Frame.number(bytes, at: Self.magic.count + 16))
    }

    var isOutdated: Bool { epoch == Self.outdated }

    var encoded: [UInt8] {
        let bytes =
            Self.magic + Frame.bigEndian(epoch.value) + Frame.bigEndian(start) + Frame.bigEndian(boot.value)
        return bytes + Frame.bigEndian(ContentHash(bytes).value)
    }

    /// Overwrites the header of a file, which needs no further space on the disk.
    func write(to path: String) throws(SystemCall.Failure) {
        // A descriptor that appends would write at the end.
        try FileDescriptor(opening: path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK).write(encoded, at: 0)
    }

    /// Marks a file as outdated, so that no later agent continues its epoch or relies on its marks.
    ///
    /// - Returns: False if the file can't be marked, and a later agent may take it for up to date.
    static func markOutdated(_ path: String) -> Bool {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            // A file without a header isn't recovered.
            guard let header = Self(try file.read(upTo: size, from: 0)) else { return true }
            try Self(epoch: outdated, start: header.start).write(to: path)
            return true
        } catch {
            return error.number == ENOENT
        }
    }
}
