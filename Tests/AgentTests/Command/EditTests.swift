import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCommand

/// The verb `edit`, with scripts as editors.
@Suite("The verb `edit`")
struct EditTests {
    private static let values: DomainValues = [
        "data": .data([10]), "date": .date(PropertyListDate(secondsSinceReferenceDate: 0.25)), "flag": true,
        "list": [1, "1", 1.5], "number": 5, "real": .real32(0.1), "text": "old", "two words": "a",
    ]

    /// Runs `edit` with an editor on a domain that holds `values`, with an agent or without.
    ///
    /// - Returns: The command's outcome, the domain's values afterwards, and the files left in the temporary directory.
    private static func edit(
        _ editor: String, _ arguments: [String] = [], hasAgent: Bool, input: String = "", values: DomainValues = values
    ) throws -> (outcome: Programs.Outcome, values: PropertyListValue?, left: [String]) {
        try AgentProcess.withPlace { place in
            let path = place.path("a.b")
            if !values.isEmpty { try RawFile.write(PropertyListValue.dictionary(values).write(as: .binary), to: path) }
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let temporary = place.root + "/t"
            try RawFile.makeDirectory(temporary)
            var environment = place.environment.merging(["TMPDIR": temporary, "VISUAL": "", "EDITOR": editor]) { $1 }
            environment["ROOT"] = place.root
            environment["DEFAULTS"] = Programs.defaults
            if !hasAgent { environment["DEFAULTSD_SOCKET"] = "" }
            var outcome = try Programs.run(
                Programs.defaults, ["edit"] + arguments + ["a.b"], environment: environment, input: input)
            outcome.errors = outcome.errors.replacingOccurrences(of: place.root, with: "<root>")
                .replacing(/defaults-[A-Za-z0-9]{6}/, with: "defaults-X")
            let left = try namesOfFiles(in: temporary).flatMap { directory in
                try namesOfFiles(in: "\(temporary)/\(directory)").map { name in
                    let mode = try RawFile.status("\(temporary)/\(directory)/\(name)").st_mode & 0o777
                    return "\(name) \(String(mode, radix: 8))"
                }
            }
            let now = RawFile.exists(path) ? try PropertyListValue(parsing: RawFile.read(path)) : nil
            return (outcome, now, left)
        }
    }

    @Test("An edit changes only the edited values, including their types", arguments: [[], ["--xml"]], [true, false])
    func types(_ arguments: [String], _ hasAgent: Bool) throws {
        let result = try Self.edit("sed -i 's/old/new/; s/I5>/I6>/; s/>5</>6</'", arguments, hasAgent: hasAgent)
        #expect(result.outcome.status == 0 && result.outcome.output == "" && result.outcome.errors == "")
        var expected = Self.values
        expected["text"] = "new"
        expected["number"] = 6
        #expect(result.values == .dictionary(expected))
        #expect(result.left == [])
    }

    @Test("An edit can add and remove keys", arguments: [true, false])
    func keys(_ hasAgent: Bool) throws {
        let result = try Self.edit("sed -i 's/^    text = .*/    more = (<*BN>);/'", hasAgent: hasAgent)
        var expected = Self.values
        expected["text"] = nil
        expected["more"] = [false]
        #expect(result.outcome.status == 0 && result.values == .dictionary(expected))
    }

    @Test("A domain that doesn't exist yet is edited as an empty one")
    func new() throws {
        let result = try Self.edit("sed -i 's/{/{ k = <*R1>;/'", hasAgent: false, values: [:])
        #expect(result.outcome.status == 0 && result.values == ["k": 1.0])
    }

