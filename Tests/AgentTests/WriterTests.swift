import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Programs that write a file around the time at which a key is set through `defaultsd`: who has loaded which version
/// decides what they mean.
@Suite("Writers of a file around a set")
struct WriterTests {
    /// A way to load and to write the file, and the values that must be there at the end.
    ///
    /// The file has `size = 12` and `name = old`. Then `size` is set to 16.
    struct Writer: CustomTestStringConvertible {
        let testDescription: String
        /// The script that runs before `size` is set.
        var before = "true"
        /// The script that runs afterwards.
        let after: String
        let size: Int
        let name: String
        var tool = "sh"
        /// The size at the end if no agent has seen that the newest version was read before it was replaced.
        var unseenSize: Int?

        /// Sets keys of the file in place, or by `os.replace`, with values that were loaded from a file.
        static func python(_ source: String, _ assignments: String, isInPlace: Bool) -> String {
            let target = isInPlace ? "a.b.plist" : "../new"
            return """
                python3 -c "
                import os, plistlib
                d = plistlib.load(open('\(source)', 'rb'))
                \(assignments)
                f = open('\(target)', 'wb'); plistlib.dump(d, f); f.close()
                \(isInPlace ? "" : "os.replace('../new', 'a.b.plist')")"
                """
        }
    }

    /// Writers that have loaded the newest version: everything that they change is meant.
    private static let current = [
        Writer(testDescription: "sed -i", after: "sed -i s/16/18/ a.b.plist", size: 18, name: "old"),
        Writer(
            testDescription: "sed -i, back to the value before",
            after: "sed -i 's/16/12/; s/old/new/' a.b.plist", size: 12, name: "new", unseenSize: 16),
        Writer(
            testDescription: "vim, with a backup",
            after: "vim -u NONE -es -c 'set backupcopy=yes' -c '%s/16/18/' -c wq a.b.plist",
            size: 18, name: "old", tool: "vim"),
        Writer(
            testDescription: "vim, which moves the file away",
            after: "vim -u NONE -es -c 'set backup backupcopy=no backupskip=' -c '%s/16/12/' -c '%s/old/new/' -c wq "
                + "a.b.plist",
            size: 12, name: "new", tool: "vim", unseenSize: 16),
        Writer(
            testDescription: "python, in place",
            after: Writer.python("a.b.plist", "d['size'] = 18; d['name'] = 'new'", isInPlace: true),
            size: 18, name: "new", tool: "python3"),
        Writer(
            testDescription: "python, by os.replace",
            after: Writer.python("a.b.plist", "d['size'] = 12; d['name'] = 'new'", isInPlace: false),
            size: 12, name: "new", tool: "python3", unseenSize: 16),
        Writer(
            testDescription: "an edited copy",
            after: "sed 's/16/12/; s/old/new/' a.b.plist > ../new; mv ../new a.b.plist", size: 12, name: "new",
            unseenSize: 16),
    ]

    /// Writers that put an older version back: all of it is meant.
    private static let restoring = [
        Writer(
            testDescription: "git checkout of the file", before: "git init -q; git add a.b.plist; \(commit)",
            after: "git checkout -q a.b.plist", size: 12, name: "old", tool: "git"),
        Writer(
            testDescription: "git stash", before: "git init -q; git add a.b.plist; \(commit)",
            after: "git -c user.name=t -c user.email=t stash -q", size: 12, name: "old", tool: "git"),
        Writer(
            testDescription: "git stash, and pop", before: "git init -q; git add a.b.plist; \(commit)",
            after: "git -c user.name=t -c user.email=t stash -q; git stash pop -q", size: 16, name: "old", tool: "git"),
        Writer(
            testDescription: "cp of a copy", before: "cp a.b.plist ../kept", after: "cp ../kept a.b.plist",
            size: 12, name: "old"),
        Writer(
            testDescription: "cp -a of a copy that has never been the file",
            before: "sed s/old/kept/ a.b.plist > ../kept; touch -d '1 hour ago' ../kept",
            after: "cp -a ../kept a.b.plist", size: 12, name: "kept"),
    ]

    private static let commit = "git -c user.name=t -c user.email=t commit -qm old"

