import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// `defaults doctor` with a real agent, real files and real obstacles.
@Suite("The command `defaults doctor`")
struct DoctorTests {
    // MARK: The report

    @Test("With an agent and without obstacles, the report has no problems, and nothing is changed")
    func health() throws {
        try AgentProcess.withAgent { agent in
            chmod(agent.place.preferences, 0o700)
            try agent.defaults("write", "a.b", "k", "v")
            try agent.synchronize()
            let before = try #require(try agent.status()["revision"])
            let names = {
                namesOfFiles(in: agent.place.preferences).filter {
                    !$0.hasPrefix(".defaultsd.") || $0.contains("doctor")
                }
            }
            let namesBefore = names()
            let outcome = try Programs.run(
                Programs.defaults, ["doctor"], environment: DoctorReport.environment(agent.place))
            #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
            let lines = outcome.output.split(separator: "\n").map(String.init)
            #expect(lines.last?.hasPrefix("No problems found.") == true, "\(outcome.output)")
            #expect(lines[0].hasPrefix("command      version \(Version.current), "))
            #expect(lines[1].hasPrefix("agent        pid \(agent.pid), version \(Version.current), up "))
            #expect(lines[2] == "program      \(Programs.defaultsd)")
            #expect(lines[3] == "directory    \(agent.place.preferences) (DEFAULTS_DIRECTORY)")
            #expect(lines[4] == "socket       \(agent.place.socket) (DEFAULTSD_SOCKET)")
            #expect(lines[6].hasPrefix("watching     inotify ("))
            #expect(names() == namesBefore)
            #expect(try agent.status()["revision"] == before)
        }
    }

    @Test("The JSON report has the facts and the findings")
    func json() throws {
        try AgentProcess.withAgent { agent in
            let report = try DoctorReport(DoctorReport.environment(agent.place))
            #expect(report.status == 0, "\(report.text)")
            let shown = try #require(report.object["agent"] as? [String: Any])
            #expect(shown["pid"] as? Int == Int(agent.pid) && shown["version"] as? String == Version.current)
            #expect(shown["program"] as? String == Programs.defaultsd && shown["isReplaced"] as? Bool == false)
            #expect(shown["startedBy"] as? String == "hand" && shown["watching"] as? String == "inotify")
            #expect(shown["uptime"] is Int && shown["watches"] is Int && shown["overflows"] is Int)
            let directory = report.object["directory"] as? [String: String]
            #expect(directory == ["path": agent.place.preferences, "source": "DEFAULTS_DIRECTORY"])
            let socket = report.object["socket"] as? [String: String]
            #expect(socket == ["path": agent.place.socket, "source": "DEFAULTSD_SOCKET"])
            let fileSystem = try #require(report.object["fileSystem"] as? [String: Any])
            #expect(fileSystem["kind"] is String && fileSystem["freeBytes"] is Int)
            #expect(fileSystem["leases"] is Bool && fileSystem["exchange"] is Bool)
            #expect((report.object["inotify"] as? [String: Any])?["maxUserWatches"] is Int)
            #expect(report.object["findings"] is [[String: String]])
            #expect(report.object["agentProgram"] as? String == Programs.defaultsd)
        }
    }

