import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// A default directory, or agent settings in it, that can't be used, which must not stop any program.
@Suite("Unusable default directories and settings")
struct UnusableSettingsTests {
    private static let settings = "org.defaultsd.agent.plist"

    /// Returns an environment in which the location's preferences are the default directory.
    private static func usual(_ place: AgentProcess.Place) -> [String: String] {
        place.environment.merging(["DEFAULTSD_SOCKET": "", "DEFAULTS_DIRECTORY": ""]) { $1 }
    }

    /// Runs an app that sets a key and ends.
    private static func app(
        _ environment: [String: String], launcher: [String] = []
    ) throws -> Programs.Outcome {
        let command = launcher + [Programs.liveWriter, "a.b", "key", "1"]
        return try Programs.run(command[0], Array(command[1...]), environment: environment)
    }

    @Test(
        "With invalid settings, programs work with a warning, and the agent starts",
        arguments: ["torn {", "{Directory = 7;}", "{Directory = relative;}"])
    func wrongSettings(text: String) throws {
        try AgentProcess.withPlace { place in
            let file = "\(place.preferences)/\(Self.settings)"
            try RawFile.write(text, to: file)
            let environment = Self.usual(place)
            for arguments in [["write", "a.b", "k", "v"], ["read", "a.b", "k"]] {
                let outcome = try Programs.run(Programs.defaults, arguments, environment: environment)
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.errors.hasPrefix("defaults: \(file)"), "\(outcome)")
                #expect(outcome.errors.split(separator: "\n").count == 1, "\(outcome)")
            }
            let app = try Self.app(environment)
            #expect(app.status == 0 && app.errors.split(separator: "\n").count == 1, "\(app)")
            #expect(app.errors.hasPrefix("UserDefaults: \(file)"), "\(app)")
            #expect(try PropertyListValue(parsing: RawFile.read(place.path("a.b"))) == ["k": "v", "key0": [0]])

            let agent = try RunningProgram(Programs.defaultsd, [], environment: environment)
            let answers = try eventually(within: 30) {
                try Programs.run(Programs.defaults, ["status"], environment: environment).status == 0
            }
            #expect(answers)
            agent.signal(SIGTERM)
            #expect(agent.status() == 0)
        }
    }

    @Test("With damaged settings that may name another directory, an app runs, saves nothing and says so")
    func redirection() throws {
        try AgentProcess.withPlace { place in
            try RawFile.write("{Directory = \"/elsewhere\";", to: "\(place.preferences)/\(Self.settings)")
            let app = try Self.app(Self.usual(place))
            #expect(app.status == 0 && app.errors.split(separator: "\n").count == 1, "\(app)")
            #expect(app.errors.contains("The file may name the preferences directory"), "\(app)")
            #expect(app.errors.contains("and saves none"), "\(app)")
            let command = try Programs.run(
                Programs.defaults, ["write", "a.b", "k", "v"], environment: Self.usual(place))
            #expect(command.status == 65, "\(command)")
            #expect(place.files == [Self.settings])
        }
    }

    @Test(
        "With a directory that can't be searched, an app runs, saves nothing and says so",
        .enabled(if: AgentProcess.hasNobody), arguments: ["p", "."])
    func unreadable(name: String) throws {
        try AgentProcess.withPlace { place in
            try place.giveToNobody()
            // The programs' sockets need another directory then.
            let path = "\(place.root)/\(name)"
            let environment = Self.usual(place).merging(["XDG_RUNTIME_DIR": "/none"]) { $1 }
            chown(path, 65_534, 65_534)
            chmod(path, 0)
            defer { chmod(path, 0o755) }
            let app = try Self.app(environment, launcher: AgentProcess.asNobody)
            #expect(app.status == 0 && app.errors.contains(place.preferences), "\(app)")
            #expect(app.errors.contains("Permission denied"), "\(app)")
            #expect(!app.errors.contains(Self.settings), "\(app)")
            let command = AgentProcess.asNobody + [Programs.defaults, "write", "a.b", "k", "v"]
            let outcome = try Programs.run(command[0], Array(command[1...]), environment: environment)
            #expect(outcome.status == 74, "\(outcome)")
            #expect(outcome.errors.hasPrefix("defaults: The preferences directory \(place.preferences)"), "\(outcome)")
        }
    }
}
