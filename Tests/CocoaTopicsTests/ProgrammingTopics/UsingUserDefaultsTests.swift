import DefaultsKit
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// "User Defaults Programming Topics for Cocoa", on using NSUserDefaults.
@Suite("Using NSUserDefaults")
struct UsingUserDefaultsTests {
    @Test("The process has one standard object, whose search list is set up")
    func standard() throws {
        #expect(UserDefaults.standard === UserDefaults.standard)
        // In a separate process, which uses only that object.
        try App.with { app in
            try app.place.write(["quality": 0.25], to: "\(app.place.preferences)/PreferencesWindow.plist")
            try app.place.write(["name": "everywhere"], to: app.globalPath)
            let outcome = try Programs.run(
                Programs.preferencesWindow, ["-sounds", "NO"], environment: app.environment, input: "quit\n")
            #expect(outcome.output == "name \"everywhere\", quality 0.25, silent, color none (applied)\n")
        }
    }

    @Test("Values are set and read by key")
    func setting() throws {
        try App.with { app in
            try app.launch { defaults in
                defaults.set("text", forKey: "string")
                #expect(defaults.object(forKey: "string") as? String == "text")
                let date = Date(timeIntervalSinceReferenceDate: 5)
                defaults.set(date, forKey: "date")
                #expect(defaults.object(forKey: "date") as? Date == date)
            }
        }
    }

    /// The listing "Setting a Default in the NSRegistrationDomain".
    private func initialize(_ defaults: UserDefaults) {
        let appDefaults = ["DeleteBackup": "YES"]
        defaults.register(defaults: appDefaults)
    }

    @Test("The listing registers DeleteBackup before the app reads it")
    func registering() throws {
        try App.with { app in
            try app.launch { defaults in
                initialize(defaults)
                #expect(defaults.bool(forKey: "DeleteBackup"))
                #expect(defaults.string(forKey: "DeleteBackup") == "YES")
            }
        }
    }

    /// A stand-in for an NSButton.
    private struct Button {
        var state: Bool
    }

    @Test("The listing saves the user's choice from the button", arguments: [true, false])
    func choosing(isOn: Bool) throws {
        try App.with { app in
            try app.launch { defaults in
                initialize(defaults)
                let deleteBackupButton = Button(state: isOn)
                if deleteBackupButton.state {
                    // The user wants to delete backup files.
                    defaults.set("YES", forKey: "DeleteBackup")
                } else {
                    // The user doesn't want to delete backup files.
                    defaults.set("NO", forKey: "DeleteBackup")
                }
            }
            try app.launch { defaults in
                initialize(defaults)
                #expect(defaults.bool(forKey: "DeleteBackup") == isOn)
            }
        }
    }

    @Test("A window reopens where it was when the app quit")
    func windowPlacement() throws {
        try App.with { app in
            try app.launch { $0.set("10 20 640 480", forKey: "NSWindow Frame Main") }
            try app.launch { #expect($0.string(forKey: "NSWindow Frame Main") == "10 20 640 480") }
        }
    }

    @Test("A value is read as another type if possible")
    func interpreting() throws {
        try App.with { app in
            try app.launch { defaults in
                for text in ["YES", "true", "1"] {
                    defaults.set(text, forKey: "DeleteBackup")
                    #expect(defaults.bool(forKey: "DeleteBackup"))
                }
                defaults.set("12.5", forKey: "number")
                #expect(defaults.float(forKey: "number") == 12.5)
                #expect(defaults.integer(forKey: "number") == 12)
                #expect(defaults.data(forKey: "number") == nil)
                #expect(!defaults.bool(forKey: "nothing"))
            }
        }
    }

    @Test("`synchronize()` saves this process's values, and reloads those of others")
    func synchronizing() throws {
        try App.with { app in
            try app.launch { defaults in
                try app.launch { other in
                    defaults.set("mine", forKey: "a")
                    #expect(defaults.synchronize())
                    let saved = try app.place.read(app.path)
                    #expect(saved == ["a": "mine"])
                    #expect(other.synchronize())
                    #expect(other.string(forKey: "a") == "mine")
                    other.set("theirs", forKey: "b")
                    #expect(other.synchronize())
                    #expect(defaults.synchronize())
                    #expect(defaults.string(forKey: "b") == "theirs")
                }
            }
        }
    }

    @Test("Without synchronize(), other processes' changes still arrive, and exiting loses nothing")
    func automatically() throws {
        try App.with { app in
            try app.launch { defaults in
                try app.launch { $0.set(1, forKey: "theirs") }
                #expect(eventually { defaults.integer(forKey: "theirs") == 1 })
                defaults.set(2, forKey: "mine")
            }
            #expect(try app.place.read(app.path) == ["theirs": 1, "mine": 2])
        }
    }
}
