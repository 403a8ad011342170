import CLinux
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Files that can't be read or parsed: each changes nothing, is reported once, and is kept.
@Suite("Bad files")
struct BadFileTests {
    static let good = #"<plist version="1.0"><dict><key>size</key><integer>12</integer></dict></plist>"#

    /// A kind of damage: its description, the file's bytes, and a part of the reason that is reported.
    struct Damage: CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let hint: String

        init(_ description: String, _ bytes: [UInt8], _ hint: String) {
            (testDescription, self.bytes, self.hint) = (description, bytes, hint)
        }

        init(_ description: String, _ text: String, _ hint: String) {
            self.init(description, Array(text.utf8), hint)
        }
    }

    static let damages: [Damage] = [
        Damage("truncated XML", "<plist>\n<dict>\n<key>size</key><integer>1", "line 3"),
        Damage("XML with a wrong tag", "<plist>\n<dict>\n<kee>size</kee>\n</dict></plist>", "line 3"),
        Damage("XML with a key but no value", "<plist><dict>\n<key>size</key></dict></plist>", "line 2"),
        Damage("a truncated binary file", Array("bplist00".utf8) + [0xD1, 1, 2, 0x51, 0x61], "byte"),
        Damage("a binary file of noise", Array("bplist00".utf8) + [UInt8](repeating: 0xFF, count: 64), "byte"),
        Damage("truncated old-style text", "{\n size = 12;\n name = \"", "line 3"),
        Damage("plain text", "size: 12\nname: old\n", "line 1"),
        Damage("text that is not UTF-8", [0x7B, 0xFF, 0xFE, 0x00, 0x7D], "byte"),
        Damage("an array at the top", "<plist><array/></plist>", "dictionary"),
        Damage("an empty file", "", "empty"),
    ]

    @Test("A damaged file is reported once, its last good values stay, and a write copies it", arguments: damages)
    func damaged(_ damage: Damage) throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write(Self.good, to: $0.path("a.b")) }) { agent in
            let path = agent.place.path("a.b")
            let follower = try agent.follow()
            let reasons = try follower.damages { try RawFile.write(damage.bytes, to: path) }
            #expect(reasons.count == 1)
            #expect(reasons.first?.hasPrefix(path) == true)
            #expect(reasons.first?.contains(damage.hint) == true, "\(reasons)")
            try follower.expect([]) { agent.signal(SIGHUP) }

            let reading = try agent.defaults("read", "a.b", "size")
            #expect(reading.status == 0 && reading.output == "12\n")
            #expect(reading.errors.hasPrefix("defaults: \(path)"))
            #expect(reading.errors.hasSuffix("The last good values follow.\n"))
            #expect(reading.errors.split(separator: "\n").count == 1)
            #expect(try agent.defaults("status").output.contains(path))

            let changes = try follower.changes {
                let outcome = try agent.defaults("write", "a.b", "color", "red")
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            #expect(changes == ["a.b: color ->red (app)", "a.b: recovered"])
            #expect(try RawFile.read("\(path).damaged-1") == damage.bytes)
            #expect(try values(path) == ["size": 12, "color": "red"])
            #expect(!RawFile.exists("\(path).damaged-2"))
            let after = try agent.defaults("read", "a.b", "size")
            #expect(after.output == "12\n" && after.errors == "")
            #expect(try agent.defaults("status").output.contains("errors       none"))
        }
    }

    @Test("Repairing a damaged file clears the error and publishes only what changed", arguments: damages)
    func repaired(_ damage: Damage) throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write(Self.good, to: $0.path("a.b")) }) { agent in
            let path = agent.place.path("a.b")
            let follower = try agent.follow()
            try follower.expect(["a.b: damaged"]) { try RawFile.write(damage.bytes, to: path) }
            try follower.expect(["a.b: recovered"]) { try RawFile.write(Self.good, to: path) }
            #expect(try agent.status()["errors"] == [])
            try follower.expect(["a.b: damaged"]) { try RawFile.write(damage.bytes, to: path) }
            let repaired = try follower.changes { try RawFile.write("{size = 14;}", to: path) }
            #expect(repaired == ["a.b: size 12>14 (file)", "a.b: recovered"])
            #expect(try agent.status()["errors"] == [])
            #expect(agent.place.files == ["a.b.plist"])
        }
    }

    @Test("Touching a damaged file reports nothing new")
    func touched() throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write(Self.good, to: $0.path("a.b")) }) { agent in
            let follower = try agent.follow()
            try follower.expect(["a.b: damaged"]) { try agent.shell("echo oops > a.b.plist") }
            try follower.expect([]) { try agent.shell("touch a.b.plist; chmod 640 a.b.plist") }
        }
    }

    @Test("Commands report a file that is damaged from the start, and a write copies it", arguments: damages)
    func damagedFromTheStart(_ damage: Damage) throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write(damage.bytes, to: $0.path("a.b")) }) { agent in
            let path = agent.place.path("a.b")
            for arguments in [["read", "a.b"], ["read", "a.b", "size"], ["delete", "a.b"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: agent.place.environment)
                #expect(outcome.status == 65 && outcome.output == "")
                #expect(outcome.errors.hasPrefix("defaults: \(path)"))
            }
            let outcome = try agent.defaults("write", "a.b", "color", "red")
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("a backup copy is kept beside it"))
            #expect(try RawFile.read("\(path).damaged-1") == damage.bytes)
            #expect(try values(path) == ["color": "red"])
        }
    }

    @Test("A file that is damaged repeatedly is copied each time")
    func again() throws {
        try AgentProcess.withAgent { agent in
            let path = agent.place.path("a.b")
            for number in 1...3 {
                try RawFile.write("oops \(number)", to: path)
                try agent.synchronize()
                try agent.defaults("write", "a.b", "number", "-int", "\(number)")
                #expect(try RawFile.read("\(path).damaged-\(number)") == Array("oops \(number)".utf8))
            }
            #expect(try values(path) == ["number": 3])
        }
    }

    @Test("A file that is too large is left alone, and edits of it are kept until it is smaller")
    func tooLarge() throws {
        try AgentProcess.withAgent(prepare: {
            try RawFile.write(
                "<plist><dict><key>MaximumFileSize</key><integer>2000</integer></dict></plist>",
                to: $0.path("org.defaultsd.agent"))
            try RawFile.write(Self.good, to: $0.path("a.b"))
        }) { agent in
            let path = agent.place.path("a.b")
            let follower = try agent.follow()
            let large = "{size = \(String(repeating: "9", count: 3_000));}"
            let reasons = try follower.damages { try RawFile.write(large, to: path) }
            #expect(reasons.count == 1)
            #expect(reasons.first?.contains("3010 bytes") == true && reasons.first?.contains("2000") == true)
            #expect(try agent.defaults("read", "a.b", "size").output == "12\n")

            let outcome = try agent.defaults("write", "a.b", "color", "red")
            #expect(outcome.status == 74)
            #expect(outcome.errors.contains("kept in memory"), "\(outcome.errors)")
            #expect(try RawFile.read(path) == Array(large.utf8))
            #expect(try agent.defaults("read", "a.b", "color").output == "red\n")

            _ = try follower.changes { try RawFile.write(Self.good, to: path) }
            #expect(try values(path) == ["size": 12, "color": "red"])
            #expect(try agent.status()["errors"] == [])
        }
    }

    /// Shell commands that make something other than a regular file, to be put in a domain's place.
    static let obstacles =
        [
            "mkdir ../new", "mkfifo ../new", "ln -s a.b.plist ../new", "mkfifo ../fifo; ln -s ../fifo ../new",
            "ln -s ../nowhere/target ../new",
        ] + (canMakeDevices ? ["mknod ../new c 1 5", "mknod ../zero c 1 5; ln -s ../zero ../new"] : [])

    /// Whether the test can create devices.
    ///
    /// It never links to the system's own, so that nothing can write to them.
    private static let canMakeDevices =
        (try? withTemporaryDirectory { mknod($0 + "/zero", S_IFCHR | 0o600, makedev(1, 5)) == 0 }) == true

    private static func makedev(_ major: dev_t, _ minor: dev_t) -> dev_t { major << 8 | minor }

    @Test(
        "Anything but a regular file in a domain's place is reported and blocks nothing, and edits are kept",
        arguments: obstacles)
    func noFile(_ script: String) throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write(Self.good, to: $0.path("a.b")) }) { agent in
            let path = agent.place.path("a.b")
            let follower = try agent.follow()
            try agent.shell(script)
            let reasons = try follower.damages {
                // In one step, so that the agent doesn't take the file for removed.
                #expect(
                    linux_rename_exchange(AT_FDCWD, "\(agent.place.preferences)/../new", AT_FDCWD, path) == 0)
            }
            #expect(reasons.count == 1 && reasons.first?.hasPrefix(path) == true, "\(reasons)")
            #expect(try agent.defaults("read", "a.b", "size").output == "12\n")

            let outcome = try agent.defaults("write", "a.b", "color", "red")
            #expect(outcome.status == 74)
            #expect(outcome.errors.split(separator: "\n").last?.contains(path) == true)
            #expect(try agent.defaults("read", "a.b", "color").output == "red\n")
            let pending = try agent.status()["pending"]
            #expect(pending == [["domain": "a.b", "edits": 1]])

            // The last good values are gone with the file, but the edit was kept.
            _ = try follower.changes { try agent.shell("rm -r a.b.plist") }
            #expect(try values(path) == ["color": "red"])
            let status = try agent.status()
            #expect(status["errors"] == [] && status["pending"] == [])
        }
    }

    @Test(
        "A file without read permission is reported, and read once the permission returns",
        .enabled(if: AgentProcess.hasNobody))
    func unreadable() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            try RawFile.write(Self.good, to: place.path("a.b"))
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            // A client doesn't talk to another user's agent, not even root's, so all commands run as the agent's user.
            try agent.shell("chmod 000 a.b.plist")
            let isTold = try eventually {
                try agent.defaults("status").output.contains("a.b.plist can't be read: Permission denied")
            }
            #expect(isTold)
            #expect(try agent.defaults("read", "a.b", "size").output == "12\n")
            #expect(try agent.defaults("write", "a.b", "color", "red").status == 74)
            #expect(try agent.defaults("read", "a.b", "color").output == "red\n")
            try agent.shell("chmod 644 a.b.plist")
            let isSaved = try eventually(within: 60) {
                let text = try agent.defaults("status").output
                return text.contains("errors       none") && text.contains("pending      none")
            }
            #expect(isSaved)
            #expect(try values(place.path("a.b")) == ["size": 12, "color": "red"])
        }
    }

    @Test(
        "An unreadable file of another user is reported, and loaded once it can be read",
        .enabled(if: AgentProcess.hasNobody))
    func foreign() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            try RawFile.write(Self.good, to: place.path("a.b"))
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            // A readable file is loaded, and a save makes the agent's user its owner.
            #expect(try agent.defaults("write", "a.b", "color", "red").status == 0)
            #expect(try values(place.path("a.b")) == ["size": 12, "color": "red"])
            #expect(try RawFile.status(place.path("a.b")).st_uid == 65_534)

            try agent.shell("echo '{size = 14;}' > new; chmod 600 new; mv new a.b.plist")
            let isTold = try eventually {
                try agent.defaults("status").output.contains("a.b.plist can't be read: Permission denied")
            }
            #expect(isTold)
            #expect(try agent.defaults("write", "a.b", "shape", "round").status == 74)
            try agent.shell("chown 65534 a.b.plist")
            let isSaved = try eventually(within: 60) {
                let text = try agent.defaults("status").output
                return text.contains("errors       none") && text.contains("pending      none")
            }
            #expect(isSaved)
            // The version with "color" has been read above, so the writer of the new file may have removed the key.
            #expect(try values(place.path("a.b")) == ["size": "14", "shape": "round"])
        }
    }

    @Test("A file name of any bytes names a domain or is ignored, and reports about it stay on one line")
    func bytesOfNames() throws {
        try AgentProcess.withAgent { agent in
            let follower = try agent.follow()
            let names: [[UInt8]] = [
                Array("two\nlines".utf8), Array("\u{1B}[31mred".utf8), Array("e\u{301}".utf8), Array("\u{E9}".utf8),
                [0xFF, 0xFE], [0x61, 0xC3], [0xED, 0xA0, 0x80],
            ]
            for name in names {
                let path = Array("\(agent.place.preferences)/".utf8) + name + Array(".plist".utf8) + [0]
                let fd = path.withUnsafeBytes { bytes in
                    bytes.bindMemory(to: CChar.self).baseAddress.map { open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
                }
                let file = try #require(fd)
                try #require(file >= 0)
                try RawFile.write(Array("{a = 1;}".utf8), to: file)
                RawFile.close(file)
            }
            let changes = try follower.changes()
            #expect(changes.count == 4, "\(changes)")
            #expect(try agent.defaults("read", "two\nlines", "a").output == "1\n")
            #expect(try agent.defaults("write", "two\nlines", "a", "2").status == 0)
            #expect(try values(agent.place.path("two\nlines")) == ["a": "2"])

            let reasons = try follower.damages { try RawFile.write("oops", to: agent.place.path("two\nlines")) }
            #expect(reasons.count == 2, "The earlier change and the damage: \(reasons)")
            let status = try agent.defaults("status").output
            #expect(status.contains("two\\nlines"), "\(status)")
            #expect(!status.contains("two\nlines") && !status.contains("\u{1B}"), "\(status)")
            // The name can't break up the log's lines either.
            let log = agent.complaints()
            #expect(log.contains("two") && !log.contains("two\nlines") && !log.contains("\u{1B}"), "\(log)")
        }
    }

    @Test("File names that no domain can have are ignored")
    func otherNames() throws {
        try AgentProcess.withAgent { agent in
            let follower = try agent.follow()
            let changes = try follower.changes {
                for name in [
                    ".hidden.plist", ".plist", "a.b.plist~", ".a.b.plist.swp", "a.b.plist.bak", "a.b.PLIST", "plist",
                    String(repeating: "x", count: 201) + ".plist", "NSGlobalDomain.plist",
                ] {
                    try RawFile.write("{a = b;}", to: "\(agent.place.preferences)/\(name)")
                }
                try agent.shell(#"printf '{a = b;}' > "$(printf 'x\377y.plist')"; mkdir ByHost sub"#)
                try agent.shell("echo '{a=b;}' > ByHost/a.plist; echo '{a=b;}' > sub/a.b.plist")
            }
            #expect(changes == [])
            #expect(try agent.defaults("domains").output == "")
            try follower.expect(["\(longest): a ->b (file)"]) { try agent.shell("echo '{a=b;}' > \(longest).plist") }
        }
    }

    private let longest = String(repeating: "x", count: 200)

    @Test(
        "A half-written file that its writer holds open is never reported as damaged",
        .enabled(if: ForeignProcess.hasPython))
    func halfWritten() throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write(Self.good, to: $0.path("a.b")) }) { agent in
            let follower = try agent.follow()
            let writer = try ForeignProcess(
                python: """
                    import sys
                    text = open(sys.argv[1]).read().replace('12', '14')
                    for path in sys.argv[1:]:
                        file = open(path, 'w')
                        file.write(text[:40]); file.flush()
                        print('half', flush=True)
                        sys.stdin.readline()
                        file.write(text[40:]); file.close()
                        print('done', flush=True)
                    """, [agent.place.path("a.b"), agent.place.path("c.d")])
            for expected in ["a.b: size 12>14 (file)", "c.d: size ->14 (file)"] {
                #expect(writer.line() == "half")
                // Longer than the delay after which a file that has an open writer is read anyway.
                let end = ContinuousClock.now + .milliseconds(700)
                repeat { try follower.expect([]) } while ContinuousClock.now < end
                #expect(try agent.status()["errors"] == [])
                #expect(try agent.defaults("read", "a.b", "size").errors == "")
                let changes = try follower.changes {
                    try writer.send("go on")
                    #expect(writer.line() == "done")
                }
                #expect(changes == [expected])
            }
            try writer.remainder()
        }
    }

    private func values(_ path: String) throws -> PropertyListValue {
        try PropertyListValue(parsing: RawFile.read(path))
    }
}
