#if Portal
import ArgumentParser
import DefaultsCore
import FoundationEssentials
import Glibc

/// `defaults-portal`: a backend of the desktop's settings portal, whose settings come from preferences.
@main
struct DefaultsPortal: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults-portal",
        abstract: "Serve preferences to the desktop's settings portal.",
        discussion: """
            D-Bus starts this program when xdg-desktop-portal asks for settings. The setting color-scheme, for \
            example, comes from AppleInterfaceStyle in the global domain, so that `defaults write -g \
            AppleInterfaceStyle -string Dark` turns programs dark. See the page "Let the desktop follow preferences".
            """, version: Version.current)

    @Flag(help: "Print the standard map from preferences to settings, as a property list, and exit.") var map = false
    @Flag(
        help: """
            Print what is wrong with preferences that are settings, and why programs don't get them. Exit with 1 if \
            they don't, with 69 if no portal is running, with 65 if only preferences are wrong, and otherwise with 0.
            """)
    var check = false

    func run() throws {
        if map { return print(SettingsMap.standard) }
        do {
            if check {
                let settings = FollowedPreferences(isAlone: false).settings()
                settings.problems.forEach { print($0) }
                if let obstacle = try SettingsBus.findObstacle(to: settings) {
                    Self.log(obstacle)
                    throw ExitCode(1)
                }
                if !settings.problems.isEmpty { throw ExitCode(65) }
                return
            }
            try serve()
        } catch let error as SettingsBus.Failure {
            Self.log("\(error)")
            throw ExitCode(69)
        }
    }

    /// Answers calls, and signals changes, until the bus is gone.
    private func serve() throws(SettingsBus.Failure) -> Never {
        let bus = try SettingsBus()
        let known = try bus.names()
        let preferences = FollowedPreferences(isAlone: OtherBackends.names()?.isDisjoint(with: known) ?? false)
        if preferences.descriptor < 0 { throw SettingsBus.Failure("Preferences can't be followed", -EMFILE) }
        var logged: Set<String> = []
        while true {
            let settings = preferences.settings()
            for problem in settings.problems where logged.insert(problem).inserted { Self.log(problem) }
            logged.formIntersection(settings.problems)
            try bus.update(settings)
            repeat {
                try bus.process()
                bus.wait(orFor: preferences.descriptor)
            } while !preferences.haveChanged()
        }
    }

    /// Writes a line to standard error, which goes to the user's journal.
    static func log(_ line: String) {
        let bytes = Array("defaults-portal: \(line)\n".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
#else
import Linux

/// `defaults-portal` without the trait `Portal`.
@main
struct DefaultsPortal {
    static func main() { MissingTrait.end("defaults-portal", without: "Portal") }
}
#endif
