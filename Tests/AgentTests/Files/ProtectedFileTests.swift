import Glibc
import ProgramSupport
import TestSupport
import Testing

/// Files that may not be meant for preferences, reached through a link or named by their path.
@Suite("Protected files")
struct ProtectedFileTests {
    private static let prose = "Buy milk.\n"

    /// Runs a test, with or without an agent, on notes that a domain's file links to.
    private func withNotes(
        hasAgent: Bool, _ body: (AgentProcess.Place, _ defaults: ([String]) throws -> Programs.Outcome) throws -> Void
    ) throws {
        try AgentProcess.withPlace { place in
            try RawFile.write(Self.prose, to: place.root + "/notes.plist")
            symlink("../notes.plist", place.path("ln"))
            let agent = hasAgent ? try AgentProcess(place) : nil
            defer { agent?.kill() }
            let environment = place.environment.merging(hasAgent ? [:] : ["DEFAULTSD_SOCKET": ""]) { $1 }
            try body(place) { try Programs.run(Programs.defaults, $0, environment: environment) }
        }
    }

    @Test(
        "A file that is no property list is not replaced, and the command exits with status 65",
        arguments: [true, false],
        ["write", "write all", "import", "rename", "array-add", "path"])
    func refused(hasAgent: Bool, verb: String) throws {
        try withNotes(hasAgent: hasAgent) { place, defaults in
            let notes = place.root + "/notes.plist"
            try RawFile.write("{ k = v; }", to: place.root + "/settings")
            let arguments =
                switch verb {
                case "write": ["write", "ln", "k", "v"]
                case "write all": ["write", "ln", "{ k = v; }"]
                case "import": ["import", "ln", place.root + "/settings"]
                case "rename": ["rename", "ln", "k", "l"]
                case "array-add": ["write", "ln", "k", "-array-add", "v"]
                default: ["write", place.root + "/notes", "k", "v"]
                }
            let outcome = try defaults(arguments)
            #expect(outcome.status == 65, "\(outcome.errors)")
            #expect(try RawFile.read(notes) == Array(Self.prose.utf8))
            #expect(namesOfFiles(in: place.root).filter { $0.hasPrefix("notes") } == ["notes.plist"])
            // No edit of the file is pending.
            #expect(try defaults(["read", "ln"]).status == 65)
            try RawFile.write("{ old = 1; }", to: notes)
            let write = try defaults(["write", "ln", "k", "v"])
            #expect(write.status == 0, "\(write.errors)")
            #expect(try defaults(["read", "ln", "old"]).output == "1\n")
        }
    }

    @Test(
        "`write --force` replaces a file that is no property list, with a backup copy beside the file",
        arguments: [true, false],
        ["ln", "notes"])
    func forced(hasAgent: Bool, domain: String) throws {
        try withNotes(hasAgent: hasAgent) { place, defaults in
            let argument = domain == "ln" ? domain : place.root + "/notes"
            let outcome = try defaults(["write", "--force", argument, "k", "v"])
            #expect(outcome.status == 0, "\(outcome.errors)")
            let copy = place.root + "/notes.plist.damaged-1"
            #expect(outcome.errors.contains("notes.plist.damaged-1"))
            #expect(try RawFile.read(copy) == Array(Self.prose.utf8))
            #expect(try defaults(["read", argument, "k"]).output == "v\n")
            #expect(try RawFile.status(place.path("ln")).st_mode & S_IFMT == S_IFLNK)
            #expect(place.files == ["ln.plist"])
        }
    }

    @Test("An app's edit doesn't replace a file that is no property list")
    func app() throws {
        try withNotes(hasAgent: false) { place, _ in
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            _ = try Programs.run(Programs.liveWriter, ["ln", "key", "3"], environment: environment)
            #expect(try RawFile.read(place.root + "/notes.plist") == Array(Self.prose.utf8))
        }
    }
}
