import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// `defaults` without an agent: no process stays to watch a file that the command has displaced.
@Suite("Commands without an agent beside other programs")
struct EmbeddedStoreTests {
    /// Runs `defaults` without an agent.
    private static func defaults(_ place: AgentProcess.Place, _ arguments: String...) throws -> Programs.Outcome {
        try Programs.run(
            Programs.defaults, arguments, environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
    }

    private static func values(_ place: AgentProcess.Place) throws -> PropertyListValue {
        try PropertyListValue(parsing: RawFile.read(place.path("a.b")))
    }

    @Test(
        "A file that a program has open for writing is not replaced, and the user is told",
        arguments: [["write", "a.b", "k", "v"], ["delete", "a.b", "old"], ["delete", "a.b"]])
    func openForWriting(_ arguments: [String]) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{ old = 1; }", to: place.path("a.b"))
            let writer = open(place.path("a.b"), O_RDWR | O_CLOEXEC)
            defer { close(writer) }
            let outcome = try Programs.run(
                Programs.defaults, arguments, environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
            #expect(outcome.status == 74)
            #expect(
                outcome.errors
                    == "defaults: Another program has \(place.path("a.b")) open for writing, so the file was not "
                    + "replaced. To find the program, run `lsof \(place.path("a.b"))`. Close the file there, "
                    + "then try again.\n")
            // The program's next write goes to the file that everyone sees.
            try RawFile.write("{ old = 1; theirs = 2; }".utf8, to: writer)
            #expect(try Self.values(place) == ["old": "1", "theirs": "2"])
            #expect(place.files + place.hiddenVersions == ["a.b.plist"])
        }
    }

    @Test(
        "An edit of a managed domain is refused, with or without a condition",
        arguments: [nil, ["k": nil]] as [Difference?])
    func refused(_ expected: Difference?) throws {
        try AgentProcess.withPlace { place in
            let store = EmbeddedStore(PreferencesDirectory(path: place.preferences), system: .none)
            let managed = Domain(try DomainName("a.b"), user: .managed)
            let error = #expect(throws: DefaultsError.self) {
                try store.edit(managed, with: ["k": 1], replacesAll: false, expecting: expected)
            }
            #expect(error?.code == .readOnly)
        }
    }

    @Test("A command waits for a program that closes the file soon")
    func waits() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{ old = 1; }", to: place.path("a.b"))
            let writer = open(place.path("a.b"), O_RDWR | O_CLOEXEC)
            let command = try RunningProgram(
                Programs.defaults, ["write", "a.b", "k", "v"],
                environment: place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 })
            // The new version is ready to be exchanged with the file.
            let isWaiting = eventually { place.hiddenVersions.count == 1 }
            #expect(isWaiting)
            try RawFile.write("{ old = 1; theirs = 2; }".utf8, to: writer)
            close(writer)
            #expect(command.status() == 0)
            #expect(command.complaints() == "")
            #expect(try Self.values(place) == ["old": "1", "theirs": "2", "k": "v"])
            #expect(place.files + place.hiddenVersions == ["a.b.plist"])
        }
    }

    @Test(
        "No key is lost between commands and a program that rewrites the file at any moment",
        .enabled(if: ForeignProcess.hasPython))
    func race() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("<plist><dict><key>old</key><true/></dict></plist>", to: place.path("a.b"))
            let writer = try ForeignProcess(
                python: """
                    import plistlib, select, sys
                    number = 0
                    while not select.select([sys.stdin], [], [], 0.02)[0]:
                        with open(sys.argv[1], 'r+b') as file:
                            values = plistlib.load(file)
                            values['theirs%d' % number] = number
                            file.seek(0)
                            file.truncate()
                            plistlib.dump(values, file)
                        number += 1
                    print(number)
                    """, [place.path("a.b")])
            for number in 1...20 {
                let outcome = try Self.defaults(place, "write", "a.b", "ours\(number)", "v")
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            let count = try #require(Int(try writer.remainder().dropLast()))
            guard case .dictionary(let values) = try Self.values(place) else { return }
            let expected = (0..<count).map { "theirs\($0)" } + (1...20).map { "ours\($0)" } + ["old"]
            #expect(Set(expected).subtracting(values.keys) == [])
            #expect(place.files + place.hiddenVersions == ["a.b.plist"])
        }
    }

    @Test("A failed save without an agent doesn't claim that the edit is kept")
    func noPromise() throws {
        try AgentProcess.withPlace { place in
            // A directory in the file's place can't be replaced, not even by root.
            try RawFile.makeDirectory(place.path("a.b"))
            let outcome = try Self.defaults(place, "write", "a.b", "k", "v")
            #expect(outcome.status == 74)
            #expect(outcome.errors.contains("othing is saved"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("kept in memory"), "\(outcome.errors)")
        }
    }
}
