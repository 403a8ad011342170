import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The privacy of preferences in files, logs, messages and the arguments of processes.
@Suite("Secrecy")
struct SecrecyTests {
    private static let secret = "Xs3cr3tX"

    /// A launcher that clears the umask.
    private static let openly = ["/bin/sh", "-c", "umask 0; exec \"$@\"", "sh"]

    /// Returns the names and modes of what other users could read, write or list below a directory.
    private static func exposed(below path: String) throws -> [String] {
        try namesOfFiles(in: path).flatMap { name in
            let status = try RawFile.status("\(path)/\(name)")
            let isOpen = status.st_mode & S_IFMT != S_IFLNK && status.st_mode & 0o077 != 0
            let below = status.st_mode & S_IFMT == S_IFDIR ? try exposed(below: "\(path)/\(name)") : []
            return (isOpen ? ["\(name) \(String(status.st_mode & 0o7777, radix: 8))"] : []) + below
        }
    }

    /// Runs one of our programs with a cleared umask, where the default directories don't exist yet.
    private static func run(
        _ place: AgentProcess.Place, _ program: String, _ arguments: String...
    ) throws -> Programs.Outcome {
        let outcome = try Programs.run(
            openly[0], Array(openly[1...]) + [program] + arguments, environment: environment(place))
        #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
        return outcome
    }

    private static func environment(_ place: AgentProcess.Place) -> [String: String] {
        [
            "HOME": place.root, "XDG_CONFIG_HOME": place.preferences + "/new", "DEFAULTS_DIRECTORY": "",
            "XDG_RUNTIME_DIR": place.runtime, "DEFAULTSD_SOCKET": "", "TMPDIR": place.runtime,
            "DEFAULTS_SYSTEM_DIRECTORIES": place.system, "DEFAULTS_MANAGED_DIRECTORY": place.managed,
            "ROOT": place.root, "EDITOR": "find $TMPDIR -path '*defaults-*' -perm /077 >&2; sed -i s/w/x/",
        ]
    }

