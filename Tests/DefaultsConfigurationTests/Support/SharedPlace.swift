#if Configuration
import DefaultsCore
import DefaultsKit
import TestSupport
import Testing

/// Runs a test with the preferences of two programs in one temporary directory, where no agent runs.
func withSharedPlace(_ body: (_ ours: UserDefaults, _ others: UserDefaults) async throws -> Void) async throws {
    let path = try makeTemporaryDirectory()
    defer { removeTree(path) }
    let place = try LivePlace(
        environment: Environment([
            "DEFAULTS_DIRECTORY": path, "DEFAULTSD_SOCKET": path + "/socket", "XDG_RUNTIME_DIR": path,
            "DEFAULTS_SYSTEM_DIRECTORIES": path + "/system", "DEFAULTS_MANAGED_DIRECTORY": path + "/managed",
        ]))
    let ours = LiveDomains(.success(place))
    let others = LiveDomains(.success(place))
    defer {
        ours.close()
        others.close()
    }
    try await body(
        #require(UserDefaults(suiteName: "org.example.greeter", in: ours)),
        #require(UserDefaults(suiteName: "org.example.greeter", in: others)))
}
#endif
