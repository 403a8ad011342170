#if Configuration
import DefaultsClient
import DefaultsCore
import DefaultsKit
import TestSupport
import Testing

/// Runs a test with the defaults of two programs that share a temporary directory, without an agent.
func withSharedPlace(_ body: (_ ours: UserDefaults, _ others: UserDefaults) async throws -> Void) async throws {
    let path = try makeTemporaryDirectory()
    defer { removeTree(path) }
    let place = try Location(
        environment: Environment([
            "DEFAULTS_DIRECTORY": path, "DEFAULTSD_SOCKET": path + "/socket", "XDG_RUNTIME_DIR": path,
            "DEFAULTS_SYSTEM_DIRECTORIES": path + "/system", "DEFAULTS_MANAGED_DIRECTORY": path + "/managed",
        ]))
    let ours = Client(.success(place))
    let others = Client(.success(place))
    defer {
        ours.close()
        others.close()
    }
    try await body(
        #require(UserDefaults(suiteName: "org.example.greeter", in: ours)),
        #require(UserDefaults(suiteName: "org.example.greeter", in: others)))
}
#endif
