package import DefaultsClient
package import DefaultsCore
import DefaultsKit
import Glibc
import PropertyList
import TestSupport

/// Temporary directories for the user's, the system's and the managed preferences, without an agent.
package struct ScratchPlace {
    package let root: String

    package var preferences: String { root + "/user" }
    package var system: String { root + "/system" }
    package var managed: String { root + "/managed" }

    /// Runs a test with new directories.
    package static func with<Result>(_ body: (ScratchPlace) throws -> Result) throws -> Result {
        try withTemporaryDirectory { root in
            let place = ScratchPlace(root: root)
            for path in [place.preferences, place.preferences + "/ByHost", place.system, place.managed] {
                guard mkdir(path, 0o755) == 0 else { throw TestSystemError("mkdir \(path)") }
            }
            return try body(place)
        }
    }

    /// Runs a test with new directories and a client of them, as a newly started process would have it.
    package static func withClient<Result>(_ body: (ScratchPlace, Client) throws -> Result) throws -> Result {
        try with { place in
            let client = try place.client()
            defer { client.close() }
            return try body(place, client)
        }
    }

    /// The environment that makes a program use these directories, without an agent.
    package var environment: [String: String] {
        [
            "DEFAULTS_DIRECTORY": preferences, "DEFAULTS_SYSTEM_DIRECTORIES": system,
            "DEFAULTS_MANAGED_DIRECTORY": managed, "XDG_RUNTIME_DIR": root, "XDG_STATE_HOME": root + "/state",
        ]
    }

    /// Returns a client as a newly started process would create it.
    package func client(arguments: [String] = []) throws -> Client {
        let environment = Environment(environment.merging(["DEFAULTSD_SOCKET": root + "/socket"]) { $1 })
        return Client(.success(try Location(environment: environment)), arguments: ["program"] + arguments)
    }

    /// Writes a file as another program would.
    package func write(_ values: DomainValues, to path: String) throws {
        try RawFile.replace(path, with: try PropertyListValue.dictionary(values).write(as: .xml))
    }

    /// Returns the values in a file.
    package func read(_ path: String) throws -> DomainValues {
        guard case .dictionary(let values) = try PropertyListValue(parsing: try RawFile.read(path)) else { return [:] }
        return values
    }
}
