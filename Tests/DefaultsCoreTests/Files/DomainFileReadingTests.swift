import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Reading a domain's file")
struct DomainFileReadingTests {
    private func file(_ path: String, bytes: Int = 1 << 20) -> DomainFile {
        DomainFile(path: path, limits: PropertyListLimits(bytes: bytes))
    }

    @Test("A missing file reads as missing, but a dangling link is an error, as its target may not be mounted")
    func missing() throws {
        try withTemporaryDirectory { directory in
            #expect(file(directory + "/a.plist").read(known: nil).kind == "missing")
            symlink("nowhere", directory + "/b.plist")
            guard case .unusable(let damage) = file(directory + "/b.plist").read(known: nil) else {
                Issue.record("The dangling link wasn't rejected.")
                return
            }
            #expect(damage.error.code == .unreadable && damage.error.errno == ENOENT && damage.version == nil)
            #expect(damage.error.description.contains("\(directory)/b.plist is a link to \(directory)/nowhere,"))
        }
    }

    @Test("A file's contents have a format, and read as unchanged while the bytes are the same")
    func contents() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = b; }", to: path)
            guard case .contents(let contents) = file(path).read(known: nil) else {
                Issue.record("The file wasn't read.")
                return
            }
            #expect(contents.values == ["a": "b"])
            #expect(contents.format == .oldStyle)
            #expect(contents.version.hash == ContentHash(Array("{ a = b; }".utf8)))
            #expect(file(path).read(known: contents.version).kind == "unchanged")

            try RawFile.replace(path, with: Array("{ a = b; }".utf8))
            guard case .unchanged(let moved) = file(path).read(known: contents.version) else {
                Issue.record("A file replaced by one with the same bytes wasn't reported as unchanged.")
                return
            }
            #expect(moved.identity != contents.version.identity)

            try RawFile.write("{ a = c; }", to: path)
            #expect(file(path).read(known: moved).kind == "contents")
        }
    }

    @Test("A file of arrays that share elements may stand for 100,000 values, or 64 for each byte")
    func sharing() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            for (levels, kind) in [(4, "contents"), (6, "unusable")] {
                try RawFile.write(sharedArrays(width: 10, levels: levels), to: path)
                #expect(file(path).read(known: nil).kind == kind)
            }
        }
    }

    @Test("A change in the same tick of the file system's clock is seen, no matter how late the file is read")
    func racyChange() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = 1; }", to: path)
            guard case .contents(let first) = file(path).read(known: nil) else {
                Issue.record("The file wasn't read.")
                return
            }
            try RawFile.write("{ a = 2; }", to: path)
            // Simulates two changes in one tick, as kernels from 6.13 on tell them apart.
            var known = first.version
            known.identity = FileIdentity(try RawFile.status(path))
            #expect(eventually { !known.identity.isFresh(at: .now()) })
            guard case .contents(let second) = file(path).read(known: known) else {
                Issue.record("The second version wasn't seen.")
                return
            }
            // The file was old when it was read, so its times are reliable.
            #expect(second.version.isSettled)
        }
    }

    @Test("No file has a change time later than the clock right after its change")
    func clock() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            for number in 0..<300 {
                try RawFile.write("{ a = \(number); }", to: path)
                let identity = FileIdentity(try RawFile.status(path))
                let now = Timestamp.now()
                #expect(identity.changed <= now)
            }
        }
    }

    @Test("A version that was just saved isn't trusted by its times, as another writer may have followed immediately")
    func racyPublication() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            guard case .saved(let version?, _) = try file(path).save(Array("{ a = 1; }".utf8), expecting: nil) else {
                Issue.record("The file wasn't saved.")
                return
            }
            // Simulates a writer between the exchange and the query of the new file's times.
            try RawFile.write("{ a = 2; }", to: path)
            let seen = FileVersion(
                identity: FileIdentity(try RawFile.status(path)), hash: version.hash, isSettled: version.isSettled)
            #expect(eventually { !seen.identity.isFresh(at: .now()) })
            #expect(file(path).read(known: seen).kind == "contents")
        }
    }

    @Test(
        "The error for an unusable file states the reason and the position",
        arguments: [
            ("", "is empty, so it isn't a property list."),
            ("\n", "has only blank lines or comments, so it isn't a property list."),
            ("// a = {\n/* } */ ", "has only blank lines or comments, so it isn't a property list."),
            ("(a, b)", "has no dictionary at its top level, so it holds no preferences."),
            ("{ a = b;\n c }", "line 2"), ("<?xml version=\"1.0\"?>\n<plist><dict>\n<key>a</key>", "line 3"),
            ("bplist00xxxx", "byte"),
            (String(repeating: " ", count: 2_000), "has 2000 bytes, more than the limit of 1000"),
        ])
    func damaged(text: String, reason: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write(text, to: path)
            guard case .unusable(let damage) = file(path, bytes: 1_000).read(known: nil) else {
                Issue.record("The file was accepted.")
                return
            }
            #expect(damage.error.code == .damaged)
            #expect(damage.error.description.hasPrefix(path))
            #expect(damage.error.description.contains(reason), "\(damage.error)")
            #expect(damage.error.description.hasSuffix("."))
            #expect((damage.version == nil) == (text.utf8.count > 1_000))
        }
    }

    @Test("A displaced file's change isn't as late as the exchange, which changed the file's times")
    func displacedTime() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = 1; }", to: path)
            letTimePass()
            let between = Timestamp.now()
            letTimePass()
            #expect(rename(path, path + "2") == 0)
            for checked in [Timestamp(nanoseconds: 0), between, .now()] {
                let open = try FileDescriptor(opening: path + "2", O_RDONLY)
                let displaced = DisplacedFile(
                    DomainFile(path: path), file: open, temporaryPath: path + "2", after: checked)
                guard case .contents(let contents) = displaced.examine(known: nil) else {
                    throw TestSystemError("The file wasn't read")
                }
                let identity = contents.version.identity
                #expect(contents.time == min(max(identity.modified, checked), identity.changed))
                #expect(contents.time < identity.changed || checked > identity.changed)
            }
        }
    }

    @Test("A file that grows past the limit after it was opened isn't read into memory")
    func grown() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = b; }", to: path)
            let open = try FileDescriptor(opening: path, O_RDONLY)
            truncate(path, 1 << 40)
            #expect(throws: SystemCall.Failure(number: EFBIG)) {
                _ = try file(path, bytes: 1_000).readWhole(open, openWriters: .readAnyway)
            }
            let displaced = DisplacedFile(file(path, bytes: 1_000), file: open, temporaryPath: path, after: .now())
            guard case .unusable(let damage) = displaced.examine(known: nil) else {
                Issue.record("The file was accepted.")
                return
            }
            #expect(damage.error.code == .damaged)
            #expect(damage.error.description.contains("more than the limit of 1000."))
        }
    }

    @Test("A directory or FIFO in the file's place is rejected without blocking", .timeLimit(.minutes(1)))
    func irregular() throws {
        try withTemporaryDirectory { directory in
            try RawFile.makeDirectory(directory + "/a.plist")
            mkfifo(directory + "/b.plist", 0o600)
            for name in ["a", "b"] {
                guard case .unusable(let damage) = file("\(directory)/\(name).plist").read(known: nil) else {
                    Issue.record("\(name) was accepted.")
                    continue
                }
                #expect(damage.error.code == .unreadable)
                #expect(damage.error.description.contains("is not a regular file"))
            }
        }
    }

    @Test("An unreadable file is reported as such, and another user's readable file is read without a lease")
    func permissions() throws {
        try withTemporaryDirectory { directory in
            chmod(directory, 0o755)
            let (secret, open) = (directory + "/a.plist", directory + "/b.plist")
            for path in [secret, open] { try RawFile.write("{ a = b; }", to: path) }
            chmod(secret, 0)
            let (ofSecret, ofOpen) = asUnprivileged {
                (
                    DomainFile(path: secret, limits: PropertyListLimits()).read(known: nil),
                    DomainFile(path: open, limits: PropertyListLimits()).read(known: nil)
                )
            }
            guard case .unusable(let damage) = ofSecret else {
                Issue.record("The file was read.")
                return
            }
            #expect(damage.error == DefaultsError(.unreadable, errno: EACCES, "\(secret) can't be read"))
            #expect(ofOpen.kind == "contents")
        }
    }

    @Test("Files that must be read twice are read again after one pause for all of them")
    func uncertain() throws {
        try withTemporaryDirectory { directory in
            let preferences = PreferencesDirectory(path: directory)
            let domains = try (0..<50).map { Domain(try DomainName("org.example.\($0)")) }
            let writers = try domains.map { domain in
                try RawFile.write("{ a = b; }", to: preferences.path(of: domain))
                return open(preferences.path(of: domain), O_WRONLY)
            }
            defer { for writer in writers { close(writer) } }
            let file = DomainFile(path: preferences.path(of: domains[0]))
            guard case .uncertain(let version) = file.attempt(known: nil, openWriters: .readAnyway),
                case .certain(let reading) = file.attempt(known: nil, openWriters: .readAnyway, after: version)
            else {
                Issue.record("The file wasn't read twice.")
                return
            }
            #expect(reading.kind == "contents")

            let store = Store(directory: preferences)
            let start = ContinuousClock.now
            #expect(store.reload(domains, openWriters: .readAnyway) == .none)
            // A pause for each file would take a second.
            #expect(ContinuousClock.now - start < DomainFile.confirmationDelay * (domains.count - 1))
            #expect(store.domains() == domains.sorted())
        }
    }

    @Test("A file is old a minute after its last change, and never if that lies in the future")
    func old() throws {
        try withTemporaryDirectory { directory in
            try RawFile.write("{ a = b; }", to: directory + "/a.plist")
            let identity = FileIdentity(try RawFile.status(directory + "/a.plist"))
            for (seconds, isOld) in [(-120, false), (0, false), (59, false), (61, true)] {
                let now = Timestamp(nanoseconds: identity.changed.nanoseconds + Int64(seconds) * 1_000_000_000)
                #expect(identity.isOld(at: now) == isOld)
            }
        }
    }

    @Test("A file with an open writer is skipped unless the caller insists on reading it")
    func beingWritten() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = b; }", to: path)
            let writer = open(path, O_WRONLY)
            #expect(file(path).read(known: nil).kind == "beingWritten")
            #expect(file(path).read(known: nil, openWriters: .readAnyway).kind == "contents")
            RawFile.close(writer)
            #expect(file(path).read(known: nil).kind == "contents")
        }
    }

    @Test("Reading a file leaves no lease behind")
    func leaseIsReleased() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ a = b; }", to: path)
            #expect(file(path).read(known: nil).kind == "contents")
            // A lease would block this call, or make it fail with O_NONBLOCK.
            let writer = open(path, O_WRONLY | O_NONBLOCK)
            #expect(writer >= 0)
            close(writer)
        }
    }

    @Test(
        "No read is torn or empty while a foreign program rewrites the file in place at full speed",
        .enabled(if: ForeignProcess.hasPython), .timeLimit(.minutes(2)))
    func hammer() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.plist"
            try RawFile.write("{ n = 0; }", to: path)
            // Each version contains its number 2,000 times, so that a mixture of two is noticed.
            let writer = try ForeignProcess(
                python: """
                    import sys, time
                    end = time.monotonic() + 1.5
                    n = 0
                    while n < 20000 and time.monotonic() < end:
                        n += 1
                        with open(sys.argv[1], "w") as f:
                            f.write("{ n = (" + ", ".join([str(n)] * 2000) + "); }")
                    print(n, flush=True)
                    """, [path])
            var (read, torn) = (0, 0)
            var known: FileVersion?
            while writer.isRunning {
                switch file(path).read(known: known) {
                case .contents(let contents):
                    read += 1
                    known = contents.version
                    if case .array(let numbers)? = contents.values["n"], Set(numbers).count == 1, numbers.count == 2_000
                    {
                        continue
                    }
                    if contents.values != ["n": "0"] { torn += 1 }
                case .unusable: torn += 1
                default: break
                }
            }
            #expect(try Int(writer.remainder().dropLast()) ?? 0 > 20)
            #expect(torn == 0, "of \(read)")
            #expect(read > 1)
        }
    }
}
