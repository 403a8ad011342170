import DefaultsCore
import Glibc
import TestSupport
import Testing

@Suite("Preferences directory")
struct PreferencesDirectoryTests {
    /// Finds the directory in an environment that contains only the given variables.
    private func find(option: String? = nil, _ variables: [String: String]) throws -> PreferencesDirectory {
        try PreferencesDirectory(option: option, environment: Environment(variables))
    }

    @Test("The directory comes from the option, then DEFAULTS_DIRECTORY, then the agent's setting, then the default")
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
        "XDG_CONFIG_HOME is used only if it is absolute",
        arguments: [("/x/config", "/x/config"), ("relative", "/nobody/.config"), ("", "/nobody/.config")])
    func configHome(variable: String, path: String) throws {
        let directory = try find(["HOME": "/nobody", "XDG_CONFIG_HOME": variable])
        #expect(directory.path == path)
        #expect(!directory.isExplicit)
    }

    private static let remedy = "DEFAULTS_DIRECTORY or --directory"

    @Test(
        "Settings that name no usable directory are reported, and the default directory is used",
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
        "Damaged settings that may name a directory are an error that states their file and the remedy",
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
            // An explicitly named directory works nevertheless.
            #expect(try find(option: path, variables).path == path)
        }
    }

    @Test("The default directory is used even if it is inaccessible", arguments: ["", "/p"])
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

    @Test("A directory in which other users can create files causes a warning", .enabled(if: geteuid() == 0))
    func exposure() throws {
        try withTemporaryDirectory { path in
            #expect(PreferencesDirectory(path: path).exposure == nil)
            chmod(path, 0o1777)
            let warning = PreferencesDirectory(path: path).exposure?.description
            #expect(warning?.contains("`chmod o-w \(path)`") == true, "\(warning ?? "none")")
        }
    }

    @Test("The default directory is used if the settings don't exist or name no directory")
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

    @Test("A directory setting applies even if a program has the settings file open for writing")
    func redirectionBeingWritten() throws {
        try withTemporaryDirectory { path in
            let file = path + "/org.defaultsd.agent.plist"
            try RawFile.write("{ Directory = \"/elsewhere\"; }", to: file)
            let writer = open(file, O_RDWR | O_CLOEXEC)
            defer { close(writer) }
            #expect(try find(["HOME": "/nobody", "XDG_CONFIG_HOME": path]).path == "/elsewhere")
            // The writer has emptied the file and isn't finished.
            ftruncate(writer, 0)
            let error = #expect(throws: DefaultsError.self) { try find(["HOME": "/nobody", "XDG_CONFIG_HOME": path]) }
            #expect(error?.description.contains("Another program is writing") == true, "\(error?.description ?? "")")
        }
    }

    @Test("Checking a directory that can't be read throws an error")
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

    @Test("A relative directory option is relative to the working directory, and an empty one is an error")
    func options() throws {
        let directory = try find(option: "some/where", [:])
        #expect(directory.path.hasPrefix("/") && directory.path.hasSuffix("/some/where"))
        let error = #expect(throws: DefaultsError.self) { try find(option: "", [:]) }
        #expect(error?.code == .directory)
        #expect(error?.description == "The preferences directory's path is empty. Name a directory.")
    }

    @Test("The home directory comes from the user database if HOME is missing or relative")
    func home() {
        #expect(Environment(["HOME": "/h"]).home == "/h")
        #expect(Environment(["HOME": "h"]).home?.hasPrefix("/") != false)
        #expect(Environment(["HOME": "h"]).home == Environment([:]).home)
    }

    @Test("Trailing slashes are removed from a directory's path, except for the root")
    func slashes() {
        #expect(PreferencesDirectory(path: "/a/b//").path == "/a/b")
        #expect(PreferencesDirectory(path: "/").path == "/")
        #expect(PreferencesDirectory(path: "/a").path(of: Domain(.global)) == "/a/.GlobalPreferences.plist")
    }

    @Test("Only a valid machine ID is converted to a UUID")
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
