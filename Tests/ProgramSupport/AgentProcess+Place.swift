package import DefaultsClient
import DefaultsCore
import Glibc
import TestSupport

extension AgentProcess {
    /// The directories of a test: for the preferences, for the socket, and for the system's preferences.
    ///
    /// The system's directories don't exist unless the test creates them. All directories are removed after the test.
    package struct Place: Sendable {
        package let preferences: String
        package let runtime: String
        /// Whether the programs get the directory in `DEFAULTS_DIRECTORY`, rather than finding it at the usual path.
        package var isExplicit: Bool

        /// The state directory, if it isn't in the test's own.
        private let otherState: String?

        package init(preferences: String, runtime: String, state: String? = nil, isExplicit: Bool = true) {
            otherState = state
            self.preferences = preferences
            self.runtime = runtime
            self.isExplicit = isExplicit
        }

        /// Creates the directories in another.
        package init(in root: String) throws {
            self.init(preferences: root + "/p", runtime: root + "/r")
            for path in [preferences, runtime] where mkdir(path, 0o700) != 0 { throw TestSystemError("mkdir \(path)") }
        }

        package var socket: String { runtime + "/socket" }
        /// The test's own directory, which contains the others.
        package var root: String { String(preferences[..<(preferences.lastIndex(of: "/") ?? preferences.endIndex)]) }
        package var state: String { otherState ?? root + "/state" }
        package var system: String { root + "/system" }
        package var managed: String { root + "/managed" }
        /// The directory for data that belongs to programs, such as manifests.
        package var data: String { root + (isExplicit ? "/data" : "/.local/share") }
        /// The user's directory of manifests, which doesn't exist by default.
        package var manifests: String { data + "/defaultsd/manifests" }
        /// The environment that makes the programs, and Foundation, use these directories.
        package var environment: [String: String] {
            [
                "DEFAULTS_DIRECTORY": isExplicit ? preferences : "", "DEFAULTSD_SOCKET": socket,
                "XDG_CONFIG_HOME": preferences,
                "XDG_RUNTIME_DIR": runtime, "XDG_STATE_HOME": state, "DEFAULTS_SYSTEM_DIRECTORIES": system,
                "DEFAULTS_MANAGED_DIRECTORY": managed, "XDG_DATA_HOME": data,
            ]
        }

        /// Returns the path of the change log file.
        package func log(at socket: String? = nil) throws -> String {
            let directory = PreferencesDirectory(path: preferences)
            let environment = Environment(environment)
            let address = try AgentAddress(option: socket ?? self.socket, for: directory, environment: environment)
            return LogLocation(for: directory, socketAt: address.socketPath, environment: environment).log
        }

        /// The names in the preferences directory, except those that begin with ".defaultsd.": the agent's claim, the
        /// lock, and displaced files.
        package var files: [String] { namesOfFiles(in: preferences).filter { !$0.hasPrefix(".defaultsd.") } }

        /// The hidden names of versions that are being saved or were just displaced.
        package var hiddenVersions: [String] {
            namesOfFiles(in: preferences).filter {
                $0.hasPrefix(".defaultsd.") && ![".defaultsd.agent", ".defaultsd.lock"].contains($0)
            }
        }

        /// Opens a connection to the agent.
        package func connect() throws -> AgentConnection {
            let environment = Environment(environment)
            let directory = try PreferencesDirectory(environment: environment)
            let address = try AgentAddress(for: directory, environment: environment)
            guard let connection = try AgentConnection.open(address, for: directory) else {
                throw AgentFailure(description: "No agent responded.")
            }
            return connection
        }

        package func path(_ domain: String) -> String { "\(preferences)/\(domain).plist" }

        /// Installs a manifest, given its keys in old-style text.
        ///
        /// - Parameters:
        ///   - domain: The name of the domain.
        ///   - keys: The keys.
        ///   - rest: Further entries of the manifest.
        ///   - directory: The directory; `nil` for the user's.
        /// - Throws: If a directory or the file can't be written.
        package func describe(
            _ domain: String, with keys: String, _ rest: String = "", in directory: String? = nil
        ) throws {
            let directory = directory ?? manifests
            var path = ""
            for part in directory.split(separator: "/") {
                path += "/\(part)"
                if !RawFile.exists(path) { try RawFile.makeDirectory(path) }
            }
            try RawFile.replace(
                "\(directory)/\(domain).plist", with: Array("{ \(rest) pfm_subkeys = (\(keys)); }".utf8))
        }

        /// Gives both directories to "nobody" in a way that lets root use them too.
        package func giveToNobody() throws {
            guard chown(preferences, 65_534, 65_534) == 0, chmod(preferences + "/..", 0o755) == 0,
                chmod(runtime, 0o1777) == 0
            else {
                throw TestSystemError("chown \(preferences)")
            }
        }
    }
}
