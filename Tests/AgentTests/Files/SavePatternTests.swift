import Foundation
import Glibc
import ProgramSupport
import TestSupport
import Testing

/// The ways in which programs save files.
///
/// In each, no key flickers, and no change is repeated or torn.
@Suite("Saves by real programs")
struct SavePatternTests {
    /// A way to save a file, as a script that runs in the preferences directory, and the change sets it must yield.
    struct Pattern: CustomTestStringConvertible {
        let testDescription: String
        let script: String
        let changes: [String]
        var tool = "sh"

        static let old = "a.b: size 12>14 (file)"
    }

    static let patterns: [Pattern] = [
        Pattern(
            testDescription: "the shell truncates and writes",
            script: "sed s/12/14/ a.b.plist > ../new; cat ../new > a.b.plist",
            changes: [Pattern.old]),
        Pattern(
            testDescription: "cp", script: "sed s/12/14/ a.b.plist > ../new; cp ../new a.b.plist",
            changes: [Pattern.old]),
        Pattern(
            testDescription: "cp --remove-destination",
            script: "sed s/12/14/ a.b.plist > ../new; cp --remove-destination ../new a.b.plist",
            changes: [Pattern.old]),
        Pattern(
            testDescription: "install", script: "sed s/12/14/ a.b.plist > ../new; install -m 600 ../new a.b.plist",
            changes: [Pattern.old]),
        Pattern(
            testDescription: "mv from the same file system",
            script: "sed s/12/14/ a.b.plist > ../new; mv ../new a.b.plist",
            changes: [Pattern.old]),
        Pattern(
            testDescription: "mv from another file system",
            script: "new=$(mktemp -p /dev/shm); sed s/12/14/ a.b.plist > $new; mv $new a.b.plist",
            changes: [Pattern.old]),
        Pattern(testDescription: "sed -i", script: "sed -i s/12/14/ a.b.plist", changes: [Pattern.old]),
        Pattern(
            testDescription: "perl -i", script: "perl -i -pe s/12/14/ a.b.plist", changes: [Pattern.old], tool: "perl"),
        Pattern(
            testDescription: "vim, which moves the file away for a moment",
            script:
                "vim -u NONE -es -c 'set backup writebackup backupcopy=no backupskip=' "
                + "-c '%s/12/14/' -c 'wq' a.b.plist",
            changes: [Pattern.old], tool: "vim"),
        Pattern(
            testDescription: "python, in place",
            script: """
                python3 -c "
                import plistlib
                d = plistlib.load(open('a.b.plist', 'rb'))
                d['size'] = 14
                plistlib.dump(d, open('a.b.plist', 'wb'))"
                """, changes: [Pattern.old], tool: "python3"),
        Pattern(
            testDescription: "python, by os.replace, as binary",
            script: """
                python3 -c "
                import os, plistlib
                d = plistlib.load(open('a.b.plist', 'rb'))
                d['size'] = 14
                plistlib.dump(d, open('.tmp', 'wb'), fmt=plistlib.FMT_BINARY)
                os.replace('.tmp', 'a.b.plist')"
                """, changes: [Pattern.old], tool: "python3"),
        Pattern(
            testDescription: "unlink and create",
            script: "sed s/12/14/ a.b.plist > ../new; rm a.b.plist; cat ../new > a.b.plist",
            changes: [Pattern.old]),
        Pattern(
            testDescription: "a link replaces the file",
            script: "sed s/12/14/ a.b.plist > ../new.plist; ln -sf ../new.plist a.b.plist", changes: [Pattern.old]),
        Pattern(
            testDescription: "git checkout of another version",
            script: """
                git init -q; git config user.email t@example.org; git config user.name t
                git add a.b.plist; git commit -qm old
                sed -i s/12/14/ a.b.plist; git commit -qam new
                git checkout -q HEAD~1
                """, changes: [Pattern.old, "a.b: size 14>12 (file)"], tool: "git"),
        Pattern(testDescription: "mv away and back", script: "mv a.b.plist x; mv x a.b.plist", changes: []),
        Pattern(testDescription: "touch", script: "touch a.b.plist", changes: []),
        Pattern(testDescription: "chmod", script: "chmod 640 a.b.plist", changes: []),
        Pattern(
            testDescription: "the same content again", script: "cp a.b.plist ../new; cp ../new a.b.plist", changes: []),
        Pattern(
            testDescription: "plistutil, from XML to binary",
            script: "plistutil -f bin -i a.b.plist -o ../new; mv ../new a.b.plist", changes: [], tool: "plistutil"),
        Pattern(testDescription: "rm", script: "rm a.b.plist", changes: ["a.b: name old>-, size 12>- (file)"]),
    ]

