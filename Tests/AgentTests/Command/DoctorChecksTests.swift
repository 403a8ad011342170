import DefaultsCore
import Glibc
import Linux
import PropertyList
import Testing

@testable import DefaultsCommand

/// The parts of `defaults doctor` that turn facts into findings.
@Suite("The checks of `defaults doctor`")
struct DoctorChecksTests {
    @Test("A finding of an error has the error's remedy, or else another one")
    func advice() {
        let finding = Finding(
            .note, id: "id", error: DefaultsError(.locked, "It broke.", remedy: "Run `x`."), remedy: "Wait.")
        #expect(finding.message == "It broke." && finding.remedy == "Run `x`.")
        #expect(
            Finding(.note, id: "id", error: DefaultsError(.locked, "It. Run `x`."), remedy: "Wait.").remedy == "Wait.")
    }

    /// A status for each way to watch, with the errors of a directory and of two domains, one of which has an unsaved
    /// edit.
    private static let statuses: [DomainValues] = [
        ("polling", "requested"), ("polling", "fileSystem"), ("polling", "inotifyUnavailable"), ("waiting", "missing"),
        ("inotify", ""),
    ].map { kind, reason in
        let error: DomainValues = ["code": "notSaved", "message": "It broke. Run `x`.", "remedy": "Run `x`."]
        return [
            "pid": 1, "directory": "/p",
            "watch": ["mode": .string("\(kind): why"), "kind": .string(kind), "reason": .string(reason)],
            "errors": [
                .dictionary(error), .dictionary(error.merging(["domain": "a.b"]) { $1 }),
                .dictionary(error.merging(["domain": "c.d"]) { $1 }),
            ], "pending": [["domain": "a.b", "edits": 2], ["domain": "e.f", "edits": 1]],
        ]
    }

    /// Replaces every text for people.
    private static func withoutTexts(_ value: PropertyListValue, key: String = "") -> PropertyListValue {
        switch value {
        case .string where ["mode", "message", "remedy"].contains(key): "x"
        case .dictionary(let entries):
            .dictionary(Dictionary(uniqueKeysWithValues: entries.map { ($0, withoutTexts($1, key: $0)) }))
        case .array(let elements): .array(elements.map { withoutTexts($0) })
        default: value
        }
    }

    @Test("The agent's texts decide no finding and no severity", arguments: statuses)
    func texts(status: DomainValues) throws {
        guard case .dictionary(let bare) = Self.withoutTexts(.dictionary(status)) else { return }
        let (full, other) = (AgentStatus(Fields(status)), AgentStatus(Fields(bare)))
        let (expected, found) = (full.findings(of: nil), other.findings(of: nil))
        #expect(found.map(\.id) == expected.map(\.id) && found.map(\.severity) == expected.map(\.severity))
        #expect(full.generalErrors.map(\.remedy) == ["Run `x`."] && other.generalErrors.count == 1)
    }

    @Test("The status of an earlier agent, without names for programs, leads to the same findings")
    func earlierAgent() {
        let status = AgentStatus(
            Fields([
                "pid": 1, "directory": "/p", "watch": ["mode": "waiting: the directory doesn't exist"],
                "errors": [["message": "It broke."], ["message": "It broke, too.", "domain": "a.b", "errno": "x"]],
                "pending": [["domain": "a.b", "edits": 2]],
            ]))
        let findings = status.findings(of: nil)
        #expect(findings.map(\.id) == ["agent-version", "watching-nothing", "edits-unsaved"])
        #expect(findings.map(\.severity) == [.warning, .problem, .problem])
        #expect(status.generalErrors.map(\.what) == ["It broke."])
    }

    @Test("A summary counts the findings, and only a problem or a warning needs attention")
    func summary() {
        func findings(_ severities: Finding.Severity...) -> [Finding] {
            severities.map { Finding($0, id: "id", message: "Message.", remedy: "Remedy.") }
        }
        #expect([Finding]().summary == "No problems found.")
        #expect(findings(.note, .note).summary == "No problems found. 2 notes.")
        #expect(findings(.note, .problem, .warning, .warning).summary == "1 problem, 2 warnings, 1 note.")
        #expect(!findings(.note).needAttention && findings(.note, .warning).needAttention)
        let sorted = findings(.note, .problem, .warning).byImportance.map(\.severity)
        #expect(sorted == [.problem, .warning, .note])
    }

    @Test("A finding is two lines of text, and one object")
    func output() {
        let finding = Finding(.problem, id: "id", message: "It\nbroke.", remedy: "Run \"x\".", path: "/a\u{1B}b")
        let text = "problem  It\\nbroke.\n         Run \"x\".\n"
        #expect(finding.text(ChangeText(isColored: false)) == text)
        #expect(finding.text(ChangeText(isColored: true)) == "\u{1B}[31mproblem\u{1B}[0m" + text.dropFirst(7))
        #expect(
            finding.json
                == #"{"id":"id","severity":"problem","message":"It\nbroke.","remedy":"Run \"x\".","path":"/a\u001bb"}"#
        )
    }

    @Test("A process's arguments or its control group show how it was started")
    func origin() {
        typealias Origin = RunningAgent.Origin
        let service = "0::/user.slice/user-1.slice/user@1.service/app.slice/defaultsd.service\n"
        #expect(Origin(arguments: ["defaultsd"], cgroup: service) == .unit("defaultsd.service"))
        #expect(Origin(arguments: ["defaultsd"], cgroup: "0::/user.slice/session-1.scope\n") == .byHand)
        #expect(Origin(arguments: ["defaultsd"], cgroup: "") == .byHand)
        #expect(Origin(arguments: ["defaultsd", "--end-with-parent", "7"], cgroup: service) == .tail(pid: "7"))
        #expect(Origin(arguments: ["defaultsd", "--end-with-parent=7"], cgroup: "") == .tail(pid: "7"))
        #expect(Origin(arguments: ["defaultsd", "--end-with-parent"], cgroup: "") == .byHand)
    }

    @Test("A program whose file is gone is recognized by the mark that the kernel adds")
    func replacement() {
        #expect(ProgramFile(target: "/none/defaultsd (deleted)").path == "/none/defaultsd")
        #expect(!ProgramFile(target: "/none/defaultsd").isReplaced)
        let bit = "SigBlk:\t0000000000000800\n"
        #expect(RunningAgent.handlesReplacement("Name:\tx\n\(bit)SigCgt:\t0000000000000000\n"))
        #expect(RunningAgent.handlesReplacement("SigBlk:\t0000000000000000\nSigCgt:\t0000000000000800\n"))
        #expect(!RunningAgent.handlesReplacement("SigIgn:\t0000000000000800\nSigCgt:\t0000000000000200\n"))
        #expect(!RunningAgent.handlesReplacement("SigCgt:\nSigBlk:\tx\n"))
    }

    @Test("A file system has its usual name, or else its number")
    func fileSystems() {
        #expect(FileSystemKind(number: 0x6969).name == "NFS")
        #expect(FileSystemKind(number: 0xEF53).name == "ext4")
        #expect(FileSystemKind(number: 0x1234).name == "0x1234")
    }

    @Test("Each ability that a file system lacks is a finding")
    func abilities() {
        func ids(_ abilities: FileSystemExamination.Abilities?, number: Int64 = 0xEF53, _ obstacle: Int32? = nil)
            -> [String]
        {
            FileSystemExamination(
                path: "/p", kind: FileSystemKind(number: number), abilities: abilities, obstacle: obstacle,
                space: FreeSpace(bytes: 1 << 30, files: nil)
            ).findings.map(\.id)
        }
        let all = FileSystemExamination.Abilities(leases: true, exchange: true, attributes: true, fineTimes: true)
        let none = FileSystemExamination.Abilities(leases: false, exchange: false, attributes: false, fineTimes: false)
        #expect(ids(all) == [])
        #expect(ids(FileSystemExamination.Abilities()) == [])
        #expect(
            ids(none) == [
                "file-system-exchange", "file-system-leases", "file-system-attributes", "file-system-times",
            ])
        #expect(ids(all, number: 0x6969) == ["file-system-shared"])
        #expect(ids(all, number: 0x794C_7630) == ["file-system-layers"])
        #expect(ids(nil, ENOSPC) == ["disk-full"])
        #expect(ids(nil, EROFS) == ["directory-read-only"])
    }

    @Test(
        "Little space, or room for few files, is a warning",
        arguments: [
            (1 << 30, nil, []), (1 << 30, 1 << 20, []), (1 << 30, 3, ["disk-nearly-full"]),
            (1 << 12, nil, ["disk-nearly-full"]),
        ] as [(UInt64, UInt64?, [String])])
    func space(bytes: UInt64, files: UInt64?, ids: [String]) {
        #expect(FreeSpace(bytes: bytes, files: files).findings("/p").map(\.id) == ids)
    }

    @Test("A number of bytes is shown in the largest unit that fits")
    func spaceText() {
        let texts = [999, 1_000, 2_500_000, 7_000_000_000].map { UInt64($0).byteCount }
        #expect(texts == ["999 bytes", "1 kB", "2 MB", "7 GB"])
    }

    @Test("An exhausted or low inotify limit is reported")
    func inotify() {
        let usual = ["max_user_watches": 65_536, "max_user_instances": 128, "max_queued_events": 16_384]
        #expect(InotifyExamination(limits: usual, obstacle: nil).findings(agentWatches: false) == [])
        let exhausted = InotifyExamination(limits: usual, obstacle: ENOSPC)
        #expect(exhausted.findings(agentWatches: false).map(\.severity) == [.warning])
        #expect(exhausted.findings(agentWatches: true).map(\.severity) == [.note])
        #expect(exhausted.findings(agentWatches: false)[0].remedy.contains("fs.inotify.max_user_watches"))
        let low = InotifyExamination(limits: ["max_user_instances": 2], obstacle: nil)
        #expect(low.findings(agentWatches: true).map(\.id) == ["inotify-limit-low"])
    }

    @Test("The properties of systemd's units are read from paragraphs")
    func units() {
        let text = "Id=a.socket\nActiveState=active\nLoadState=loaded\n\nId=b.service\nResult=exit-code=1\nx\n"
        #expect(
            ServiceUnits.units(in: text) == [
                .init(name: "a.socket", loadState: "loaded", activeState: "active"),
                .init(name: "b.service", result: "exit-code=1"),
            ])
        #expect(ServiceUnits.units(in: "") == [])
    }

    @Test("A unit that isn't installed isn't reported, and an enabled socket that isn't active is")
    func unitFindings() {
        func severities(_ load: String, _ active: String, _ file: String, agentRuns: Bool) -> [Finding.Severity] {
            ServiceUnits.known([
                .init(name: "defaultsd.socket", loadState: load, activeState: active, fileState: file)
            ]).findings(agentRuns: agentRuns).map(\.severity)
        }
        #expect(severities("not-found", "inactive", "", agentRuns: false) == [])
        #expect(severities("loaded", "active", "enabled", agentRuns: false) == [])
        #expect(severities("loaded", "inactive", "enabled", agentRuns: false) == [.warning])
        #expect(severities("loaded", "inactive", "enabled", agentRuns: true) == [.note])
        #expect(severities("loaded", "inactive", "disabled", agentRuns: false) == [.note])
        #expect(severities("loaded", "failed", "enabled", agentRuns: true) == [.problem])
        let socket = ServiceUnits.Unit(name: "defaultsd.socket", loadState: "loaded", activeState: "active")
        #expect(ServiceUnits.known([socket]).startCommand == "systemctl --user start defaultsd.socket")
        #expect(ServiceUnits.absent.startCommand == "defaultsd")
        func ids(_ path: String) -> [String] {
            ServiceUnits.known([socket]).findings(agentRuns: false, socketPath: path).map(\.id)
        }
        #expect(ids("/none/socket") == ["socket-removed"] && ids("/") == [])
    }

    @Test("Other programs named `defaults` are judged by their place in the PATH")
    func programs() {
        func ids(_ kinds: [ProgramSearch.Command.Kind], agent: String? = "/b/defaultsd") -> [String] {
            let commands = kinds.enumerated().map { ProgramSearch.Command(path: "/\($0)/defaults", kind: $1) }
            return ProgramSearch(command: "/own/defaults", commands: commands, agent: agent)
                .findings(agentRuns: false).map(\.id)
        }
        #expect(ids([.own]) == [])
        #expect(ids([.own, .gnustep]) == ["command-elsewhere"])
        #expect(ids([.gnustep, .own, .other]) == ["command-shadowed", "command-elsewhere"])
        #expect(ids([.other]) == ["command-shadowed"])
        #expect(ids([]) == ["command-not-in-path"])
        #expect(ids([.own], agent: nil) == ["agent-not-installed"])
    }

    @Test("A second agent of the same directory is a warning, and any other agent is a note")
    func others() {
        func agent(_ servesSame: Bool) -> OtherAgents.Agent {
            OtherAgents.Agent(
                pid: 7, origin: .tail(pid: "6"), directory: servesSame ? "/p" : nil, socketPath: nil,
                servesSame: servesSame)
        }
        let findings = OtherAgents([agent(true), agent(false)]).findings
        #expect(findings.map(\.id) == ["agent-second", "agent-elsewhere"])
        #expect(findings.map(\.severity) == [.warning, .note])
    }

    @Test(
        "The name of a backup copy contains its reason",
        arguments: [
            ("a.plist.damaged-1", .damaged), ("a.plist.equivalent-keys-12", .equivalentKeys), ("a.plist", nil),
            ("a.plist.damaged", nil), ("a.plist.damaged-x", nil), ("a.plist.other-1", nil), (".damaged-1", nil),
            ("", nil),
        ] as [(String, BackupFile.Reason?)])
    func backups(name: String, reason: BackupFile.Reason?) {
        #expect(BackupFile.reason(ofName: name) == reason)
    }
}
