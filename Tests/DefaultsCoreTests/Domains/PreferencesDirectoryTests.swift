import DefaultsCore
import Glibc
import TestSupport
import Testing

@Suite("Where the preferences are")
struct PreferencesDirectoryTests {
    /// Finds a directory in an environment that has nothing but what is given.
    private func find(option: String? = nil, _ variables: [String: String]) throws -> PreferencesDirectory {
        try PreferencesDirectory(option: option, environment: Environment(variables))
    }

    @Test("The option goes before DEFAULTS_DIRECTORY, that before the agent's setting, and that before the usual place")
    func precedence() throws {
        try withTemporaryDirectory { home in
            try RawFile.makeDirectory(home + "/.config")
            let usual = ["HOME": home]
            #expect(try find(usual) == PreferencesDirectory(path: home + "/.config", isExplicit: false))

            try RawFile.write(
                "{ Directory = \"~/Library/Preferences\"; }", to: home + "/.config/org.defaultsd.agent.plist")
            let redirected = try find(usual)
            #expect(redirected == PreferencesDirectory(path: home + "/Library/Preferences", isExplicit: true))

            let named = usual.merging(["DEFAULTS_DIRECTORY": "/named/"]) { $1 }
            #expect(try find(named) == PreferencesDirectory(path: "/named", isExplicit: true))
            #expect(try find(option: "/option//", named) == PreferencesDirectory(path: "/option", isExplicit: true))
        }
    }

    @Test(
        "XDG_CONFIG_HOME counts when it is absolute",
        arguments: [("/x/config", "/x/config"), ("relative", "/nobody/.config"), ("", "/nobody/.config")])
    func configHome(variable: String, path: String) throws {
        let directory = try find(["HOME": "/nobody", "XDG_CONFIG_HOME": variable])
        #expect(directory.path == path)
        #expect(!directory.isExplicit)
    }

    private static let remedy = "DEFAULTS_DIRECTORY or --directory"

    @Test(
        "Settings that name no directory, and can't be taken, keep nobody from the usual place, and are told of",
        arguments: [
            ("{ Directory = relative; }", .directory), ("{ Directory = (a); }", .directory),
            ("{ Directory = \"\"; }", .directory), ("{ Directory = \"~\"; }", .directory), ("torn {", .damaged),
            ("", .damaged), ("<plist><!-- <key>Directory</key> --><dict><key>LogLevel", .damaged),
        ] as [(String, DefaultsError.Code)])
    func uselessSettings(text: String, code: DefaultsError.Code) throws {
        try withTemporaryDirectory { path in
            let file = path + "/org.defaultsd.agent.plist"
            try RawFile.write(text, to: file)
            let directory = try find(["HOME": "/nobody", "XDG_CONFIG_HOME": path])
            #expect(directory.path == path && !directory.isExplicit)
            #expect(directory.settingsProblem?.code == code)
            #expect(directory.settingsProblem?.description.hasPrefix(file) == true, "\(directory)")
        }
    }

    @Test(
        "Damaged settings that may have redirected are an error that names their file and the remedy",
        arguments: [
            "{ Directory = \"/elsewhere\"; ", "<plist><!-- x --><dict><key>Directory</key><string>/else",
            "<plist><!-- <key>Directory</key>", "\u{FEFF}<dict><key>D\0i\0r\0e\0c\0t\0o\0r\0y\0",
        ])
    func uselessRedirection(text: String) throws {
        try withTemporaryDirectory { path in
            let file = path + "/org.defaultsd.agent.plist"
            try RawFile.write(text, to: file)
            let variables = ["HOME": "/nobody", "XDG_CONFIG_HOME": path]
            let error = #expect(throws: DefaultsError.self) { try find(variables) }
            #expect(error?.code == .damaged)
            #expect(error?.description.hasPrefix(file) == true, "\(error?.description ?? "")")
            #expect(error?.description.contains(Self.remedy) == true)
            // Who names a directory isn't kept from it.
            #expect(try find(option: path, variables).path == path)
        }
    }

    @Test("A usual place that can't be looked into is the usual place all the same", arguments: ["", "/p"])
    func closed(name: String) throws {
        try withTemporaryDirectory { path in
            let place = path + "/p"
            try RawFile.makeDirectory(place)
            chmod(path, 0o755)
            chmod(path + name, 0)
            defer { chmod(path + name, 0o755) }
            let found = asUnprivileged {
                try? PreferencesDirectory(environment: Environment(["XDG_CONFIG_HOME": place]))
            }
            #expect(found == PreferencesDirectory(path: place, isExplicit: false))
        }
    }