    static let file = """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0">
        <dict>
        <key>name</key><string>old</string>
        <key>size</key><integer>12</integer>
        </dict>
        </plist>

        """

    /// Splits a script where the test must wait until the agent has seen the changes so far.
    static func steps(_ script: String) -> [String] {
        script.contains("git commit -qam")
            ? script.components(separatedBy: "\ngit checkout").enumerated().map {
                $0.offset == 0 ? $0.element : "git checkout" + $0.element
            } : [script]
    }

    @Test("A save by a real program yields exactly the expected change sets", arguments: patterns)
    func save(_ pattern: Pattern) throws {
        guard try Programs.run("/bin/sh", ["-c", "command -v \(pattern.tool)"]).status == 0 else { return }
        try AgentProcess.withAgent(prepare: {
            try Self.file.write(toFile: $0.path("a.b"), atomically: false, encoding: .utf8)
        }) {
            agent in
            let follower = try agent.follow()
            var changes: [String] = []
            for step in Self.steps(pattern.script) {
                changes += try follower.changes {
                    let outcome = try agent.shell(step)
                    #expect(outcome.status == 0, "\(outcome.errors)")
                }
            }
            #expect(changes == pattern.changes)
        }
    }

    @Test("Foundation's own UserDefaults yields one change set with each synchronize")
    func foundation() throws {
        try AgentProcess.withAgent { agent in
            let follower = try agent.follow()
            func write(_ arguments: String...) throws {
                try Programs.run(Programs.foundationWriter, ["a.b"] + arguments, environment: agent.place.environment)
            }
            #expect(try follower.changes { try write("name", "one") } == ["a.b: name ->one (file)"])
            #expect(try follower.changes { try write("name", "two") } == ["a.b: name one>two (file)"])
            #expect(try follower.changes { try write("other", "x") } == ["a.b: other ->x (file)"])
            #expect(try follower.changes { try write("name") } == ["a.b: name two>- (file)"])
            // It also sees what others set through the agent.
            try agent.defaults("write", "a.b", "ours", "kept")
            #expect(try follower.changes { try write("other", "y") }.last == "a.b: other x>y (file)")
            #expect(try agent.defaults("read", "a.b", "ours").output == "kept\n")
        }
    }

    @Test("A barrier covers a file that was still open when its close was reported")
    func closedLate() throws {
        try AgentProcess.withAgent(prepare: { try RawFile.write("{size = 0;}", to: $0.path("a.b")) }) { agent in
            // A writer under another name causes no event here. This imitates the moment between the event of a close
            // and the end of the close.
            let (path, other) = (agent.place.path("a.b"), agent.place.runtime + "/other")
            try #require(link(path, other) == 0)
            let follower = try agent.follow()
            for size in 1...20 {
                let held = open(other, O_WRONLY | O_CLOEXEC)
                // On a busy machine the file stays open for so long that the agent reads it anyway.
                let early = try follower.changes { try RawFile.write("{size = \(size);}", to: path) }
                close(held)
                let late = try follower.changes {}
                #expect(early + late == ["a.b: size \(size - 1)>\(size) (file)"])
            }
        }
    }
}
