import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// "Defaults Domains", on the application domain.
@Suite("Application Domain")
struct ApplicationDomainTests {
    @Test("The application domain is named after the application's identifier, and receives the values that are set")
    func identifier() throws {
        try App.with { app in
            // The domain of a program without a bundle is named after its file.
            let outcome = try Programs.run(
                Programs.preferencesWindow, [], environment: app.environment, input: "set name Ada\napply\nquit\n")
            #expect(outcome.status == 0)
            let path = "\(app.place.preferences)/PreferencesWindow.plist"
            #expect(try app.place.read(path) == ["name": "Ada"])
            try app.launch { #expect($0.object(forKey: "name") == nil) }
        }
    }

    @Test("The application domain's file is in the user's home directory, or where the environment says")
    func home() throws {
        try withTemporaryDirectory { home in
            let variables = ["HOME": home, "XDG_CONFIG_HOME": "", "DEFAULTS_DIRECTORY": "", "XDG_RUNTIME_DIR": home]
            try Programs.run(Programs.defaults, ["write", App.identifier, "key", "home"], environment: variables)
            #expect(RawFile.exists("\(home)/.config/\(App.identifier).plist"))
            let sandbox = home + "/sandbox"
            let confined = variables.merging(["XDG_CONFIG_HOME": sandbox]) { $1 }
            try Programs.run(Programs.defaults, ["write", App.identifier, "key", "sandbox"], environment: confined)
            #expect(RawFile.exists("\(sandbox)/\(App.identifier).plist"))
        }
    }

    @Test("The application domain's file can be read, and even edited by hand, while the app runs")
    func file() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("set", forKey: "key")
                #expect(defaults.synchronize())
                #expect(try RawFile.read(app.path).starts(with: "<?xml".utf8))
                try app.place.write(["key": "by hand"], to: app.path)
                #expect(eventually { defaults.string(forKey: "key") == "by hand" })
            }
        }
    }
}