    @Test("The text is kept if the editor ends at once, since it may still show the text in a window")
    func atOnce() throws {
        var result = try Self.edit("true", hasAgent: true)
        // On a busy machine, even this editor may take long.
        for _ in 0..<9 where result.left.isEmpty { result = try Self.edit("true", hasAgent: true) }
        #expect(
            result.outcome.status == 0
                && result.outcome.errors
                    == "defaults: Nothing was changed in the domain a.b: the editor \"true\" ended at once. If it "
                    + "opened the text in a window, make it wait until you close that, as in EDITOR='code --wait'. The "
                    + "text is saved in <root>/t/defaults-X/a.b.plist.\n"
        )
        #expect(result.values == .dictionary(Self.values) && result.left == ["a.b.plist 600"])
        #expect(Editor.mayNotHaveWaited(.milliseconds(900)) && !Editor.mayNotHaveWaited(.seconds(3)))
    }

    @Test(
        "Variables that are empty or have only blanks name no editor",
        arguments: [("", "ed", "ed"), (" \t", "ed", "ed"), (" ", "  ", "vi"), ("ex", "ed", "ex")])
    func blanks(visual: String, editor: String, expected: String) {
        #expect(Editor(Environment(["VISUAL": visual, "EDITOR": editor])).command == expected)
    }

    @Test("An editor that fails leaves the file as it is")
    func failing() throws {
        let failing = try Self.edit("sh -c 'exit 3'", hasAgent: true)
        #expect(failing.outcome.status == 69)
        #expect(
            failing.outcome.errors
                == "defaults: The editor \"sh -c 'exit 3'\" exited with status 3; nothing was changed.\n")
        #expect(failing.values == .dictionary(Self.values) && failing.left == [])
        // The text that the failing editor wrote is kept.
        let written = try Self.edit("sh -c 'echo more >>\"$0\"; exit 3'", hasAgent: true)
        #expect(written.outcome.status == 69 && written.values == .dictionary(Self.values))
        #expect(written.outcome.errors.hasSuffix(" Your text is kept in <root>/t/defaults-X/a.b.plist.\n"))
        #expect(written.left == ["a.b.plist 600"])
    }

    @Test("A text that can't be parsed is reported with its line and can be edited again")
    func goingOn() throws {
        let editor =
            "sh -c 'if test -e \"$ROOT/once\"; then sed -i s/oops/new\\;/ \"$0\"; else touch \"$ROOT/once\"; "
            + "sed -i s/old\\;/oops/ \"$0\"; fi'"
        let result = try Self.edit(editor, hasAgent: true, input: "\n")
        #expect(result.outcome.status == 0)
        let place = "<root>/t/defaults-X/a.b.plist: Old-style property list, line 17, column 5 "
        #expect(result.outcome.errors.hasPrefix("defaults: \(place)"))
        #expect(
            result.outcome.errors.hasSuffix(
                "defaults: Press Enter to edit again, or type q and Enter to quit.\n"))
        var expected = Self.values
        expected["text"] = "new"
        #expect(result.values == .dictionary(expected) && result.left == [])
    }

    @Test("A text on which the user gives up is kept, and nothing is set", arguments: ["", "q\n"])
    func givingUp(_ answer: String) throws {
        let result = try Self.edit("sed -i 's/text = old;/text old/'", hasAgent: false, input: answer)
        #expect(result.outcome.status == 65 && result.values == .dictionary(Self.values))
        #expect(
            result.outcome.errors.hasSuffix(
                "\ndefaults: Canceled; nothing was changed. Your text is kept in <root>/t/defaults-X/a.b.plist.\n"))
        #expect(result.left == ["a.b.plist 600"])
    }

    @Test("A text that the editor removes is reported as missing, not as kept")
    func removed() throws {
        let result = try Self.edit("rm", hasAgent: false)
        #expect(result.outcome.status == 66 && result.values == .dictionary(Self.values))
        #expect(
            result.outcome.errors
                == "defaults: <root>/t/defaults-X/a.b.plist can't be read: No such file or directory.\n")
        #expect(result.left == [])
    }

    @Test("A text that is empty or not a dictionary removes no keys, but an empty dictionary removes all")
    func empty() throws {
        for text in ["", "// comment\n", "word", "(a)"] {
            let result = try Self.edit("sh -c 'printf \"%s\" \"\(text)\" >\"$0\"'", hasAgent: false)
            #expect(result.outcome.status == 65 && result.values == .dictionary(Self.values), "\(text)")
        }
        let result = try Self.edit("sh -c 'echo {} >\"$0\"'", hasAgent: false)
        #expect(result.outcome.status == 0 && (result.values == nil || result.values == [:]))
    }

    @Test(
        "Changes made elsewhere during an edit stay, except for an edited key, which is reported",
        arguments: [true, false])
    func meanwhile(_ hasAgent: Bool) throws {
        let editor =
            "sh -c '\"$DEFAULTS\" write a.b text theirs; \"$DEFAULTS\" write a.b number -int 7; "
            + "\"$DEFAULTS\" delete a.b flag; sed -i s/old/mine/ \"$0\"'"
        let result = try Self.edit(editor, hasAgent: hasAgent)
        #expect(result.outcome.status == 0)
        #expect(
            result.outcome.errors
                == "defaults: Another program changed \"text\" in the meantime; your value replaces its value.\n")
        var expected = Self.values
        expected["text"] = "mine"
        expected["number"] = 7
        expected["flag"] = nil
        #expect(result.values == .dictionary(expected))
    }

    @Test("An edit of several keys is one change set")
    func changeSet() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "{one = 1; two = 2;}")
            let follower = try agent.follow()
            let environment = agent.place.environment.merging(["VISUAL": "sed -i 's/[12];/3;/'", "EDITOR": "false"]) {
                $1
            }
            try follower.expect(["a.b: one 1>3, two 2>3 (app)"]) {
                try Programs.run(Programs.defaults, ["edit", "a.b"], environment: environment)
            }
        }
    }

    @Test(
        "A command ended by a signal leaves the editor alone and says where the text is", arguments: [SIGTERM, SIGHUP])
    func ended(by signal: Int32) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{one = 1;}", to: place.path("a.b"))
            let temporary = place.root + "/t"
            try RawFile.makeDirectory(temporary)
            let program = try RunningProgram(
                Programs.defaults, ["edit", "a.b"],
                environment: place.environment.merging([
                    "TMPDIR": temporary, "DEFAULTSD_SOCKET": "", "VISUAL": "",
                    "EDITOR": "sh -c 'echo $$; exec sleep 1000'",
                ]) { $1 })
            let editor = try #require(program.line().flatMap { pid_t($0) })
            program.signal(SIGINT)
            program.signal(signal)
            // The command is a zombie now. Its output is read only after the editor, which holds it open, has ended.
            let stat = "/proc/\(program.pid)/stat"
            #expect(eventually { (try? String(contentsOfFile: stat, encoding: .utf8))?.contains(") Z ") != false })
            #expect(kill(editor, SIGKILL) == 0)
            #expect(program.status() == 128 + signal)
            let complaints = program.complaints()
            #expect(
                complaints.hasPrefix(
                    "defaults: Interrupted by a signal; nothing was changed. Your text is kept in \(temporary)/"))
            #expect(namesOfFiles(in: temporary).count == 1)
            #expect(try RawFile.read(place.path("a.b")) == Array("{one = 1;}".utf8))
        }
    }

    @Test("A text is kept when the agent dies during the edit")
    func agentGone() throws {
        try AgentProcess.withAgent { agent in
            try agent.defaults("write", "a.b", "{one = 1;}")
            let environment = agent.place.environment.merging([
                "EDITOR": "sh -c 'kill -KILL \(agent.pid); sed -i s/1/2/ \"$0\"'", "VISUAL": "",
                "TMPDIR": agent.place.runtime,
            ]) { $1 }
            let outcome = try Programs.run(Programs.defaults, ["edit", "a.b"], environment: environment)
            #expect(outcome.status == 69)
            let path = try #require(outcome.errors.firstMatch(of: /kept in (.*)\.\n/)).output.1
            #expect(String(decoding: try RawFile.read(String(path)), as: UTF8.self).contains("one = 2;"))
        }
    }

    @Test("The unedited parts of an edited value keep their types", arguments: [[], ["--xml"]])
    func inside(_ arguments: [String]) throws {
        let fine: DomainValues = [
            "date": .date(PropertyListDate(secondsSinceReferenceDate: 0.25)), "real": .real32(0.1), "uid": .uid(7),
        ]
        func value(_ text: PropertyListValue) -> PropertyListValue {
            .dictionary(["text": text, "fine": .dictionary(fine), "list": [.dictionary(fine), text, .real32(0.1)]])
        }
        let result = try Self.edit(
            "sed -i 's/old/new/'", arguments, hasAgent: true, values: ["outer": value("old")])
        #expect(result.outcome.status == 0 && result.outcome.errors == "")
        #expect(result.values == ["outer": value("new")])
    }
}
