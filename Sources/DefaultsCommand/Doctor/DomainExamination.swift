import DefaultsCore
import Glibc
import Linux

/// A domain whose file can't be used.
enum DamagedDomain {
    /// Returns the finding for a domain's error.
    static func finding(
        of domain: Domain, for error: DefaultsError, agentRuns: Bool, path: String? = nil
    ) -> Finding {
        let isOwn = domain.user == .current
        let remedy =
            if error.errno == EACCES, let path {
                unreadable(path, isOwn: isOwn)
            } else if agentRuns, isOwn {
                "Correct the file. Until then, the agent serves the last good values; `defaults export` saves them."
            } else {
                "Correct the file, or restore it from a backup."
            }
        return Finding(.problem, id: "domain-damaged", error: error, remedy: remedy, path: path)
    }

    /// Returns the remedy for a file that may not be read, which depends on its owner.
    private static func unreadable(_ path: String, isOwn: Bool) -> String {
        let file = path.quotedForShell
        guard let status = try? FileStatus(at: path) else { return "Make \(Path.directory(of: path)) readable." }
        if !isOwn { return "Run `sudo chmod o+r \(file)`." }
        return status.isOwn ? "Run `chmod u+r \(file)`." : "Run `sudo chown \(geteuid()) \(file)`."
    }
}

/// The result of reading every domain's file, for when no agent is running to report it.
struct DomainExamination {
    private(set) var findings: [Finding] = []

    /// The time after which the remaining files are skipped.
    private static let limit = Duration.milliseconds(500)

    /// Reads the files of a directory, and of the system's directories.
    init(of directory: PreferencesDirectory, under system: SystemDirectories) {
        let end = ContinuousClock.now + Self.limit
        var rest = 0
        let layers =
            [(DomainUser.current, directory)]
            + system.anyUser.map { (.any(directory: $0), PreferencesDirectory(path: $0)) }
            + [system.managed].compactMap(\.self).map { (.managed, PreferencesDirectory(path: $0)) }
        for (user, layer) in layers {
            let domains = ["", Domain.hostDirectory].flatMap { (try? layer.domains(in: $0, of: user)) ?? [] }.sorted()
            for domain in domains {
                guard ContinuousClock.now < end else {
                    rest += 1
                    continue
                }
                let path = layer.path(of: domain)
                let file = DomainFile(path: path, managedDirectory: user == .managed ? layer.path : nil)
                guard case .unusable(let damage) = file.read(known: nil) else { continue }
                findings.append(
                    DamagedDomain.finding(of: domain, for: damage.error, agentRuns: false, path: path))
            }
        }
        if rest > 0 {
            findings.append(
                Finding(
                    .note, id: "domains-unread",
                    message:
                        "\(rest == 1 ? "1 file was" : "\(rest) files were") not read, because reading every file takes "
                        + "too long.",
                    remedy: "To have all files checked, start an agent: run `defaultsd`."))
        }
    }
}

/// The directories with preferences for all users, whose errors the agent also reports.
enum SystemExamination {
    /// Returns the problems of the directories themselves.
    @FindingList
    static func findings(_ system: SystemDirectories) -> [Finding] {
        for problem in system.problems {
            Finding(
                .warning, id: "system-directory-unreadable", error: problem,
                remedy: "Ask the administrator to make it readable.")
        }
        // Files in the managed directory would be ignored, even if there are none yet.
        if let path = system.managed, let status = try? FileStatus(at: path),
            status.st_uid != 0 || status.st_mode & 0o022 != 0
        {
            let isForeign = status.st_uid != 0
            Finding(
                .warning, id: "managed-directory-untrusted",
                message: "Files in the managed directory \(path) are ignored, because "
                    + (isForeign
                        ? "it belongs to user ID \(status.st_uid), not to root."
                        : "users other than root can write to it."),
                remedy: "Run `sudo \(isForeign ? "chown root" : "chmod go-w") \(path)`.", path: path)
        }
    }
}
