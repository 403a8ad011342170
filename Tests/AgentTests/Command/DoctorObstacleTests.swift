import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// `defaults doctor` with obstacles in the environment and in the files.
@Suite("The obstacles that `defaults doctor` finds")
struct DoctorObstacleTests {
    // MARK: The environment

    @Test("Another `defaults` in the PATH is a warning if it comes first, and otherwise a note")
    func otherCommand() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("#!/bin/sh\n# libgnustep-base\n", to: place.runtime + "/defaults")
            chmod(place.runtime + "/defaults", 0o755)
            func report(_ path: String) throws -> DoctorReport {
                try DoctorReport(
                    DoctorReport.environment(place, DoctorReport.withoutSocket).merging(["PATH": path]) { $1 })
            }
            let first = try report("\(place.runtime):\(Programs.directory)")
            #expect(first.status == 1 && first.severity("command-shadowed") == "warning", "\(first.text)")
            #expect(first.message("command-shadowed").hasPrefix("GNUstep's `defaults`, \(place.runtime)/defaults,"))
            #expect(first.remedy("command-shadowed").contains("gnustep-base-runtime"))
            let last = try report("\(Programs.directory):\(place.runtime)")
            #expect(last.status == 0 && last.severity("command-elsewhere") == "note", "\(last.text)")
            #expect(try report(place.runtime).severity("command-shadowed") == "warning")
            #expect(try report("/none").severity("command-not-in-path") == "note")
        }
    }

    @Test("A command without a `defaultsd` is a warning")
    func noAgentProgram() throws {
        try AgentProcess.withPlace { place in
            let command = place.root + "/defaults"
            try Programs.run("/bin/cp", [Programs.defaults, command])
            let outcome = try Programs.run(
                command, ["doctor"],
                environment: DoctorReport.environment(place, ["DEFAULTSD_SOCKET": "", "PATH": "/none"]))
            #expect(outcome.status == 1 && outcome.output.contains("There is no `defaultsd`"), "\(outcome)")
        }
    }

    @Test(
        "A runtime directory that is unset or unusable is reported",
        arguments: [
            ("relative", "runtime-directory-unset"), ("<root>/none", "runtime-directory-missing"),
            ("<root>/file", "runtime-directory-unusable"),
        ])
    func runtimeDirectory(value: String, id: String) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("", to: place.root + "/file")
            let path = value.replacingOccurrences(of: "<root>", with: place.root)
            let report = try DoctorReport(
                DoctorReport.environment(place, ["DEFAULTSD_SOCKET": "", "XDG_RUNTIME_DIR": path]))
            #expect(report.status == 1 && report.severity(id) == "warning", "\(report.text)")
            #expect(report.message(id).contains(path) && report.remedy(id).contains("pam_systemd"))
            let unset = try DoctorReport(
                DoctorReport.environment(place, ["DEFAULTSD_SOCKET": "", "XDG_RUNTIME_DIR": ""]))
            #expect(unset.message("runtime-directory-unset").hasPrefix("XDG_RUNTIME_DIR isn't set."))
        }
    }

    @Test(
        "The kernel's refusal of an inotify instance is reported, with the agent's polling",
        .enabled(if: InotifyLimitTests.canLower))
    func inotify() throws {
        try AgentProcess.withPlace { place in
            let launcher = InotifyLimitTests.launcher(lowering: "max_inotify_instances", to: 0)
            let environment = DoctorReport.environment(place, ["PATH": "\(Programs.directory):/usr/bin:/bin"])
            let absent = try DoctorReport(environment.merging(DoctorReport.withoutSocket) { $1 }, launcher: launcher)
            #expect(absent.severity("inotify-exhausted") == "warning", "\(absent.text)")
            let agent = try AgentProcess(place, launcher: launcher)
            defer { agent.kill() }
            let report = try DoctorReport(environment)
            #expect(report.status == 1 && report.severity("watching-by-polling") == "warning", "\(report.text)")
            #expect(report.remedy("watching-by-polling").contains("`kill -HUP \(agent.pid)`"))
        }
    }

    @Test("A failed systemd unit is a problem, a disabled one a note, and a silent service manager a warning")
    func units() throws {
        try AgentProcess.withPlace { place in
            try RawFile.makeDirectory(place.runtime + "/systemd")
            try RawFile.write("", to: place.runtime + "/systemd/private")
            let program = place.root + "/bin"
            try RawFile.makeDirectory(program)
            let environment = DoctorReport.environment(
                place, ["DEFAULTSD_SOCKET": "", "PATH": "\(Programs.directory):\(program):/bin:/usr/bin"])
            func report(_ script: String) throws -> DoctorReport {
                try RawFile.write("#!/bin/sh\n\(script)\n", to: program + "/systemctl")
                chmod(program + "/systemctl", 0o755)
                return try DoctorReport(environment)
            }
            let failed = try report(
                """
                printf 'Id=defaultsd.socket\\nLoadState=loaded\\nActiveState=inactive\\nUnitFileState=disabled\\n\\n'
                printf 'Id=defaultsd.service\\nLoadState=loaded\\nActiveState=failed\\nResult=exit-code\\n'
                """)
            #expect(failed.status == 1 && failed.severity("unit-failed") == "problem", "\(failed.text)")
            #expect(failed.message("unit-failed") == "The systemd unit defaultsd.service has failed (exit-code).")
            #expect(failed.severity("unit-disabled") == "note")
            let start = ContinuousClock.now
            let silent = try report("exec sleep 600")
            #expect(ContinuousClock.now - start < .seconds(30))
            #expect(silent.status == 1 && silent.severity("systemd-silent") == "warning", "\(silent.text)")
            let absent = try report("exit 1")
            #expect(absent.status == 0, "\(absent.text)")
        }
    }

    // MARK: The files

    @Test("A damaged file is a problem, with an agent and without one", arguments: [true, false])
    func damage(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            let name = "a\u{1B}]0;x\u{7}\u{202E}b"
            try RawFile.write("{ k = ", to: place.path(name))
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = DoctorReport.environment(place, hasAgent ? [:] : DoctorReport.withoutSocket)
            let report = try DoctorReport(environment)
            #expect(report.status == 1 && report.severity("domain-damaged") == "problem", "\(report.text)")
            #expect(report.path("domain-damaged") == place.path(name))
            let text = try Programs.run(Programs.defaults, ["doctor"], environment: environment)
            let rest = text.output.filter { $0 != "\n" }
            #expect(text.status == 1 && rest == rest.printable && rest.contains("a\\u001b]0;x"), "\(text)")
            #expect(text.output.hasSuffix("\n1 problem.\n") || text.output.contains("\n1 problem, "), "\(text)")
        }
    }

    @Test("Edits that can't be saved are a problem, and edits that aren't saved yet are a note")
    func unsaved() throws {
        try AgentProcess.withAgent { agent in
            try agent.holdEdits()
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["k": "v"], replacesAll: false)
            let waiting = try DoctorReport(DoctorReport.environment(agent.place))
            #expect(waiting.status == 0 && waiting.severity("edits-pending") == "note", "\(waiting.text)")
            #expect(waiting.message("edits-pending").hasPrefix("a.b: 1 edit "))
            try RawFile.makeDirectory(agent.place.path("n.n"))
            try agent.defaults("write", "n.n", "k", "v")
            let report = try DoctorReport(DoctorReport.environment(agent.place))
            #expect(report.status == 1 && report.severity("edits-unsaved") == "problem", "\(report.text)")
            #expect(report.message("edits-unsaved").hasPrefix("n.n: 1 edit can't be saved."))
        }
    }

    @Test("A directory and a file that others can write to are warnings", arguments: [true, false])
    func exposure(hasAgent: Bool) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{k = v;}", to: place.path("a.b"))
            try RawFile.write("{k = v;}", to: place.path("c.d"))
            chmod(place.path("a.b"), 0o646)
            chmod(place.path("c.d"), 0o644)
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            chmod(place.preferences, 0o707)
            let report = try DoctorReport(DoctorReport.environment(place, hasAgent ? [:] : DoctorReport.withoutSocket))
            #expect(report.status == 1 && report.severity("directory-exposed") == "warning", "\(report.text)")
            #expect(report.remedy("directory-exposed") == "Run `chmod o-w \(place.preferences)`.")
            #expect(report.severity("files-writable-by-others") == "warning")
            #expect(report.path("files-writable-by-others") == place.path("a.b"))
            #expect(report.severity("files-readable-by-others") == "note")
            #expect(report.findings["agent-error"] == nil, "\(report.text)")
            // In a directory that others can't search, they can't reach its files either.
            chmod(place.preferences, 0o700)
            let closed = try DoctorReport(DoctorReport.environment(place, hasAgent ? [:] : DoctorReport.withoutSocket))
            #expect(closed.status == 0, "\(closed.text)")
        }
    }

    @Test(
        "Files and directories of other users are reported, and those that can't be read or written",
        .enabled(if: AgentProcess.hasNobody))
    func owners() throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            for name in ["unreadable", "foreign"] { try RawFile.write("{k = v;}", to: place.path(name)) }
            chmod(place.path("unreadable"), 0)
            chown(place.path("unreadable"), 65_534, 65_534)
            let environment = DoctorReport.environment(place, DoctorReport.withoutSocket)
            let report = try DoctorReport(environment, launcher: AgentProcess.asNobody)
            #expect(report.status == 1 && report.severity("files-unreadable") == "problem", "\(report.text)")
            #expect(report.path("files-unreadable") == place.path("unreadable"))
            #expect(report.severity("files-foreign") == "warning")
            #expect(report.path("files-foreign") == place.path("foreign"))
            #expect(report.severity("runtime-directory-foreign") == "warning")
            // Root sees a directory that isn't its own.
            #expect(try DoctorReport(environment).severity("directory-foreign") == "problem")
            chmod(place.preferences, 0o500)
            let closed = try DoctorReport(environment, launcher: AgentProcess.asNobody)
            #expect(closed.severity("directory-read-only") == "problem", "\(closed.text)")
        }
    }

    @Test("A managed directory that isn't root's is a warning", .enabled(if: AgentProcess.hasNobody))
    func managed() throws {
        try AgentProcess.withPlace { place in
            try RawFile.makeDirectory(place.managed)
            chown(place.managed, 65_534, 65_534)
            let report = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(report.status == 1 && report.path("managed-directory-untrusted") == place.managed, "\(report.text)")
            chown(place.managed, 0, 0)
            chmod(place.managed, 0o775)
            let writable = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(writable.remedy("managed-directory-untrusted").contains("chmod go-w"), "\(writable.text)")
        }
    }

    @Test("A missing directory is a problem if it was named, and otherwise a note")
    func missingDirectory() throws {
        try AgentProcess.withPlace { place in
            let none = place.root + "/none"
            let named = try DoctorReport(
                DoctorReport.environment(place, ["DEFAULTSD_SOCKET": "", "DEFAULTS_DIRECTORY": none]))
            #expect(named.status == 1 && named.severity("directory-unusable") == "problem", "\(named.text)")
            let usual = try DoctorReport(
                DoctorReport.environment(
                    place, ["DEFAULTSD_SOCKET": "", "DEFAULTS_DIRECTORY": "", "XDG_CONFIG_HOME": none]))
            #expect(usual.status == 0 && usual.severity("directory-missing") == "note", "\(usual.text)")
            #expect(!RawFile.exists(none))
        }
    }

    @Test("Wrong settings are warnings, and settings that may hide another directory are a problem")
    func settings() throws {
        try AgentProcess.withPlace { place in
            let settings = place.path("org.defaultsd.agent")
            try RawFile.write("{SaveDelay = x; Nonsense = 1;}", to: settings)
            let report = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(report.status == 1 && report.severity("setting-invalid") == "warning", "\(report.text)")
            #expect(report.text.contains("SaveDelay must be an integer") && report.text.contains("Nonsense isn't"))
            try RawFile.write("{Directory = \"/elsewhere\";", to: settings)
            let unknown = try DoctorReport(
                DoctorReport.environment(place, ["DEFAULTS_DIRECTORY": "", "DEFAULTSD_SOCKET": ""]))
            #expect(unknown.status == 1 && unknown.severity("directory-unknown") == "problem", "\(unknown.text)")
            #expect(unknown.object["directory"] is NSNull && unknown.object["socket"] is NSNull)
        }
    }

    @Test("Backup copies are notes")
    func backups() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("x", to: place.path("a.b") + ".damaged-1")
            try RawFile.write("x", to: place.path("a.b") + ".displaced-2")
            let report = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(report.status == 0 && report.severity("backups-damaged") == "note", "\(report.text)")
            #expect(report.path("backups-damaged") == place.path("a.b") + ".damaged-1")
            #expect(report.severity("backups-displaced") == "note")
        }
    }

    @Test(
        "A copy that a sync tool, a file manager or an editor has made is a warning, unless it may be a domain",
        arguments: [
            ("a.b.sync-conflict-20260101-120000-ABCDEFG", true), ("a.b (copy)", true), ("a.b (1)", true),
            ("a.b (conflicted copy 2026-01-01)", true), ("a.b (Ada's conflicted copy 2026-01-01)", true),
            ("a.b_conflict-20260101-120000", true), ("a.b~", true), ("a.b copy", true), ("Copy of a.b", true),
            ("x (copy)", false), ("x~", false), ("a.b.c", false), ("org.x.merge_conflict-ui", false),
        ])
    func copies(name: String, isCopy: Bool) throws {
        try AgentProcess.withPlace { place in
            for file in ["a.b", name] { try RawFile.write("{}", to: place.path(file)) }
            let report = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(report.severity("files-copied") == (isCopy ? "warning" : nil), "\(report.text)")
            if isCopy {
                #expect(report.status == 1 && report.path("files-copied") == place.path(name))
                #expect(report.remedy("files-copied").contains("`defaults diff`"))
            }
        }
    }

    @Test("A full disk is a problem, and a nearly full one a warning", .enabled(if: SmallFileSystem.isAvailable))
    func fullDisk() throws {
        try AgentProcess.withPlace { root in
            let disk = try SmallFileSystem(at: root.preferences, bytes: 128 << 10)
            let place = AgentProcess.Place(preferences: disk.path, runtime: root.runtime)
            let nearly = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(nearly.status == 1 && nearly.severity("disk-nearly-full") == "warning", "\(nearly.text)")
            #expect((nearly.object["fileSystem"] as? [String: Any])?["kind"] as? String == "tmpfs")
            let fd = open(disk.path + "/fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(fd) }
            let block = [UInt8](repeating: 1, count: 4_096)
            while write(fd, block, block.count) > 0 {}
            let full = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(full.status == 1 && full.severity("disk-full") == "problem", "\(full.text)")
            #expect(namesOfFiles(in: disk.path) == ["fill"])
        }
    }
}