    @Test("A directory in which others can make files is warned of", .enabled(if: geteuid() == 0))
    func exposure() throws {
        try withTemporaryDirectory { path in
            #expect(PreferencesDirectory(path: path).exposure == nil)
            chmod(path, 0o1777)
            let warning = PreferencesDirectory(path: path).exposure?.description
            #expect(warning?.contains("`chmod o-w \(path)`") == true, "\(warning ?? "none")")
        }
    }

    @Test("Where the settings redirect nobody, or there are none, the usual place counts")
    func noRedirection() throws {
        try withTemporaryDirectory { path in
            let variables = ["HOME": "/nobody", "XDG_CONFIG_HOME": path]
            #expect(try find(variables).path == path)
            try RawFile.write("{ LogLevel = debug; }", to: path + "/org.defaultsd.agent.plist")
            #expect(try find(variables).path == path)
            let noDirectory = path + "/org.defaultsd.agent.plist"
            #expect(try find(["HOME": "/nobody", "XDG_CONFIG_HOME": noDirectory]).path == noDirectory)
        }
    }

    @Test("A setting that someone has open for writing counts all the same")
    func redirectionBeingWritten() throws {
        try withTemporaryDirectory { path in
            let file = path + "/org.defaultsd.agent.plist"
            try RawFile.write("{ Directory = \"/elsewhere\"; }", to: file)
            let writer = open(file, O_RDWR | O_CLOEXEC)
            defer { close(writer) }
            #expect(try find(["HOME": "/nobody", "XDG_CONFIG_HOME": path]).path == "/elsewhere")
            // Emptied by a writer that isn't done.
            ftruncate(writer, 0)
            let error = #expect(throws: DefaultsError.self) { try find(["HOME": "/nobody", "XDG_CONFIG_HOME": path]) }
            #expect(error?.description.contains("being written") == true, "\(error?.description ?? "")")
        }
    }

    @Test("A directory that can't be read is an error to who looks whether it is there, whoever named it")
    func unreadable() throws {
        try withTemporaryDirectory { path in
            let place = "\(path)/p"
            try RawFile.makeDirectory(place)
            #expect(throws: Never.self) { try PreferencesDirectory(path: place).checkExistence() }
            chmod(path, 0o755)
            chmod(place, 0)
            defer { chmod(place, 0o700) }
            let text = asUnprivileged {
                do throws(DefaultsError) { try PreferencesDirectory(path: place).checkExistence() } catch {
                    return error.description
                }
                return ""
            }
            #expect(text == "The preferences directory \(place) can't be used: Permission denied.")
        }
    }

    @Test("A relative option is below the working directory, an empty one is an error")
    func options() throws {
        let directory = try find(option: "some/where", [:])
        #expect(directory.path.hasPrefix("/") && directory.path.hasSuffix("/some/where"))
        let error = #expect(throws: DefaultsError.self) { try find(option: "", [:]) }
        #expect(error?.code == .directory)
        #expect(error?.description == "The preferences directory's path is empty; name a directory.")
    }

    @Test("Without HOME, or with a relative one, the user database says where the home is")
    func home() {
        #expect(Environment(["HOME": "/h"]).home == "/h")
        #expect(Environment(["HOME": "h"]).home?.hasPrefix("/") != false)
        #expect(Environment(["HOME": "h"]).home == Environment([:]).home)
    }

    @Test("Slashes at the end don't matter, and the root stays the root")
    func slashes() {
        #expect(PreferencesDirectory(path: "/a/b//").path == "/a/b")
        #expect(PreferencesDirectory(path: "/").path == "/")
        #expect(PreferencesDirectory(path: "/a").path(of: Domain(.global)) == "/a/.GlobalPreferences.plist")
    }

    @Test("The machine-id is written as a UUID, and nothing else is")
    func hostIdentifier() {
        let identifier = HostIdentifier.uuid(fromMachineID: "0123456789abcdef0123456789abcdef\n")
        #expect(identifier == "01234567-89AB-CDEF-0123-456789ABCDEF")
        let useless = [
            "", "\n", "0123", "uninitialized", "0123456789abcdef0123456789abcdeg", "0123456789abcdef0123456789abcdef0",
            String(repeating: "\u{FF11}", count: 10) + "ab",
        ]
        for text in useless { #expect(HostIdentifier.uuid(fromMachineID: text) == nil, "\(text)") }
    }
}
