import CLinux
import Glibc
package import PropertyList

/// Reads a domain's file whole or not at all.
///
/// The file is read under a read lease (`F_SETLEASE`): the kernel refuses the lease while anyone has the file open for
/// writing, and makes a writer that comes later wait until it is released. So what was read is what some writer left
/// behind, never the middle of its work. Where leases are refused (not the owner, a network file system), two readings
/// 20 ms apart must be equal.
package struct DomainFile: Sendable {
    /// The absolute path.
    package let path: String
    /// The limits of a file.
    package let limits: PropertyListLimits
    /// The directory that root alone may write to, down to the file, or the file isn't taken; `nil` where anyone may.
    private let managedDirectory: String?
    /// Whether a file that is no property list may be replaced once it is copied aside; one behind a link never is.
    private let mayReplaceDamage: Bool

    /// What a file may be, unless the settings say otherwise.
    ///
    /// See `Frame.limits` for the depth.
    package static let standardLimits = PropertyListLimits(depth: 500)

    /// Names a file.
    ///
    /// - Parameters:
    ///   - path: its absolute path.
    ///   - limits: what it may be.
    ///   - managedDirectory: a directory above it, for a file that is only taken where root alone can have written it.
    ///   - mayReplaceDamage: false for a file that need not be one of preferences at all.
    package init(
        path: String, limits: PropertyListLimits = standardLimits, managedDirectory: String? = nil,
        mayReplaceDamage: Bool = true
    ) {
        self.path = path
        self.limits = limits
        self.managedDirectory = managedDirectory
        self.mayReplaceDamage = mayReplaceDamage
    }

    /// How hard to insist on reading a file that someone has open for writing.
    package enum Patience: Sendable {
        /// Answer `beingWritten`.
        case wait
        /// It has been open for long: take what two equal readings say.
        case insist
    }

    /// Looks at the file.
    ///
    /// - Parameters:
    ///   - known: the state that is known already; equal bytes are not parsed again.
    ///   - patience: what to do about a file that is open for writing.
    ///   - isTold: whether an event has told of the file. Then it is read whatever its times say, which on a file system with
    ///     a coarse clock may be that nothing has happened.
    /// - Returns: the outcome; a failure of the system is one, too.
    package func read(known: FileVersion?, patience: Patience = .wait, isTold: Bool = false) -> FileReading {
        do throws(SystemCall.Failure) {
            // O_NONBLOCK, so that a FIFO in the file's place blocks nobody.
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            let status = try file.status()
            // Whatever it is, and whatever is known of its bytes: who may have written them is another matter.
            if let managedDirectory,
                let problem = RootOwnership.problem(ofFileAt: path, status, below: managedDirectory)
            {
                return .unusable(FileDamage(error: problem, version: nil))
            }
            guard status.st_mode & S_IFMT == S_IFREG else {
                return .unusable(damage(.unreadable, "\(path) is no regular file; move it away or write a file there."))
            }
            let identity = FileIdentity(status)
            if !isTold, let known, known.isSettled, known.identity == identity { return .unchanged(known) }
            guard identity.size <= limits.bytes else { return .unusable(tooLarge("has \(identity.size) bytes")) }
            guard let (bytes, version, isOpen) = try readWhole(file, patience: patience) else { return .beingWritten }
            if known?.hash == version.hash { return .unchanged(version) }
            var reading = parse(bytes, version)
            if case .contents(var contents) = reading {
                contents.publication = PublicationMark(of: version.hash, on: file)
                reading = .contents(contents)
            }
            // What doesn't parse while someone writes it isn't damaged, but unfinished.
            if isOpen, case .unusable = reading { return .beingWritten }
            return reading
        } catch {
            if error.number == ENOENT { return isLink ? .unusable(missingTarget) : .missing }
            return .unusable(damage(after: error, of: path))
        }
    }

    /// Whether a program has the file open for writing, where that can be told.
    var isOpenForWriting: Bool {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY) else { return false }
        if linux_lease_read(file.number) == 0 {
            linux_lease_release(file.number)
            return false
        }
        return errno == EAGAIN
    }

    /// Whether the name is a symbolic link.
    var isLink: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Why a link can't be taken that leads nowhere: it may lead to a file system that isn't mounted.
    private var missingTarget: FileDamage {
        let target = (try? Self.resolvingLinks(path)) ?? "a name that is not UTF-8"
        let sentence =
            "\(path) is a link to \(target), where nothing is. Mount the file system that it is on, or have "
            + "`defaults export` write the last good values there; to remove the link is to remove the domain."
        return FileDamage(error: DefaultsError(.unreadable, sentence, errno: ENOENT), version: nil)
    }

    /// Reads an open file's bytes as some writer left them; `nil` while it is being written.
    ///
    /// - Returns: the bytes, their state, and whether someone has the file open for writing all the same.
    /// - Throws: EFBIG when it is larger than the limit; that much memory isn't asked for.
    func readWhole(
        _ file: borrowing FileDescriptor, patience: Patience
    ) throws(SystemCall.Failure) -> (bytes: [UInt8], version: FileVersion, isOpen: Bool)? {
        if linux_lease_read(file.number) == 0 {
            defer { linux_lease_release(file.number) }
            let (bytes, version) = try readOnce(file)
            return (bytes, version, false)
        }
        // EAGAIN: someone has it open for writing. Anything else: no lease is to be had here.
        let isOpen = errno == EAGAIN
        if isOpen, patience == .wait { return nil }
        let first = try readOnce(file)
        poll(nil, 0, 20)
        let (bytes, version) = try readOnce(file)
        return first.version == version ? (bytes, version, isOpen) : nil
    }

    private func readOnce(
        _ file: borrowing FileDescriptor
    ) throws(SystemCall.Failure) -> (bytes: [UInt8], version: FileVersion) {
        let identity = FileIdentity(try file.status())
        // Asked of the very size that is allocated: a file can grow, sparsely, at any time.
        guard identity.size <= limits.bytes else { throw SystemCall.Failure(number: EFBIG) }
        let isSettled = !identity.isFresh(at: .now())
        try SystemCall.run { lseek(file.number, 0, SEEK_SET) }
        let bytes = try file.read(upTo: Int(identity.size))
        return (bytes, FileVersion(identity: identity, hash: ContentHash(bytes), isSettled: isSettled))
    }

    /// Takes a file's bytes as a domain's values.
    func parse(_ bytes: [UInt8], _ version: FileVersion) -> FileReading {
        if bytes.isEmpty {
            return .unusable(damage(.damaged, "\(path) is empty, which no property list is.", version))
        }
        do throws(PropertyListError) {
            // Generous, since other programs write files: what is refused here has no other purpose than to be large.
            let document = try PropertyListDocument(
                reading: bytes, limits: limits.proportionate(to: bytes.count, valuesPerByte: 64, atLeast: 100_000))
            guard case .dictionary(let values) = document.value else {
                return .unusable(
                    damage(.damaged, "\(path) holds no dictionary at its top, so it holds no preferences.", version))
            }
            return .contents(
                FileContents(
                    values: values, format: document.format, version: version,
                    hasEquivalentKeys: document.hasEquivalentKeys))
        } catch {
            return .unusable(damage(.damaged, "\(path): \(error)", version))
        }
    }

    /// Why a file, or a version of it, can't be taken that can't be read.
    func damage(after failure: SystemCall.Failure, of what: String) -> FileDamage {
        if failure.number == EFBIG { return tooLarge("has more bytes than when it was opened") }
        return FileDamage(
            error: DefaultsError(.unreadable, errno: failure.number, "\(what) can't be read"), version: nil)
    }

    private func tooLarge(_ finding: String) -> FileDamage {
        damage(
            .damaged,
            "\(path) \(finding), more than the limit of \(limits.bytes); "
                + "make it smaller or raise the setting MaximumFileSize.")
    }

    private func damage(_ code: DefaultsError.Code, _ sentence: String, _ version: FileVersion? = nil) -> FileDamage {
        FileDamage(
            error: DefaultsError(code, sentence), version: version,
            isProtected: code == .damaged && (!mayReplaceDamage || isLink))
    }
}
