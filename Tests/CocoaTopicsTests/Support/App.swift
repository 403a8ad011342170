import DefaultsClient
import DefaultsCore
import DefaultsFoundation
import DefaultsKit
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// The class that the documents describe, instead of Foundation's.
typealias UserDefaults = DefaultsKit.UserDefaults

/// An app that is launched repeatedly with the same preferences.
struct App {
    static let identifier = "com.example.App"

    let place: ScratchPlace

    /// The path of the app's preferences file.
    var path: String { "\(place.preferences)/\(Self.identifier).plist" }
    /// The path of the global domain's file.
    var globalPath: String { "\(place.preferences)/.GlobalPreferences.plist" }

    /// The environment in which a program uses the same preferences.
    var environment: [String: String] { place.environment }

    /// Runs a test with an app that has never been launched.
    static func with<Result>(_ body: (App) throws -> Result) throws -> Result {
        try ScratchPlace.with { try body(App(place: $0)) }
    }

    /// Runs one launch, from the first use of the defaults to the end of the process; no agent runs.
    func launch<Result>(
        _ identifier: String = identifier, arguments: [String] = [], _ body: (UserDefaults) throws -> Result
    ) throws -> Result {
        let client = try place.client(arguments: arguments)
        // As at the end of a process.
        defer { client.close() }
        return try body(try #require(UserDefaults(suiteName: identifier, in: client)))
    }
}
