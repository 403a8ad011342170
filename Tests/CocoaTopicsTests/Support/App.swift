import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The documents' class, in place of Foundation's.
typealias UserDefaults = DefaultsKit.UserDefaults

/// An app that is launched, and launched again, over the same preferences.
struct App {
    static let identifier = "com.example.App"

    let place: ScratchPlace

    /// The file of its preferences.
    var path: String { "\(place.preferences)/\(Self.identifier).plist" }
    /// The file of what all apps share.
    var globalPath: String { "\(place.preferences)/.GlobalPreferences.plist" }

    /// What has a program use the same preferences.
    var environment: [String: String] { place.environment }

    /// Runs a test with an app that has never been launched.
    static func with<Result>(_ body: (App) throws -> Result) throws -> Result {
        try ScratchPlace.with { try body(App(place: $0)) }
    }

    /// One launch, from the first use of the defaults to the end of the process; no agent runs.
    func launch<Result>(
        _ identifier: String = identifier, arguments: [String] = [], _ body: (UserDefaults) throws -> Result
    ) throws -> Result {
        let live = try place.live(arguments: arguments)
        // As when a process ends.
        defer { live.close() }
        return try body(try #require(UserDefaults(suiteName: identifier, in: live)))
    }
}
