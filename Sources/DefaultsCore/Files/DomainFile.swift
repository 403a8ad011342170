import CLinux
import Glibc
import Linux
package import PropertyList

/// A domain's file, which is read as a whole or not at all.
///
/// The file is read under a read lease (`F_SETLEASE`). The kernel refuses the lease while a program has the file open
/// for writing, and makes later writers wait until the lease is released. So the bytes are always what a writer left
/// when it was done, never a half-written state. If leases aren't available (the user isn't the owner, or the file is
/// on a network file system), two reads 20 ms apart must be equal, unless the file hasn't changed for a minute.
package struct DomainFile: Sendable {
    /// The absolute path.
    package let path: String
    /// The limits that the file must not exceed.
    package let limits: PropertyListLimits
    /// A directory above the file that, with everything on the path down to the file, must be writable only by root.
    ///
    /// `nil` for no such condition.
    private let managedDirectory: String?
    /// Whether a file that isn't a property list may be replaced after a backup; a link's target never is.
    private let replacesDamagedFiles: Bool
    /// Whether versions keep their seals, which hold the files open.
    private let keepsSeals: Bool

    /// Creates a file from its path.
    ///
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - limits: The limits that the file must not exceed.
    ///   - managedDirectory: A directory above the file, if the file may be used only when root alone can have written
    ///     it; otherwise `nil`.
    ///   - mayReplaceDamage: Whether a damaged file may be replaced; false for a file that may not be a preferences
    ///     file at all.
    ///   - keepsSeals: Whether versions keep their seals.
    package init(
        path: String, limits: PropertyListLimits = .domainFile, managedDirectory: String? = nil,
        mayReplaceDamage: Bool = true, keepsSeals: Bool = false
    ) {
        self.path = path
        self.limits = limits
        self.managedDirectory = managedDirectory
        self.replacesDamagedFiles = mayReplaceDamage
        self.keepsSeals = keepsSeals
    }

    /// The way to deal with a file that a program has open for writing.
    package enum OpenWriterPolicy: Sendable {
        /// Return `beingWritten`.
        case wait
        /// Read the file anyway, because it has been open for a long time. The contents are accepted if two reads are
        /// equal.
        case readAnyway
    }

    /// Reads the file.
    ///
    /// - Parameters:
    ///   - known: The version that is already known, if any; equal bytes aren't parsed again.
    ///   - openWriters: The way to deal with a file that is open for writing.
    ///   - afterEvent: Whether an event has named the file. It is then read even if its times are unchanged, since a
    ///     coarse file system clock may not show the change.
    ///   - keepsBytes: Whether the values stay bytes once they have been parsed (see `FileValues`), unless the file is
    ///     large.
    /// - Returns: The outcome, which includes failures of the system.
    package func read(
        known: FileVersion?, openWriters: OpenWriterPolicy = .wait, afterEvent: Bool = false, keepsBytes: Bool = false
    ) -> FileReading {
        var earlier: FileVersion?
        while true {
            switch attempt(
                known: known, openWriters: openWriters, afterEvent: afterEvent, keepsBytes: keepsBytes, after: earlier)
            {
            case .certain(let reading): return reading
            case .uncertain(let version):
                earlier = version
                Backoff.pause(Self.confirmationDelay)
            }
        }
    }

    /// The outcome of an attempt to read a file.
    enum Attempt<Reading: Sendable>: Sendable {
        case certain(Reading)
        /// A program may be writing the file.
        ///
        /// The version is certain if the next attempt, after `confirmationDelay`, finds it again.
        case uncertain(FileVersion)
    }

    /// The time between two equal reads that show that no program is writing a file.
    static let confirmationDelay = Duration.milliseconds(20)

    /// Reads the file like `read`, but returns instead of waiting before the second of two reads.
    ///
    /// A caller that reads many files then waits only once. The outcome is certain if `earlier` is the version that an
    /// uncertain attempt has found.
    func attempt(
        known: FileVersion?, openWriters: OpenWriterPolicy = .wait, afterEvent: Bool = false, keepsBytes: Bool = false,
        after earlier: FileVersion? = nil
    ) -> Attempt<FileReading> {
        do throws(SystemCall.Failure) {
            // With O_NONBLOCK, opening a FIFO of that name doesn't block.
            let file = try FileDescriptor(openingUnseen: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            return try attempt(
                file, with: file.status(), known: known, openWriters: openWriters, afterEvent: afterEvent,
                keepsBytes: keepsBytes, after: earlier)
        } catch {
            return .certain(error.number == ENOENT ? absence : .unusable(damage(after: error, of: path)))
        }
    }

    /// The reading of a path where no file can be opened: a missing file, or a link that leads nowhere.
    private var absence: FileReading {
        do throws(SystemCall.Failure) {
            return try FileStatus(at: path, followsLinks: false).isLink ? .unusable(missingTarget) : .missing
        } catch {
            return error.number == ENOENT ? .missing : .unusable(damage(after: error, of: path))
        }
    }

    /// Reads the file, which an event has named, unless that may take long.
    ///
    /// A large file takes long to parse, a file that can't be leased is read twice, and a link may lead to a slow file
    /// system.
    ///
    /// - Parameter known: The version that is already known, if any; equal bytes aren't parsed again.
    /// - Returns: The outcome; `nil` if reading may take long or isn't possible.
    func readQuickly(known: FileVersion?) -> FileReading? {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(openingUnseen: path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)
            // The lease ends with the descriptor, at the latest.
            guard linux_lease_read(file.number) == 0 else { return errno == EAGAIN ? .beingWritten : nil }
            let status = try file.status()
            guard status.st_size <= Self.quickSize else { return nil }
            let attempt = try attempt(
                file, with: status, isLeased: true, known: known, openWriters: .wait, afterEvent: true,
                keepsBytes: false)
            return if case .certain(let reading) = attempt { reading } else { nil }
        } catch {
            return error.number == ENOENT ? .missing : nil
        }
    }

    /// Attempts to read an open file; `isLeased` if it was leased before its status was read.
    private func attempt(
        _ file: borrowing FileDescriptor, with status: FileStatus, isLeased: Bool = false, known: FileVersion?,
        openWriters: OpenWriterPolicy, afterEvent: Bool, keepsBytes: Bool, after earlier: FileVersion? = nil
    ) throws(SystemCall.Failure) -> Attempt<FileReading> {
        // Check the ownership of any kind of file, even if its bytes are known.
        if let managedDirectory,
            let problem = RootOwnership.problem(ofFileAt: path, with: status, below: managedDirectory)
        {
            return .certain(.unusable(FileDamage(error: problem, version: nil)))
        }
        guard status.isRegular else {
            let sentence = "\(path) is not a regular file. Move it away, or put a file there."
            return .certain(.unusable(damage(.unreadable, sentence)))
        }
        let identity = FileIdentity(status)
        if !afterEvent, let known, known.isSettled, known.identity == identity { return .certain(.unchanged(known)) }
        guard identity.size <= limits.bytes else { return .certain(.unusable(tooLarge("has \(identity.size) bytes"))) }
        let whole: Attempt<WholeReading?> =
            isLeased
            ? .certain(try readLeased(file, as: identity))
            : try attemptWhole(file, openWriters: openWriters, after: earlier)
        switch whole {
        case .uncertain(let version): return .uncertain(version)
        case .certain(nil): return .certain(.beingWritten)
        case .certain(let whole?): return .certain(reading(of: whole, in: file, known: known, keepsBytes: keepsBytes))
        }
    }

    private func reading(
        of whole: WholeReading, in file: borrowing FileDescriptor, known: FileVersion?, keepsBytes: Bool
    ) -> FileReading {
        var (bytes, version, isOpen) = whole
        let isInPlace = known?.identity.isSameFile(as: version.identity) ?? false
        let mark = SaveMark(of: version.hash, on: file)
        // A store without an agent that saves the same bytes has made edits that cancel each other out.
        let isSavedAgain = !isInPlace && mark?.sessions.isEmpty == false
        if known?.hash == version.hash, !isSavedAgain {
            if isInPlace { (version.seal, version.isCopied) = (known?.seal, known?.isCopied ?? false) }
            version.isCopied = version.isCopied || !isInPlace
            return .unchanged(version)
        }
        var reading = parse(bytes, of: version, keepsBytes: keepsBytes)
        if case .contents(var contents) = reading {
            contents.saveMark = mark
            if SaveMark.isSet(on: file) { contents.evidence.isUnread = Seal.isUnread(file) }
            known?.addEvidence(to: &contents)
            // The first version that is read has no earlier one from which a writer could go on.
            if keepsSeals, known != nil {
                contents.version.seal = Seal(ofFileAt: path, in: Path.directory(of: path), version.identity)
            }
            reading = .contents(contents)
        }
        // A file that doesn't parse while it is open for writing is unfinished, not damaged.
        if isOpen, case .unusable = reading { return .beingWritten }
        return reading
    }

    /// Whether a program has the file open for writing, as far as the system can tell.
    var isOpenForWriting: Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY) else { return false }
        if linux_lease_read(file.number) == 0 {
            linux_lease_release(file.number)
            return false
        }
        return errno == EAGAIN
    }

    /// The size in bytes up to which a file is read and parsed in about a millisecond.
    private static let quickSize: Int64 = 1 << 16

    /// Whether the file can be written, but not replaced or removed.
    ///
    /// It is a mount point, or its directory isn't writable.
    var isFixed: Bool { isFixed(by: FileTies(ofFileAt: path)) }

    private func isFixed(by ties: FileTies) -> Bool {
        ties.contains(.mount)
            || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0
                && faccessat(AT_FDCWD, Path.directory(of: path), W_OK, AT_EACCESS) != 0
    }

    /// Whether the file must stay the same file when it is saved, so that it is written in place.
    ///
    /// It has several hard links or is fixed, or is a link to such a file.
    var isTied: Bool {
        // If links can't be resolved, neither can they when the file is saved, which then fails.
        let target = (try? Self.resolvingLinks(path)) ?? path
        if target != path { return DomainFile(path: target, limits: limits).isTied }
        let ties = FileTies(ofFileAt: path)
        return ties.contains(.hardLinks) || isFixed(by: ties)
    }

    /// Whether the name is a symbolic link.
    var isLink: Bool { (try? FileStatus(at: path, followsLinks: false))?.isLink == true }

    /// Returns the path of the real file behind symbolic links, whether or not it exists.
    ///
    /// A save replaces the file that a link leads to, and leaves the link as it is.
    ///
    /// - Throws: EILSEQ if a link leads to a name that isn't UTF-8.
    static func resolvingLinks(_ path: String) throws(SystemCall.Failure) -> String {
        var path = path
        for _ in 0..<40 {
            guard let bytes = SystemCall.target(ofLink: path) else { return path }
            guard let target = String(validating: bytes, as: UTF8.self) else {
                throw SystemCall.Failure(number: EILSEQ)
            }
            path = Path.isAbsolute(target) ? target : "\(Path.directory(of: path))/\(target)"
        }
        return path
    }

    /// The damage of a link that leads nowhere, perhaps to a file system that isn't mounted.
    private var missingTarget: FileDamage {
        let target = (try? Self.resolvingLinks(path)) ?? "a name that is not UTF-8"
        let sentence =
            "\(path) is a link to \(target), which doesn't exist. Mount its file system, or write the last good values "
            + "there with `defaults export`. To remove the domain, remove the link."
        return FileDamage(error: DefaultsError(.unreadable, sentence, errno: ENOENT), version: nil)
    }

    /// Reads an open file's bytes as a writer left them; returns `nil` while the file is being written.
    ///
    /// - Returns: The bytes, their version, and whether a program has the file open for writing nevertheless.
    /// - Throws: EFBIG if the file is larger than the limit; no memory is then allocated.
    func readWhole(
        _ file: borrowing FileDescriptor, openWriters: OpenWriterPolicy
    ) throws(SystemCall.Failure) -> WholeReading? {
        var earlier: FileVersion?
        while true {
            switch try attemptWhole(file, openWriters: openWriters, after: earlier) {
            case .certain(let whole): return whole
            case .uncertain(let version):
                earlier = version
                Backoff.pause(Self.confirmationDelay)
            }
        }
    }

    /// The bytes and the version of a file, and whether a program has it open for writing.
    typealias WholeReading = (bytes: [UInt8], version: FileVersion, isOpen: Bool)

    private func attemptWhole(
        _ file: borrowing FileDescriptor, openWriters: OpenWriterPolicy, after earlier: FileVersion?
    ) throws(SystemCall.Failure) -> Attempt<WholeReading?> {
        if linux_lease_read(file.number) == 0 { return .certain(try readLeased(file, as: FileIdentity(file.status()))) }
        // EAGAIN means that a program has the file open for writing; any other error, that leases aren't available.
        let isOpen = errno == EAGAIN
        if isOpen, openWriters == .wait { return .certain(nil) }
        let now = Timestamp.now()
        let (bytes, version) = try readOnce(file, as: FileIdentity(file.status()))
        if let earlier { return .certain(earlier == version ? (bytes, version, isOpen) : nil) }
        // A writer that began during the read has given the file other times.
        if !isOpen, version.identity.isOld(at: now), FileIdentity(try file.status()) == version.identity {
            return .certain((bytes, version, false))
        }
        return .uncertain(version)
    }

    /// Reads a leased file, and releases the lease.
    private func readLeased(
        _ file: borrowing FileDescriptor, as identity: FileIdentity
    ) throws(SystemCall.Failure) -> WholeReading {
        defer { linux_lease_release(file.number) }
        let (bytes, version) = try readOnce(file, as: identity)
        return (bytes, version, false)
    }

    private func readOnce(
        _ file: borrowing FileDescriptor, as identity: FileIdentity
    ) throws(SystemCall.Failure) -> (bytes: [UInt8], version: FileVersion) {
        // Check the size that is allocated below, since a sparse file can grow enormously at any time.
        guard identity.size <= limits.bytes else { throw SystemCall.Failure(number: EFBIG) }
        let isSettled = !identity.isFresh(at: .now())
        let bytes = try file.read(upTo: Int(identity.size), from: 0)
        return (bytes, FileVersion(identity: identity, hash: ContentHash(bytes), isSettled: isSettled))
    }

    /// Parses a file's bytes as a domain's values.
    func parse(_ bytes: [UInt8], of version: FileVersion, keepsBytes: Bool = false) -> FileReading {
        if bytes.isEmpty {
            return .unusable(damage(.damaged, "\(path) is empty, so it isn't a property list.", of: version))
        }
        do throws(PropertyListError) {
            // The limits are generous, since other programs write the files. They reject only files crafted to use much
            // memory.
            let document = try PropertyListDocument(
                reading: bytes, limits: limits.proportionate(to: bytes.count, valuesPerByte: 64, atLeast: 100_000))
            guard case .dictionary(let values) = document.value else {
                return .unusable(
                    damage(
                        .damaged, "\(path) has no dictionary at its top level, so it holds no preferences.", of: version
                    ))
            }
            // To the codec, this is an empty strings file. But no program writes one, and a file may lose its contents.
            if values.isEmpty, document.format == .oldStyle, TextComments.areAll(of: bytes) {
                return .unusable(
                    damage(
                        .damaged, "\(path) has only blank lines or comments, so it isn't a property list.", of: version)
                )
            }
            return .contents(
                FileContents(
                    // A caller must not have to wait until the values of a large file are parsed.
                    values: keepsBytes && bytes.count <= Self.quickSize
                        ? FileValues(bytes: bytes, parsedAs: values) : FileValues(values),
                    format: document.format, version: version,
                    hasEquivalentKeys: document.hasEquivalentKeys))
        } catch {
            var damage = damage(.damaged, "\(path): \(error)", of: version)
            damage.isText = error.format != .binary
            return .unusable(damage)
        }
    }

    /// Returns the damage of a file, or a version of a file, that can't be read.
    func damage(after failure: SystemCall.Failure, of what: String) -> FileDamage {
        if failure.number == EFBIG { return tooLarge("has more bytes than when it was opened") }
        return FileDamage(
            error: DefaultsError(.unreadable, errno: failure.number, "\(what) can't be read"), version: nil)
    }

    private func tooLarge(_ finding: String) -> FileDamage {
        damage(
            .damaged,
            "\(path) \(finding), more than the limit of \(limits.bytes). "
                + "Make it smaller, or raise the setting MaximumFileSize.")
    }

    private func damage(_ code: DefaultsError.Code, _ sentence: String, of version: FileVersion? = nil) -> FileDamage {
        FileDamage(
            error: DefaultsError(code, sentence), version: version,
            isProtected: code == .damaged && (!replacesDamagedFiles || isLink))
    }
}