    @Test(
        "A new version beside its file is never open to a group that the file's ACL excludes",
        .enabled(if: Injection.isPossible && AgentProcess.hasNobody && AccessControlList.isAvailable))
    func waitingVersion() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            let path = place.path("a.b")
            try RawFile.write("{secret = old;}", to: path)
            chown(path, 65_534, 12_345)
            try AccessControlList.set("access", on: path)
            let agent = try AgentProcess(place, launcher: AgentProcess.asNobody)
            defer { agent.kill() }
            let fault = try AttachedFault(agent.pid, at: [], "fsync:signal=KILL")
            try agent.defaults("write", "a.b", "secret", "new")
            fault.end(afterDeath: true)
            agent.kill()
            let waiting = place.hiddenVersions
            #expect(waiting.count == 1)
            for name in waiting {
                #expect(try RawFile.status("\(place.preferences)/\(name)").st_mode & 0o077 == 0)
            }
        }
    }

    @Test("An export is private, except where its directory is for others, whose rules count there")
    func exports() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{ k = v; }", to: place.path("a.b"))
            try place.describe("a.b", with: "")
            /// Returns the mode of an export in a new directory of a mode.
            func mode(_ options: String..., in directoryMode: mode_t = 0o755, hasList: Bool = false) throws -> mode_t {
                let directory = "\(place.root)/\(UInt64.random(in: 0...(.max)))"
                try RawFile.makeDirectory(directory)
                chmod(directory, directoryMode)
                if hasList { try AccessControlList.set("default", on: directory) }
                let outcome = try Programs.run(
                    "/bin/sh",
                    ["-c", "umask 022; exec \"$@\"", "sh", Programs.defaults, "export"] + options
                        + ["a.b", "\(directory)/out"],
                    environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
                #expect(outcome.status == 0, "\(outcome)")
                #expect(namesOfFiles(in: directory) == ["out"])
                return try RawFile.status("\(directory)/out").st_mode & 0o7777
            }
            #expect(try mode() == 0o600)
            #expect(try mode(in: 0o2755) == 0o600)
            #expect(try mode(in: 0o2775) == 0o644)
            #expect(try mode("--settings-only") == 0o644)
            #expect(try mode("--json-schema") == 0o644)
            // For the group, this is the list's mask.
            if AccessControlList.isAvailable { #expect(try mode(hasList: true) == 0o640) }
        }
    }

    @Test(
        "Files that our programs create are private to the user, whatever the umask",
        arguments: ["command", "library", "agent"])
    func umask(who: String) throws {
        try AgentProcess.withPlace { place in
            let directory = place.preferences + "/new"
            let agent =
                who == "agent"
                ? try RunningProgram(
                    Self.openly[0], Array(Self.openly[1...]) + [Programs.defaultsd],
                    environment: Self.environment(place)) : nil
            if agent != nil {
                let isReady = eventually {
                    (try? Programs.run(Programs.defaults, ["status"], environment: Self.environment(place)).status) == 0
                }
                #expect(isReady)
            }
            if who == "library" {
                _ = try Self.run(place, Programs.liveWriter, "a.b", "k", "3")
            } else {
                _ = try Self.run(place, Programs.defaults, "write", "a.b", "k", "v")
            }
            _ = try Self.run(place, Programs.defaults, "-host", "HOST", "write", "c.d", "k", "v")
            // The backup copy of a damaged file is private even if the file wasn't.
            try RawFile.write("{ k = ", to: directory + "/e.f.plist")
            _ = try Self.run(place, Programs.defaults, "write", "e.f", "k", "v")
            #expect(RawFile.exists(directory + "/e.f.plist.damaged-1"))
            #expect(try RawFile.status(directory + "/e.f.plist").st_mode & 0o7777 == 0o644)
            #expect(chmod(directory + "/e.f.plist", 0o600) == 0)

            _ = try Self.run(place, Programs.defaults, "export", "a.b", place.root + "/exported")
            _ = try Self.run(place, Programs.defaults, "write", "g.h", "w", "w")
            #expect(try Self.run(place, Programs.defaults, "edit", "g.h").errors == "")
            _ = try Self.run(
                place, Programs.defaults, "tail", "--cursor-file", place.root + "/cursor", "--timeout", "0.1")
            #expect(RawFile.exists(place.root + "/cursor"))
            #expect(RawFile.exists(directory + "/ByHost/c.d.HOST.plist"))
            // A displaced version keeps its mode for the second that it is kept.
            // One may vanish between reading its name and its mode.
            let isClosed = eventually { (try? Self.exposed(below: place.root)) == [] }
            #expect(isClosed)
        }
    }

    @Test("A save never gives a user access that the user didn't have before", .enabled(if: Injection.isPossible))
    func publication() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{ k = old; }", to: place.path("a.b"))
            chmod(place.path("a.b"), 0o640)
            if geteuid() == 0 { chown(place.path("a.b"), 65_534, 65_534) }
            let trace = place.root + "/trace"
            let outcome = try Programs.run(
                "/usr/bin/strace",
                ["-f", "-o", trace, "-e", "trace=file,desc", Programs.defaults, "write", "a.b", "k", "new"],
                environment: Self.environment(place).merging(["DEFAULTS_DIRECTORY": place.preferences]) { $1 })
            #expect(outcome.status == 0, "\(outcome.errors)")
            let lines = String(decoding: try RawFile.read(trace), as: UTF8.self).split(separator: "\n")
            let making = try #require(lines.firstIndex { $0.contains(".defaultsd.u0.") && $0.contains("O_EXCL") })
            #expect(lines[making].contains("O_EXCL") && lines[making].contains(", 0600)"))
            let placing = try #require(lines.firstIndex { $0.contains("RENAME_EXCHANGE") })
            let between = lines[making...placing]
            let opening = try #require(between.last { $0.contains(".defaultsd.u0.") && $0.contains("O_RDONLY") })
            let descriptor = try #require(opening.split(separator: " ").last)
            let owner = try #require(between.firstIndex { $0.contains("fchown(\(descriptor), ") })
            // The mode is set after the owner, and both before the file gets its name.
            let modes = between.indices.filter { between[$0].contains("chmod(") }
            #expect(modes.count == 1 && modes.allSatisfy { $0 > owner })
            #expect(modes.allSatisfy { between[$0].contains("fchmod(\(descriptor), 0640)") })
            #expect(!between.contains { $0.contains("chmodat(") })
        }
    }

    @Test(
        "The agent's log contains no value at any level",
        arguments: ["trace", "debug", "info", "notice", "warning", "error", "critical"])
    func log(level: String) throws {
        try AgentProcess.withPlace { place in
            let secret = Self.secret
            let agent = try AgentProcess(place, arguments: ["--log-level", level])
            defer { agent.kill() }
            try agent.defaults("write", "a.b", "k", secret)
            // Values that are overruled, merged and displaced.
            try agent.holdEdits()
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["k": .string(secret + "2")], replacesAll: false)
            try RawFile.replace(place.path("a.b"), with: Array("{ k = \(secret)3; m = \(secret)4; }".utf8))
            try agent.synchronize()
            // Damaged files that are backed up and replaced, and a domain that can't be saved.
            for (number, text) in Self.damaged.enumerated() {
                try RawFile.write(text, to: place.path("d.d\(number)"))
                try agent.defaults("write", "d.d\(number)", "k", secret)
            }
            try RawFile.makeDirectory(place.path("n.n"))
            try agent.defaults("write", "n.n", "k", secret)
            try RawFile.write(
                "{ LogLevel = \(secret); SaveDelay = \(secret); }", to: place.path("org.defaultsd.agent"))
            try agent.synchronize()
            // Protocol violations.
            var frames: [DomainValues] = [
                ["type": "edit", "request": 2, "domain": "a.b", "time": 0, "set": .string(secret)],
                [
                    "type": "edit", "request": 2, "domain": "a.b", "time": .string(secret),
                    "set": ["k": .string(secret)],
                ],
                ["type": "subscribe", "request": 2, "from": .string(secret), "mode": .string(secret)],
                ["type": .string(secret), "request": 2], ["type": "hello", "request": 2, "protocol": .string(secret)],
            ]
            var deep: PropertyListValue = .string(secret)
            for _ in 0..<505 { deep = [deep] }
            frames.append(["type": "edit", "request": 2, "domain": "a.b", "time": 0, "set": ["k": deep]])
            for frame in frames {
                let client = try RawClient.greeted(place.socket)
                try client.send(frame)
                _ = try client.receive()
            }
            let frame = try Frame.encode(frames[1])
            for text in ["\(secret)", "<plist><string>\(secret)", "bplist00\(secret)"] {
                let client = try RawClient.greeted(place.socket)
                try client.send(framed: Array(text.utf8))
                _ = try client.receive()
            }
            for position in stride(from: 4, to: frame.count, by: 3) {
                var broken = frame
                broken[position] ^= 0x41
                let client = try RawClient.greeted(place.socket)
                try client.send(broken)
                _ = try client.receive()
            }
            agent.terminate()
            let log = agent.complaints()
            #expect(!log.contains(secret), "\(log)")
            // Levels that show warnings name the backup copies of damaged files.
            #expect(log.contains("damaged-1") == !["error", "critical"].contains(level))
        }
    }

    /// Files that contain the secret and can't be loaded.
    private static let damaged = [
        "<plist><dict><key>k</key><string>\(secret)",
        "<plist><dict><key>k</key><integer>\(secret)</integer></dict></plist>",
        "<plist><dict><key>k</key><date>\(secret)</date></dict></plist>",
        "<plist><dict><key>k</key><real>\(secret)</real></dict></plist>",
        "<plist><dict><key>k</key><data>*\(secret)</data></dict></plist>",
        "<plist><dict><key>k</key><string>&\(secret);</string></dict></plist>",
        "<plist><dict><key>k</key>\(secret)</dict></plist>",
        "<plist><dict><key>k</key><string>\(secret)</strin></dict></plist>",
        "<plist><dict>\(secret)", "<plist><string>\(secret)</string></plist>", "{ k = \(secret) }",
        "{ k = \"\(secret) }",
        "{ k = <\(secret)>; }", "{ k = (\(secret); }", "{ k = <*I\(secret)>; }", "{ k = <*D\(secret)>; }",
        "k = \(secret)",
        "{ k = \(secret) \(secret); }", "bplist00\(secret)", "\"\(secret)\"", "{ k = \"\\Ud83d\(secret)\"; }",
    ]

    @Test("An error message about a file or a value quotes no value from it", arguments: damaged, [true, false])
    func complaints(text: String, hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write(text, to: place.path("a.b"))
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            for arguments in [
                ["read", "a.b"], ["read", "a.b", "k"], ["read-type", "a.b", "k"], ["domains"], ["find", "zzz"],
                ["export", "a.b", "-"], ["status"], ["write", "a.b", "k", "-int", "1"],
            ] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(!outcome.errors.contains(Self.secret), "\(arguments): \(outcome.errors)")
                #expect(!outcome.output.contains(Self.secret), "\(arguments): \(outcome.output)")
            }
        }
    }

    @Test("No value appears in the arguments of a process that we start", arguments: ["edit", "tail --exec"])
    func arguments(verb: String) throws {
        // Differs from the secret that other tests pass to commands.
        let secret = "Ys3cr3tY"
        try AgentProcess.withAgent { agent in
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["k": .string(secret)], replacesAll: false)
            let look = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' > $ROOT/arguments"
            let environment = agent.place.environment.merging(["ROOT": agent.place.root, "EDITOR": look + "; :"]) { $1 }
            let epoch = try agent.connect().welcome.cursor.epoch
            let command =
                verb == "edit" ? ["edit", "a.b"] : ["tail", "--since", "\(epoch):0", "-n", "1", "--exec", look]
            let outcome = try Programs.run(Programs.defaults, command, environment: environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
            let seen = String(decoding: try RawFile.read(agent.place.root + "/arguments"), as: UTF8.self)
            #expect(seen.contains(Programs.defaults))
            #expect(!seen.contains(secret))
        }
    }
}
