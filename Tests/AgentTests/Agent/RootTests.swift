import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Root's commands in directories of other users, and of all users.
@Suite("Commands that root runs", .enabled(if: AgentProcess.hasNobody, "The tests don't run as root."))
struct RootTests {
    @Test(
        "A user can use the files and directories that root has made in the user's home",
        arguments: [
            ["write", "a.b", "k", "v"], ["-currentHost", "write", "a.b", "k", "v"],
            ["write", "$H/.config/a.b", "k", "v"], ["import", "a.b", "$H/input"], ["write", "$H/other", "k", "v"],
            ["tail", "--timeout", "1"],
        ],
        [false, true])
    func home(arguments: [String], isDamaged: Bool) throws {
        try withTemporaryDirectory { root in
            let home = root + "/home"
            try RawFile.makeDirectory(home)
            try RawFile.write("{ k = v; }", to: home + "/input")
            if isDamaged {
                try RawFile.makeDirectory(home + "/.config")
                try RawFile.write("{", to: home + "/.config/a.b.plist")
            }
            for path in [root] + Self.all(in: home) { #expect(chown(path, 65_534, 65_534) == 0) }
            let environment = [
                "HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": "",
                "DEFAULTS_DIRECTORY": "", "DEFAULTSD_SOCKET": "",
            ]
            let command = [Programs.defaults] + arguments.map { $0.replacing("$H", with: home) }
            _ = try Programs.run(command[0], Array(command[1...]), environment: environment)
            #expect(try Self.all(in: home).filter { try RawFile.status($0).st_uid != 65_534 } == [])
            let write = AgentProcess.asNobody + [Programs.defaults] + ["write", "a.b", "k", "2"]
            let outcome = try Programs.run(write[0], Array(write[1...]), environment: environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try Self.value(at: home + "/.config/a.b.plist") == "2")
        }
    }

    @Test(
        "A file that root has made is readable by everyone in a system directory, and by its owner alone elsewhere",
        arguments: [("system/a.b", 0o644), ("managed/a.b", 0o644), ("system/ByHost/a.b.H", 0o644), ("p/a.b", 0o600)])
    func system(path: String, mode: mode_t) throws {
        try AgentProcess.withPlace { place in
            for directory in [place.system, place.managed] { try RawFile.makeDirectory(directory) }
            let file = "\(place.root)/\(path).plist"
            let environment = place.environment.merging(["DEFAULTSD_SOCKET": ""]) { $1 }
            if path.contains("ByHost") { try RawFile.makeDirectory(place.system + "/ByHost") }
            for value in ["1", "2"] {
                let write = ["write", file, "k", value]
                let outcome = try Programs.run(Programs.defaults, write, environment: environment)
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(try RawFile.status(file).st_mode & 0o777 == mode)
            }
            // An administrator's choice stays.
            chmod(file, 0o640)
            _ = try Programs.run(Programs.defaults, ["write", file, "k", "3"], environment: environment)
            #expect(try RawFile.status(file).st_mode & 0o777 == 0o640)
            #expect(try Self.value(at: file) == "3")
        }
    }

    private static func value(at path: String) throws -> PropertyListValue? {
        guard case .dictionary(let values) = try PropertyListValue(parsing: RawFile.read(path)) else { return nil }
        return values["k"]
    }

    /// Returns the paths of a directory and of everything in it.
    private static func all(in directory: String) -> [String] {
        [directory]
            + namesOfFiles(in: directory).flatMap { name -> [String] in
                let path = "\(directory)/\(name)"
                return (try? RawFile.status(path).st_mode & S_IFMT == S_IFDIR) == true ? all(in: path) : [path]
            }
    }
}