    @Test("The report names the option or variable that chose the directory and the socket")
    func sources() throws {
        try AgentProcess.withPlace { place in
            func sources(_ others: [String: String], _ options: [String] = []) throws -> [String?] {
                let object = try DoctorReport(DoctorReport.environment(place, others), options).object
                return ["directory", "socket"].map { (object[$0] as? [String: String])?["source"] }
            }
            let none = ["DEFAULTS_DIRECTORY": "", "DEFAULTSD_SOCKET": ""]
            #expect(try sources([:]) == ["DEFAULTS_DIRECTORY", "DEFAULTSD_SOCKET"])
            #expect(
                try sources([:], ["--directory", place.preferences, "--socket", place.socket])
                    == ["--directory", "--socket"])
            #expect(try sources(none) == ["XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"])
            #expect(
                try sources(none.merging(["XDG_CONFIG_HOME": "", "XDG_RUNTIME_DIR": "", "HOME": place.root]) { $1 })
                    == ["default", "default"])
            try RawFile.write("{Directory = \"\(place.runtime)\";}", to: place.path("org.defaultsd.agent"))
            #expect(try sources(none) == ["Directory", "XDG_RUNTIME_DIR"])
        }
    }

    @Test("Wrong usage gives status 64", arguments: [["a.b"], ["--what"], ["--socket"]])
    func usage(_ arguments: [String]) throws {
        let outcome = try Programs.run(Programs.defaults, ["doctor"] + arguments)
        #expect(outcome.status == 64 && outcome.output == "")
    }

    // MARK: The agent

    @Test("A missing agent is a note, unless its socket was named")
    func noAgent() throws {
        try AgentProcess.withPlace { place in
            let report = try DoctorReport(DoctorReport.environment(place, DoctorReport.withoutSocket))
            #expect(report.status == 0 && report.severity("agent-missing") == "note", "\(report.text)")
            #expect(report.remedy("agent-missing").contains("`defaultsd`"))
            #expect(report.object["agent"] is NSNull)
            let named = try DoctorReport(DoctorReport.environment(place))
            #expect(named.status == 1 && named.severity("agent-missing") == "problem", "\(named.text)")
            #expect(named.message("agent-missing").contains(place.socket))
        }
    }

    @Test("An agent that serves another directory on the socket is a warning, and the advice works")
    func otherHome() throws {
        try AgentProcess.withPlace { place in
            let homes = ["a", "b"].map { "\(place.root)/\($0)" }
            for directory in homes + homes.map({ "\($0)/.config" }) { try RawFile.makeDirectory(directory) }
            func environment(_ home: String) -> [String: String] {
                DoctorReport.environment(
                    place,
                    ["DEFAULTS_DIRECTORY": "", "DEFAULTSD_SOCKET": "", "XDG_CONFIG_HOME": "", "HOME": home])
            }
            let ready = try ReadySocket()
            let notified = environment(homes[0]).merging(["NOTIFY_SOCKET": ready.name]) { $1 }
            let agent = try RunningProgram(Programs.defaultsd, [], environment: notified)
            defer { agent.signal(SIGKILL) }
            try #require(eventually { ready.hasCome() })

            let report = try DoctorReport(environment(homes[1]))
            let message = "No agent serves \(homes[1])/.config: the one at "
            #expect(report.severity("agent-of-other-directory") == "warning" && report.status == 1, "\(report.text)")
            #expect(report.message("agent-of-other-directory").hasPrefix(message))
            #expect(
                report.message("agent-of-other-directory").contains("(pid \(agent.pid)) serves \(homes[0])/.config."))
            for id in ["agent-missing", "socket-stale", "claim-stale"] {
                #expect(report.findings[id] == nil, "\(report.text)")
            }
            // Agents of other tests may be named there.
            #expect(report.findings["agent-elsewhere"].map { "\($0)".contains("(pid \(agent.pid))") } != true)
            for verb in [["status"], ["log"], ["record"], ["bridge"], ["tail", "--timeout", "30"]] {
                let outcome = try Programs.run(Programs.defaults, verb, environment: environment(homes[1]))
                #expect(outcome.status == 69 && outcome.errors.contains(message), "\(outcome)")
            }

            // The last words are the command that starts a second agent.
            let remedy = report.remedy("agent-of-other-directory")
            let command = try #require(remedy.split(separator: "`").dropFirst().first).split(separator: " ")
            #expect(command.first == "defaultsd")
            let second = try RunningProgram(
                Programs.defaultsd, command.dropFirst().map(String.init), environment: environment(homes[1]))
            defer { second.signal(SIGKILL) }
            let isServed = try eventually {
                try Programs.run(Programs.defaults, ["status"], environment: environment(homes[1])).status == 0
            }
            #expect(isServed)
            #expect(try DoctorReport(environment(homes[1])).findings["agent-of-other-directory"] == nil)
        }
    }

    private static let unshare = "/usr/bin/unshare"
    private static let hasNamespaces = (try? Programs.run(unshare, ["-Urm", "true"]).status) == 0

    @Test("An agent whose socket can't be reached is described alike by every verb", .enabled(if: hasNamespaces))
    func unreachable() throws {
        try AgentProcess.withAgent { agent in
            let place = agent.place
            func hidden(_ command: String...) throws -> Programs.Outcome {
                let script = "mount -t tmpfs -o mode=700 t '\(place.runtime)' && exec \"$@\""
                return try Programs.run(
                    Self.unshare, ["-Urm", "/bin/sh", "-ec", script, "sh", Programs.defaults] + command,
                    environment: DoctorReport.environment(place, ["DEFAULTSD_SOCKET": "", "PATH": "/usr/bin:/bin"]))
            }
            let message = "An agent (pid \(agent.pid)) serves \(place.preferences), but its socket \(place.socket)"
            let doctor = try hidden("doctor")
            #expect(doctor.output.contains("warning  \(message)"), "\(doctor)")
            for verb in ["status", "log", "record"] {
                let outcome = try hidden(verb)
                #expect(outcome.status == 69 && outcome.errors.contains(message), "\(outcome)")
                #expect(!outcome.errors.contains("Start one"), "\(outcome)")
            }
        }
    }

    @Test("An agent that reads manifests elsewhere is a warning")
    func otherManifests() throws {
        try AgentProcess.withAgent { agent in
            let other = DoctorReport.environment(agent.place, ["XDG_DATA_HOME": "\(agent.place.root)/elsewhere"])
            // Neither has manifests.
            #expect(try DoctorReport(other).findings["manifests-elsewhere"] == nil)
            try agent.place.describe("a.b", with: "{ pfm_name = k; pfm_type = string; }")
            let report = try DoctorReport(other)
            #expect(report.severity("manifests-elsewhere") == "warning", "\(report.text)")
            #expect(report.message("manifests-elsewhere").contains("\(agent.place.manifests), and this command in no"))
            #expect(try DoctorReport(DoctorReport.environment(agent.place)).findings["manifests-elsewhere"] == nil)
        }
    }

    @Test("A manifest whose file isn't named like its domain is a warning, a line in the log, and a mistake")
    func misnamedManifest() throws {
        let key = "{ pfm_name = k; pfm_type = string; }"
        try AgentProcess.withAgent(prepare: { place in
            try place.describe("Org.Example.A-macOS", with: key, "pfm_domain = org.example.a;")
            try place.describe("org.example.*", with: key, "pfm_domain = \"org.example.*\";")
        }) { agent in
            let path = "\(agent.place.manifests)/Org.Example.A-macOS.plist"
            let words = "pfm_domain is org.example.a, but the file is named Org.Example.A-macOS.plist"
            let report = try DoctorReport(DoctorReport.environment(agent.place))
            #expect(report.severity("manifest-misnamed") == "warning", "\(report.text)")
            #expect(report.message("manifest-misnamed").hasPrefix("\(path): \(words)"))
            #expect(report.findings["manifest-mistakes"] == nil, "\(report.text)")
            let check = try agent.defaults("manifest", "check", path)
            #expect(check.status == 65 && check.output.contains(words), "\(check)")
            agent.terminate()
            #expect(agent.complaints().contains("The manifest \(path) has a mistake."))
        }
    }

    @Test("An agent that is stopped is a problem, and the files are examined instead")
    func silentAgent() throws {
        try AgentProcess.withAgent { agent in
            try RawFile.write("{", to: agent.place.path("a.b"))
            agent.signal(SIGSTOP)
            let start = ContinuousClock.now
            let report = try DoctorReport(DoctorReport.environment(agent.place))
            #expect(ContinuousClock.now - start < .seconds(10))
            #expect(report.status == 1 && report.severity("agent-silent") == "problem", "\(report.text)")
            #expect(report.remedy("agent-silent").contains("`kill -CONT \(agent.pid)`"))
            #expect(report.severity("domain-damaged") == "problem")
            #expect(report.findings["agent-second"] == nil && report.findings["agent-missing"] == nil)
        }
    }

    @Test("The files that a killed agent left are notes")
    func killedAgent() throws {
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place)
            agent.kill()
            let report = try DoctorReport(DoctorReport.environment(place))
            #expect(report.severity("socket-stale") == "note" && report.path("socket-stale") == place.socket)
            #expect(report.severity("claim-stale") == "note", "\(report.text)")
        }
    }

    @Test("An ordinary file at the socket's path is a problem")
    func noSocket() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("x", to: place.socket)
            let report = try DoctorReport(DoctorReport.environment(place))
            #expect(report.status == 1 && report.severity("socket-unusable") == "problem", "\(report.text)")
        }
    }

    @Test("A socket whose path is too long is a problem")
    func longSocket() throws {
        try AgentProcess.withPlace { place in
            let long = "/tmp/" + String(repeating: "x", count: 120)
            let report = try DoctorReport(DoctorReport.environment(place, ["DEFAULTSD_SOCKET": long]))
            #expect(report.status == 1 && report.severity("socket-unusable") == "problem", "\(report.text)")
            #expect(report.remedy("socket-unusable").contains("--socket"))
        }
    }

    @Test("An agent that serves another directory is a problem")
    func otherDirectory() throws {
        try AgentProcess.withAgent { agent in
            let report = try DoctorReport(DoctorReport.environment(agent.place), ["--directory", agent.place.runtime])
            #expect(report.status == 1 && report.severity("agent-unusable") == "problem", "\(report.text)")
            #expect(report.message("agent-unusable").contains(agent.place.preferences))
        }
    }

    @Test("An agent whose program was replaced since it started is a warning")
    func replacedProgram() throws {
        try AgentProcess.withPlace { place in
            let program = place.root + "/defaultsd"
            try Programs.run("/bin/cp", [Programs.defaultsd, program])
            let agent = try RunningProgram(program, [], environment: place.environment)
            let answers = try eventually(within: 30) {
                try Programs.run(Programs.defaults, ["status"], environment: place.environment).status == 0
            }
            #expect(answers)
            #expect(try DoctorReport(DoctorReport.environment(place)).findings["agent-replaced"] == nil)
            unlink(program)
            let report = try DoctorReport(DoctorReport.environment(place))
            #expect(report.status == 1 && report.severity("agent-replaced") == "warning", "\(report.text)")
            #expect(report.path("agent-replaced") == program)
            #expect(report.remedy("agent-replaced").contains(" \(agent.pid)`"))
            #expect((report.object["agent"] as? [String: Any])?["isReplaced"] as? Bool == true)
        }
    }

    @Test("An agent of another version is a warning, and nonsense in its status is ignored")
    func otherVersion() throws {
        for values: DomainValues in [
            ["version": "0.0.1", "errors": "x", "pending": [1, ["domain": 2]], "watch": [:], "uptime": .real(.nan)],
            ["version": 7, "errors": [["message": "a\u{1B}b"], 3], "watch": ["mode": "a\u{1B}b"], "socket": 1],
        ] {
            try ScriptedAgent.with { request, _ in
                .messages([NumberedMessage(number: request.number, message: .status(values))])
            } _: { _, environment in
                let variables = environment.variables.merging(["PATH": Programs.directory]) { $1 }
                let report = try DoctorReport(variables)
                #expect(report.status == 1 && report.severity("agent-version") == "warning", "\(report.text)")
                let text = try Programs.run(Programs.defaults, ["doctor"], environment: variables).output
                #expect(!text.contains("\u{1B}"))
            }
        }
    }

    @Test("An agent that `defaults tail` started is a note")
    func privateAgent() throws {
        try AgentProcess.withPlace { place in
            let environment = DoctorReport.environment(place, DoctorReport.withoutSocket)
            let tail = try RunningProgram(Programs.defaults, ["tail", "--json"], environment: environment)
            _ = try tail.objects(upTo: "ready")
            let report = try DoctorReport(environment)
            #expect(report.status == 0 && report.severity("agent-private") == "note", "\(report.text)")
            #expect(report.message("agent-private").contains("(pid \(tail.pid))"))
            #expect((report.object["agent"] as? [String: Any])?["startedBy"] as? String == "tail")
        }
    }

    @Test("An agent of another directory is listed with the directory and the socket that it serves")
    func otherAgent() throws {
        try AgentProcess.withAgent { other in
            try AgentProcess.withAgent { agent in
                let report = try DoctorReport(DoctorReport.environment(agent.place))
                #expect(report.status == 0, "\(report.text)")
                let list = try #require(report.object["otherAgents"] as? [[String: Any]])
                let found = try #require(list.first { $0["pid"] as? Int == Int(other.pid) })
                #expect(found["directory"] as? String == other.place.preferences)
                #expect(found["socket"] as? String == other.place.socket)
                #expect(!list.contains { $0["pid"] as? Int == Int(agent.pid) })
            }
        }
    }

    @Test("An agent with another runtime directory is found through its claim, which is a note")
    func otherRuntimeDirectory() throws {
        try AgentProcess.withAgent { agent in
            let environment = DoctorReport.environment(agent.place, DoctorReport.withoutSocket)
            let report = try DoctorReport(environment.merging(["XDG_RUNTIME_DIR": agent.place.preferences]) { $1 })
            #expect(report.status == 0 && report.severity("agent-at-other-socket") == "note", "\(report.text)")
            #expect(report.path("agent-at-other-socket") == agent.place.socket)
        }
    }

    @Test("A variable that disables the agent is a warning")
    func disabled() throws {
        try AgentProcess.withAgent { agent in
            let report = try DoctorReport(DoctorReport.environment(agent.place, ["DEFAULTS_NO_AGENT": "1"]))
            #expect(report.status == 1 && report.severity("agent-disabled") == "warning", "\(report.text)")
        }
    }
}