    /// Writers that had loaded the version before, and can't know the newest: they didn't mean to change `size`.
    private static let stale = [
        Writer(
            testDescription: "python with old values, in place", before: "cp a.b.plist ../loaded",
            after: Writer.python("../loaded", "d['name'] = 'new'", isInPlace: true), size: 16, name: "new",
            tool: "python3"),
        Writer(
            testDescription: "python with old values, by os.replace", before: "cp a.b.plist ../loaded",
            after: Writer.python("../loaded", "d['name'] = 'new'", isInPlace: false), size: 16, name: "new",
            tool: "python3"),
        Writer(
            testDescription: "old values, by cp", before: "cp a.b.plist ../loaded",
            after: "sed -i s/old/new/ ../loaded; cp ../loaded a.b.plist", size: 16, name: "new"),
        Writer(
            testDescription: "old values, by rm and cp", before: "cp a.b.plist ../loaded",
            after: "sed -i s/old/new/ ../loaded; rm a.b.plist; cp ../loaded a.b.plist", size: 16, name: "new"),
        Writer(
            testDescription: "old values, but an own one of the same key", before: "cp a.b.plist ../loaded",
            after: "sed -i 's/12/14/; s/old/new/' ../loaded; mv ../loaded a.b.plist", size: 14, name: "new"),
    ]

    /// The fate of the agent between the set and the write.
    enum Life: CaseIterable { case running, restarted, killed }

    private func end(_ writer: Writer, _ life: Life, readsBetween: Bool = false) throws -> DomainValues {
        try AgentProcess.withPlace { place in
            try SavePatternTests.file.write(toFile: place.path("a.b"), atomically: false, encoding: .utf8)
            var agent = try AgentProcess(place)
            defer { agent.kill() }
            func run(_ script: String) throws {
                let outcome = try agent.shell("set -e; \(script)")
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            try run(writer.before)
            #expect(try agent.defaults("write", "a.b", "size", "-int", "16").status == 0)
            try agent.synchronize()
            switch life {
            case .running: break
            case .restarted:
                agent.terminate()
                agent = try AgentProcess(place)
            case .killed: agent.kill()
            }
            if readsBetween { try run("cat a.b.plist") }
            try run(writer.after)
            if life == .killed { agent = try AgentProcess(place) }
            try agent.synchronize()
            let values = try agent.connect().snapshot(of: Domain(try DomainName("a.b"))).values
            #expect(try PropertyListValue(parsing: RawFile.read(place.path("a.b"))) == .dictionary(values))
            return values
        }
    }

    @Test(
        "A writer means what it changed in the version that it had loaded, and a restored version is meant as a whole",
        arguments: current + restoring + stale, Life.allCases)
    func writes(_ writer: Writer, _ life: Life) throws {
        guard try Programs.run("/bin/sh", ["-c", "command -v \(writer.tool)"]).status == 0 else { return }
        let size = life == .killed ? writer.unseenSize ?? writer.size : writer.size
        #expect(try end(writer, life) == ["size": .integer(Int64(size)), "name": .string(writer.name)])
    }

    @Test("If somebody has read the newest version, a program with old values wins", arguments: [stale[1]])
    func readByAnother(_ writer: Writer) throws {
        guard ForeignProcess.hasPython else { return }
        #expect(try end(writer, .running, readsBetween: true) == ["size": 12, "name": "new"])
    }

    @Test("An export that is edited and copied back is meant as a whole", .enabled(if: ForeignProcess.hasPython))
    func exported() throws {
        try AgentProcess.withAgent(prepare: {
            try SavePatternTests.file.write(toFile: $0.path("a.b"), atomically: false, encoding: .utf8)
        }) { agent in
            #expect(try agent.defaults("write", "a.b", "size", "-int", "16").status == 0)
            try agent.synchronize()
            #expect(try agent.defaults("export", "a.b", agent.place.root + "/exported").status == 0)
            let write = Writer.python("../exported", "d['size'] = 12; d['name'] = 'new'", isInPlace: false)
            #expect(try agent.shell(write).status == 0)
            try agent.synchronize()
            #expect(try agent.defaults("read", "a.b", "size").output == "12\n")
        }
    }

    @Test("An edit with sed right after a write is kept, time and again, as in the README")
    func timeAndAgain() throws {
        try AgentProcess.withAgent(prepare: {
            try SavePatternTests.file.write(toFile: $0.path("a.b"), atomically: false, encoding: .utf8)
        }) { agent in
            for _ in 1...5 {
                #expect(try agent.defaults("write", "a.b", "size", "-int", "12").status == 0)
                #expect(try agent.shell("sed -i s/12/14/ a.b.plist").status == 0)
                try agent.synchronize()
                #expect(try agent.defaults("read", "a.b", "size").output == "14\n")
            }
        }
    }
}
