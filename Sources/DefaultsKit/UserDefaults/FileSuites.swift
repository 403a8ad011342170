import DefaultsCore
import Glibc
import Linux

/// The suites in files that programs name by their absolute paths, outside the preferences directory.
///
/// Each directory of such files has a `LiveDomains` of its own, without an agent, for the rest of the process.
enum FileSuites {
    /// The domains by the paths of their directories; nothing is called under its lock.
    private static let all = ForkSafeMutex<[String: LiveDomains]>([:])

    /// The domains of a directory's files.
    static func domains(in directory: PreferencesDirectory) -> LiveDomains {
        if let known = all.withLock({ $0[directory.path] }) { return known }
        // The process's own domains, once made, hand over these edits at exit.
        _ = LiveDomains.shared
        let new = LiveDomains(.success(LivePlace(filesIn: directory)), arguments: CommandLine.arguments)
        return all.withLock { all in
            let domains = all[directory.path] ?? new
            all[directory.path] = domains
            return domains
        }
    }

    /// Whether domains are those of files that were named by their paths.
    static func contains(_ domains: LiveDomains) -> Bool { all.withLock { $0.values.contains { $0 === domains } } }

    /// Waits until all edits outlive the process.
    static func handOver() {
        for domains in all.withLock({ Array($0.values) }) { domains.handOver() }
    }
}

extension LivePlace {
    /// The place of files that were named by their paths: a directory without an agent, and without the system's layers.
    fileprivate init(filesIn directory: PreferencesDirectory) {
        self.directory = directory
        address = .failure(
            DefaultsError(.agentUnavailable, "No agent serves files that are named by their paths.", errno: ENOENT))
        system = .none
    }
}

extension LiveDomains {
    /// Finds the domain that a suite's name means: one of these, or that of the file which an absolute path names.
    ///
    /// - Throws: `invalidDomainName`, for the arguments and the registered defaults, which are in no file.
    func suite(named text: String) throws(DefaultsError) -> (live: LiveDomains, name: DomainName) {
        let name = try DomainName(ofFile: text)
        guard Path.isAbsolute(text), !isInMemory, case .success(let place) = place else { return (self, name) }
        let path = text.hasSuffix(".plist") ? text : text + ".plist"
        guard !text.utf8.contains(0), let file = place.directory.domain(at: path), file.domain.host == .any else {
            ProblemHandler.report(
                DefaultsProblem(
                    .name,
                    describedBy:
                        "The path \(text) can't be a domain's file, so its values are kept in the domain \(name). "
                        + "Name a file that isn't hidden, with at most 200 bytes in its name."))
            return (self, name)
        }
        return (file.elsewhere.map(FileSuites.domains) ?? self, file.domain.name)
    }
}

extension UserDefaults {
    /// Finds the domain that a name means, from wherever this instance's own is; one that is in no file is reported.
    func suite(named text: String) -> (live: LiveDomains, name: DomainName)? {
        do throws(DefaultsError) {
            return try (FileSuites.contains(live) ? .shared : live).suite(named: text)
        } catch {
            ProblemHandler.report(DefaultsProblem(.name, error))
            return nil
        }
    }
}
