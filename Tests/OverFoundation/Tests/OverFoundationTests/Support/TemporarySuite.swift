import DefaultsKit
import Foundation
import Testing

/// A suite of a test's own, which is removed with this object.
final class TemporarySuite {
    let name = "org.example.over-foundation.\(UUID().uuidString)"
    let defaults: UserDefaults

    /// Creates the suite.
    ///
    /// On Linux, it fails unless the suite's file is in a temporary directory.
    init() throws {
        #if os(Linux)
        try #require(Self.directory != nil, "Run .ci/over-foundation, which keeps the user's preferences out of this.")
        #endif
        defaults = try #require(UserDefaults(suiteName: name))
    }

    deinit { defaults.removePersistentDomain(forName: name) }

    /// The directory of the files, by its path.
    ///
    /// Foundation on Linux reads the variable when the process starts, so a test can't set it.
    private static let directory = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"]

    /// The path of the suite's file; `nil` where it isn't known.
    var file: String? {
        #if os(Linux)
        Self.directory.map { "\($0)/\(name).plist" }
        #else
        nil
        #endif
    }
}
