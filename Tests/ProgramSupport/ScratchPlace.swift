package import DefaultsCore
package import DefaultsKit
import Glibc
import PropertyList
import TestSupport

/// Directories of a test's own for the user's preferences, the system's and the managed ones; no agent serves them.
package struct ScratchPlace {
    package let root: String

    package var preferences: String { root + "/user" }
    package var system: String { root + "/system" }
    package var managed: String { root + "/managed" }

    /// Runs a test in such a place.
    package static func with<Result>(_ body: (ScratchPlace) throws -> Result) throws -> Result {
        try withTemporaryDirectory { root in
            let place = ScratchPlace(root: root)
            for path in [place.preferences, place.preferences + "/ByHost", place.system, place.managed] {
                guard mkdir(path, 0o755) == 0 else { throw TestSystemError("mkdir \(path)") }
            }
            return try body(place)
        }
    }

    /// What has a program use the place, without an agent.
    package var environment: [String: String] {
        [
            "DEFAULTS_DIRECTORY": preferences, "DEFAULTS_SYSTEM_DIRECTORIES": system,
            "DEFAULTS_MANAGED_DIRECTORY": managed, "XDG_RUNTIME_DIR": root,
        ]
    }

    /// The domains that a process would use which starts now.
    package func live(arguments: [String] = []) throws -> LiveDomains {
        let environment = Environment(environment.merging(["DEFAULTSD_SOCKET": root + "/socket"]) { $1 })
        return LiveDomains(.success(try LivePlace(environment: environment)), arguments: ["program"] + arguments)
    }

    /// Writes a file as another program would.
    package func write(_ values: DomainValues, to path: String) throws {
        try RawFile.replace(path, with: try PropertyListValue.dictionary(values).write(as: .xml))
    }

    /// What a file holds.
    package func read(_ path: String) throws -> DomainValues {
        guard case .dictionary(let values) = try PropertyListValue(parsing: try RawFile.read(path)) else { return [:] }
        return values
    }
}
