package import DefaultsCore
import Glibc
import Linux

/// The location of a process's preferences: its directories and the agent's socket.
package struct Location: Sendable {
    package var directory: PreferencesDirectory
    /// The agent's socket, or the reason why there can be no agent, in which case the files are used directly.
    package var address: Result<AgentAddress, DefaultsError>
    package var system: SystemDirectories

    /// Creates the location that the environment specifies.
    package init(environment: Environment) throws(DefaultsError) {
        let directory = try PreferencesDirectory(environment: environment)
        self.directory = directory
        address = Result { () throws(DefaultsError) in try AgentAddress(for: directory, environment: environment) }
        system = SystemDirectories(environment: environment)
    }
}

/// The suites outside the preferences directory, whose files programs name by absolute path.
///
/// Each directory of such files has its own `Client`, without an agent. It exists, and has a thread, while it is in use
/// or has unsaved edits.
package enum FileSuites {
    private struct Entry {
        weak var client: Client?
        /// The client, if it has values that exist only in this process, or no thread could be started for it.
        var retained: Client?
    }

    private struct Entries {
        var byPath: [String: Entry] = [:]
        /// The number of entries above which those without a client are removed.
        var limit = 16

        mutating func add(_ client: Client, at path: String) {
            if byPath.count >= limit {
                byPath = byPath.filter { $0.value.client != nil }
                limit = 2 * byPath.count + 16
            }
            byPath[path] = Entry(client: client)
        }
    }

    /// The clients, by directory path; nothing is called under the lock.
    private static let all = ForkSafeMutex(Entries())

    /// Returns the client of a directory's files, which is created on first use.
    package static func client(of directory: PreferencesDirectory) -> Client {
        if let known = all.withLock({ $0.byPath[directory.path]?.client }) { return known }
        // The process's own client hands over these edits at exit, so it must exist.
        _ = Client.shared
        let new = Client(
            .success(Location(filesIn: directory)), arguments: CommandLine.arguments, endsWhenUnused: true)
        return all.withLock { all in
            if let known = all.byPath[directory.path]?.client { return known }
            all.add(new, at: directory.path)
            return new
        }
    }

    /// Retains a client until the process ends if it is one of a directory's files.
    static func retain(_ client: Client) {
        guard client.endsWhenUnused, case .success(let location) = client.location else { return }
        all.withLock { all in
            let path = location.directory.path
            if all.byPath[path]?.client === client { all.byPath[path]?.retained = client }
        }
    }

    /// Waits until all edits are certain to outlive the process.
    static func handOver() {
        for client in all.withLock({ $0.byPath.values.compactMap(\.client) }) { client.handOver() }
    }
}

extension Location {
    /// Creates the location of files that are named by path: a directory without an agent and without the system's
    /// layers.
    fileprivate init(filesIn directory: PreferencesDirectory) {
        self.directory = directory
        address = .failure(
            DefaultsError(.agentUnavailable, "No agent serves files that are named by path.", errno: ENOENT))
        system = .none
    }
}

extension Client {
    /// Returns the domain name and client that a suite's name stands for: this client, or for an absolute path, the
    /// client of that file's directory.
    ///
    /// - Throws: `invalidDomainName` for the argument and registration domains, which aren't stored in files.
    package func suite(named text: String) throws(DefaultsError) -> (client: Client, name: DomainName) {
        let name = try DomainName(ofFile: text)
        guard Path.isAbsolute(text), !isInMemory, case .success(let own) = location else { return (self, name) }
        let path = text.hasSuffix(".plist") ? text : text + ".plist"
        guard !text.utf8.contains(0), let file = own.directory.domain(at: path), file.domain.host == .any else {
            ProblemHandler.report(
                Problem(
                    .name,
                    describedBy:
                        "The file \(text) can't be used for preferences, so its values are kept in the domain \(name). "
                        + "Name a file that isn't hidden, with at most 200 bytes in its name."))
            return (self, name)
        }
        return (file.elsewhere.map(FileSuites.client) ?? self, file.domain.name)
    }
}
