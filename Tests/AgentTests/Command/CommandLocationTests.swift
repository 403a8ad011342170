import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The ways to name a domain: names, hosts, paths and applications.
@Suite("Names, hosts, paths and applications of the command")
struct CommandLocationTests {
    private static let kv = ["write", "a.b", "k", "v"]

    static let names: [CommandCase] = [
        .prints(["write", "-g", "k", "-g"], ["read", "-g", "k"], output: "-g"),
        .prints(["write", "-globalDomain", "k", "v"], ["read", "NSGlobalDomain", "k"], output: "v"),
        .prints(["write", "Apple Global Domain", "k", "v"], ["read", "-g", "k"], output: "v"),
        .prints(["write", ".GlobalPreferences", "k", "v"], ["read", "-g", "k"], output: "v"),
        .prints(["write", "NSGlobalDomain", "k", "v"], ["read-type", "-g", "k"], output: "Type is string"),
        .isSilent(["write", "-g", "k", "v"], ["rename", "-g", "k", "l"], ["delete", "-g", "l"]),
        .prints(["-host", "HOST"] + kv, ["read", "-host", "HOST", "a.b", "k"], output: "v"),
        .prints(["write", "-host", "HOST", "a.b", "k", "v"], ["-host", "HOST", "read", "a.b", "k"], output: "v"),
        .prints(
            ["write", "-host", "HOST", "a.b", "-g", "Apple Global Domain"], ["-host", "HOST", "read", "--json", "a.b"],
            output: #"{"-g":"Apple Global Domain"}"#),
        .prints(
            kv, ["-host", "HOST", "write", "a.b", "j", "w"], ["-host", "HOST", "read"],
            output: "{\n    \"a.b\" =     {\n        j = w;\n    };\n}"),
        .fails(kv, ["read", "-host", "HOST", "a.b"], status: 1, "The domain a.b (host HOST) does not exist."),
        .fails(
            kv, ["-currentHost", "-host", "HOST", "read", "a.b"], status: 64,
            "Use only one of -currentHost and -host."),
        .prints(["write", ".x", "k", "v"], ["read", "%2Ex", "k"], output: "v"),
        .prints(["write", "a/b", "k", "v"], ["read", "a%2Fb", "k"], output: "v"),
        .prints(["write", "a%2Fb", "k", "v"], ["read", "a/b", "k"], output: "v"),
        .fails(["read", "a/b"], status: 1, "The domain a%2Fb does not exist."),
        .fails(
            ["write", "a/b.plist", "k", "v"], status: 64,
            "\"a/b.plist\" is a file name. Use ./a/b.plist for the file."),
        .fails(
            ["write", "a.plist", "k", "v"], status: 64,
            "\"a.plist\" is a file name. Use ./a.plist for the file, or \"a\" for the domain."),
        .fails(["read", "/"], status: 64, "/ names a directory, not a file."),
        .fails(["read", ""], status: 64, "\"\" isn't a valid domain name: a name has at least one character."),
        .fails(
            ["read", "-host", "../x", "a.b"], status: 64,
            "A host identifier must have 1 to 36 characters, each a letter, a digit or \"-\"."),
    ]

    static let paths: [CommandCase] = [
        .prints(["write", "$P/a.b", "k", "v"], ["read", "a.b", "k"], output: "v"),
        .prints(["write", "$P/a.b.plist", "k", "v"], ["read", "a.b", "k"], output: "v"),
        .prints(kv, ["read", "$P/../p/a.b", "k"], output: "v"), .prints(kv, ["read", "$P//a.b", "k"], output: "v"),
        .prints(["write", "$P/.GlobalPreferences", "k", "v"], ["read", "-g", "k"], output: "v"),
        .prints(["-host", "H"] + kv, ["read", "$P/ByHost/a.b.H", "k"], output: "v"),
        .prints(
            ["-host", "H"] + kv, ["write", "$P/ByHost/a.b.H", "k", "w"], ["-host", "H", "read", "a.b", "k"], output: "w"
        ),
        .prints(["write", "$T/x", "k", "v"], ["read", "$T/x.plist", "k"], output: "v"),
        .prints(["write", "$T/x.plist", "k", "v"], ["read", "$T/x", "k"], output: "v"),
        .isSilent(["write", "$T/x", "k", "v"], ["domains"]),
        .isSilent(["write", "$T/x", "k", "v"], ["delete", "$T/x"]),
        .isSilent(["write", "$T/x", "k", "v"], ["delete-all", "$T/x", "k"]),
        .prints(
            ["write", "$T/x", "k", "v"], ["rename", "$T/x", "k", "l"], ["read-type", "$T/x", "l"],
            output: "Type is string"),
        .prints(
            ["write", "$T/x", "k", "-array", "1"], ["write", "$T/x", "k", "-array-add", "2"],
            ["read", "--json", "$T/x"],
            output: #"{"k":["1","2"]}"#),
        .prints(
            ["import", "$T/x", "-"], ["export", "$T/x", "$T/y"], ["read", "--json", "$T/x"], output: #"{"k":"v"}"#,
            input: "{k = v;}"),
        .fails(
            ["-host", "H"] + kv, ["delete-all", "$P/ByHost/a.b.H"], status: 64,
            "delete-all applies to all hosts, but $P/ByHost/a.b.H is for one; use `delete` or the domain's name."),
        .fails(["read", "$T/none"], status: 1, "The file $T/none.plist does not exist."),
        .fails(["delete", "$T/none.plist"], status: 1, "The file $T/none.plist does not exist; nothing is deleted."),
        .fails(
            ["write", "$T/x", "k", "v"], ["read", "$T/x", "y"], status: 1, "The file $T/x.plist has no key \"y\"."),
        .fails(["read", "$T/no/x"], status: 1, "The file $T/no/x.plist does not exist."),
        .fails(
            ["write", "$T/no/x", "k", "v"], status: 73,
            "The directory $T/no can't be opened: No such file or directory."),
        .fails(
            ["write", "$T/no/x", "k", "-array-add", "v"], status: 73,
            "The directory $T/no can't be opened: No such file or directory."),
        .fails(["read", "$T/.x"], status: 64, "\".x\" isn't a valid domain name: a name can't begin with \".\"."),
        .fails(
            ["read", "$T/NSGlobalDomain"], status: 64,
            "$T/NSGlobalDomain.plist can't be a domain's file; rename it, or use `import` and `export`."),
        .fails(
            ["-host", "H", "read", "$T/x"], status: 64,
            "The path $T/x names a single file; remove -host and -currentHost."),
    ]

    @Test("A name and a host select the expected domain or are refused", arguments: names)
    func name(_ row: CommandCase) throws { try row.check() }

    @Test("A path selects the expected domain or file or is refused", arguments: paths)
    func path(_ row: CommandCase) throws { try row.check() }

    @Test("A file outside the preferences is private, has no files beside it, and needs no agent")
    func alone() throws {
        try AgentProcess.withAgent { agent in
            let directory = agent.place.root + "/out"
            try RawFile.makeDirectory(directory)
            for number in 1...3 {
                #expect(try agent.defaults("write", "\(directory)/x", "k", "-int", "\(number)").status == 0)
                #expect(namesOfFiles(in: directory) == ["x.plist"])
            }
            #expect(try RawFile.status("\(directory)/x.plist").st_mode & 0o777 == 0o600)
            agent.signal(SIGSTOP)
            defer { agent.signal(SIGCONT) }
            #expect(try agent.defaults("read", "\(directory)/x", "k").output == "3\n")
        }
    }

    @Test("A link to a preferences file names its domain, and a link in the preferences is followed and kept")
    func links() throws {
        try AgentProcess.withAgent { agent in
            let (link, other) = (agent.place.root + "/link.plist", agent.place.root + "/other.plist")
            try agent.holdEdits()
            try agent.connect().edit(Domain(DomainName("a.b")), with: ["k": "v"], replacesAll: false)
            try agent.defaults("write", "a.b", "l", "w")
            #expect(symlink(agent.place.path("a.b"), link) == 0)
            #expect(try agent.defaults("write", link, "m", "x").status == 0)
            #expect(try agent.defaults("read", "--json", "a.b").output == #"{"k":"v","l":"w","m":"x"}"# + "\n")
            try RawFile.write("{k = v;}", to: other)
            #expect(symlink(other, agent.place.path("c.d")) == 0)
            #expect(try agent.defaults("write", agent.place.path("c.d"), "l", "w").status == 0)
            #expect(try agent.defaults("read", "--json", other).output == #"{"k":"v","l":"w"}"# + "\n")
            #expect(try RawFile.status(agent.place.path("c.d")).st_mode & S_IFMT == S_IFLNK)
        }
    }

    @Test("Relative paths and paths that begin with ~ reach the same file")
    func relative() throws {
        try AgentProcess.withPlace { place in
            var environment = place.environment
            environment["DEFAULTSD_SOCKET"] = ""
            environment["HOME"] = place.runtime
            try RawFile.makeDirectory(place.runtime + "/d")
            for path in ["./x", "../r/x", "~/x", "./d/../x.plist"] {
                let outcome = try Programs.shell(
                    "'\(Programs.defaults)' write '\(path)' k '\(path)' 2>errors; '\(Programs.defaults)' read ./x k",
                    in: place.runtime, environment: environment)
                #expect(outcome.output == path + "\n")
                #expect(outcome.errors == "")
                unlink(place.runtime + "/errors")
            }
            #expect(namesOfFiles(in: place.runtime).filter { $0 != "defaultsd" } == ["d", "x.plist"])
        }
    }

    @Test("An edit of a path whose .. leads out of the preferences says which file it changes")
    func detours() throws {
        let outside = "defaults: $P/../r/x is outside the preferences directory: it is the file $T/x.plist.\n"
        func edit(_ commands: [String]..., errors: String) throws {
            try CommandCase(commands: commands, errors: errors).check()
        }
        try edit(["write", "$P/../r/x", "k", "v"], errors: outside)
        try edit(["write", "$T/x", "k", "v"], ["delete", "$P/../r/x", "k"], errors: outside)
        try edit(["write", "$T/x", "k", "v"], ["write", "$P/../r/x", "k", "-array", "v"], errors: outside)
        try edit(["write", "$P/../p/x", "k", "v"], errors: "")
        try edit(["write", "$T/x..y", "k", "v"], ["delete", "$T/x..y"], errors: "")
    }

    @Test("An edit that takes a relative path for a domain's name says so")
    func relativePaths() throws {
        let note = "defaults: a/b names the domain a%2Fb. For the file at that path, use ./a/b.\n"
        try CommandCase(commands: [["write", "a/b", "k", "v"]], errors: note).check()
        try CommandCase(commands: [["write", "a%2Fb", "k", "v"], ["write", "a/b", "k", "w"]], errors: "").check()
        // Reading prints no such note.
        try CommandCase.prints(["write", "$T/x", "k", "v"], ["read", "$P/../r/x", "k"], output: "v").check()
        try CommandCase.fails(
            ["read", "$P/../r/none"], status: 1, "The file $T/none.plist does not exist."
        ).check()
    }

    static let apps: [CommandCase] =
        [
            // By the desktop file's name, which is the domain if it is a reverse domain name.
            .prints(["write", "-app", "org.example.Editor", "k", "v"], ["domains"], output: "org.example.Editor"),
            .prints(
                ["-app", "org.example.Editor.desktop", "write", "k", "v"], ["domains"], output: "org.example.Editor"),
            // By the displayed name.
            .prints(["write", "-app", "Text Editor", "k", "v"], ["read", "-app", "text editor", "k"], output: "v"),
            .prints(["-app", "Text Editor", "write", "k", "v"], ["domains"], output: "org.example.Editor"),
            // The domain is the program's name if the desktop file's name is no reverse domain name.
            .prints(["write", "-app", "viewer", "k", "v"], ["domains"], output: "image-viewer"),
            // By the program that the desktop file starts, unless several do, as with sh.
            .prints(["write", "-app", "editor", "k", "v"], ["domains"], output: "org.example.Editor"),
            .prints(["write", "-app", "Quoted", "k", "v"], ["domains"], output: "my tool"),
            .prints(
                ["write", "-app", "$H/share/applications/viewer.desktop", "k", "v"], ["domains"], output: "image-viewer"
            ),
            .prints(["write", "-app", "sh", "k", "v"], ["domains"], output: "sh"),
            .prints(["write", "-app", "/bin/sh", "k", "v"], ["domains"], output: "sh"),
            .prints(
                ["write", "-app", "shared", "--", "-app", "v"], ["read", "-app", "shared", "--json"],
                output: #"{"-app":"v"}"#),
            .prints(["-app", "sh", "write", "k", "v"], ["-app", "sh", "read", "--json"], output: #"{"k":"v"}"#),
            .prints(
                ["-host", "H", "-app", "sh", "write", "k", "v"], ["-app", "sh", "read", "-host", "H", "k"],
                output: "v"),
        ]
        + ["nope", "Nobody", "Gone", "Hidden", "hidden", "$H/share/applications/none.desktop", "/etc/passwd", ""].map {
            name in
            .fails(
                ["write", "-app", name, "k", "v"], status: 1,
                "Couldn't find an application named \"\(name)\"; defaults unchanged.")
        } + [.fails(["read", "-app"], status: 64, "Missing value for '-app <app>'. See `defaults help read`.")]

    @Test(
        "An option followed by another option lacks its value, with and without the argument parser",
        arguments: [
            (["--directory", "-x", "read", "d"], "--directory <directory>"),
            (["--socket", "--", "read", "d"], "--socket <socket>"),
            (["-host", "-currentHost", "read", "d", "k"], "-host <host>"),
        ])
    func missingValue(_ arguments: [String], option: String) throws {
        for quickness in [[], ["--json"]] {
            let outcome = try Programs.run(Programs.defaults, arguments + quickness)
            #expect(outcome.status == 64 && outcome.output == "")
            #expect(outcome.errors == "defaults: Missing value for '\(option)'. See `defaults help read`.\n")
        }
    }

    @Test("An application's name, program or desktop file selects its domain or is refused", arguments: apps)
    func app(_ row: CommandCase) throws {
        try row.check { place in
            let directories = [
                "\(place.root)/home", "\(place.root)/home/share", "\(place.root)/home/share/applications",
                "\(place.runtime)/share", "\(place.runtime)/share/applications",
            ]
            for directory in directories { try RawFile.makeDirectory(directory) }
            let entries = [
                "org.example.Editor": "Name=Text Editor\nExec=/usr/bin/editor %U",
                "viewer": "Exec=env A=b /usr/bin/image-viewer\n[Desktop Action x]\nName=Nobody\nExec=x",
                "quoted": "# comment\nName = Quoted\nExec=\"/opt/my tool\" --x",
                "gone": "Name=Gone\nHidden=true\nExec=x",
                "org.example.First": "Name=First\nExec=/usr/bin/sh",
                "org.example.Second": "Name=Second\nExec=/usr/bin/sh",
            ]
            for (name, text) in entries {
                try RawFile.write("[Desktop Entry]\n\(text)\n", to: "\(directories[2])/\(name).desktop")
            }
            // A desktop file in the user's directory hides one of the same name elsewhere.
            try RawFile.write("[Desktop Entry]\nHidden=true\n", to: "\(directories[2])/hidden.desktop")
            try RawFile.write("[Desktop Entry]\nName=Hidden\n", to: "\(directories[4])/hidden.desktop")
            try RawFile.write("[Desktop Entry]\nName=S\n", to: "\(directories[4])/shared.desktop")
        }
    }

    @Test("Deleting a file outside the preferences leaves a ByHost directory beside it alone")
    func elsewhere() throws {
        try CommandCase.prints(["delete-all", "$T/x"], ["read", "$T/ByHost/x.H", "k"], output: "v").check { place in
            try RawFile.makeDirectory(place.runtime + "/ByHost")
            for name in ["x", "ByHost/x.H"] { try RawFile.write("{k = v;}", to: "\(place.runtime)/\(name).plist") }
        }
    }
}
