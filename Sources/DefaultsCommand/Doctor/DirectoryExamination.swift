import DefaultsCore
import Glibc
import Linux
import PropertyList

/// The current files of a preferences directory: their owners, modes and backup copies.
struct DirectoryExamination {
    let path: String
    /// The findings about the directory itself.
    private(set) var directoryFindings: [Finding] = []
    /// Whether other users can reach files in the directory, judging only by its own mode.
    private var isSearchable = false
    /// The user who should own the files.
    private var owner = geteuid()
    private var unreadable: [String] = []
    private var foreign: [(path: String, owner: uid_t)] = []
    private var writable: [String] = []
    private var readable: [String] = []
    private var backups: [BackupFile.Reason: [String]] = [:]
    private var hidden: [String] = []
    private var copies: [String] = []

    /// Examines a directory and its `ByHost` subdirectory.
    init(_ directory: PreferencesDirectory) {
        path = directory.path
        examine(directory)
        for subdirectory in ["", Domain.hostDirectory] {
            let prefix = subdirectory.isEmpty ? "" : subdirectory + "/"
            let names = Set((try? directory.names(in: subdirectory)) ?? [])
            for name in names.sorted() {
                let file = "\(path)/\(prefix)\(name)"
                if Domain(fileName: prefix + name) != nil {
                    examine(file: file)
                    if CopiedFile.isOne(name, among: names) { copies.append(file) }
                } else if let reason = BackupFile.reason(ofName: name) {
                    backups[reason, default: []].append(file)
                } else if TemporaryName(name: name) != nil {
                    hidden.append(file)
                }
            }
        }
    }

    private mutating func examine(_ directory: PreferencesDirectory) {
        var status = stat()
        if stat(path, &status) != 0, errno == ENOENT, !directory.isExplicit {
            directoryFindings.append(
                Finding(
                    .note, id: "directory-missing", message: "The preferences directory \(path) doesn't exist yet.",
                    remedy: "No action is needed: the first program that saves preferences creates it.", path: path))
            return
        }
        let remedy = "Create it, make it readable, or name another directory with --directory or DEFAULTS_DIRECTORY."
        do throws(DefaultsError) { try directory.checkExistence() } catch {
            directoryFindings.append(
                Finding(.problem, id: "directory-unusable", error: error, remedy: remedy, path: path))
            return
        }
        if let problem = directory.problem {
            directoryFindings.append(
                Finding(.problem, id: "directory-unusable", error: problem, remedy: remedy, path: path))
        }
        if !status.isOwn {
            directoryFindings.append(
                Finding(
                    .problem, id: "directory-foreign",
                    message:
                        "The preferences directory \(path) belongs to user ID \(status.st_uid), "
                        + "not to you (\(geteuid())).",
                    remedy: "Run this command and the agent as that user, or name a directory of your own with "
                        + "--directory.", path: path))
        }
        if status.st_mode & 0o002 != 0, let exposure = directory.exposure {
            directoryFindings.append(
                Finding(
                    .warning, id: "directory-exposed", error: exposure,
                    remedy: "Run `chmod o-w \(path)`.", path: path))
        }
        isSearchable = status.st_mode & 0o001 != 0
        owner = status.st_uid
    }

    private mutating func examine(file: String) {
        // A link that leads nowhere is reported with the damaged domains.
        guard let status = try? FileStatus(at: file), status.isRegular else { return }
        if faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) != 0 {
            unreadable.append(file)
        } else if status.st_uid != owner {
            foreign.append((file, status.st_uid))
        }
        guard isSearchable else { return }
        if status.st_mode & 0o002 != 0 {
            writable.append(file)
        } else if status.st_mode & 0o004 != 0 {
            readable.append(file)
        }
    }

    /// Returns everything that was found.
    ///
    /// An agent that serves the directory keeps hidden versions for a second after each save, so those aren't reported
    /// while one is running.
    func findings(agentRuns: Bool) -> [Finding] {
        var findings = directoryFindings
        findings += list(
            .problem, id: "files-unreadable", of: unreadable, which: "can't be read by you",
            remedy: "Make them readable: run `chmod u+r` on each, or, on files of other users, "
                + "`sudo chown $USER`.")
        let owners = Set(foreign.map(\.owner)).sorted().map { "\($0)" }.joined(separator: ", ")
        findings += list(
            .warning, id: "files-foreign", of: foreign.map(\.path),
            which: "are owned by another user (user ID \(owners))",
            remedy: "To take ownership, run `sudo chown \(owner)` on each.")
        findings += list(
            .warning, id: "files-writable-by-others", of: writable, which: "can be written by other users",
            remedy: "Run `chmod o-w` on each.")
        findings += list(
            .note, id: "files-readable-by-others", of: readable, which: "can be read by other users",
            remedy: "If they hold secrets, run `chmod o-r` on each, or `chmod o-x \(path)`.")
        for (reason, files) in backups.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            findings += list(
                .note, id: "backups-\(reason.rawValue)", of: files, which: "are kept as a backup (\(reason.rawValue))",
                remedy: Self.remedyForCopies)
        }
        findings += list(
            .warning, id: "files-copied", of: copies,
            which: copies.count == 1
                ? "looks like a copy made by a sync tool, a file manager or an editor, but is a domain"
                : "look like copies made by a sync tool, a file manager or an editor, but are domains",
            remedy: Self.remedyForCopies)
        if !agentRuns {
            findings += list(
                .note, id: "saves-interrupted", of: hidden, which: "are left over from an interrupted save",
                remedy: "No action is needed: the next agent or save examines and removes them.")
        }
        return findings
    }

    private static let remedyForCopies =
        "Compare each with its domain, for example with `defaults diff`, and then remove it."

    /// The maximum number of files that a finding names.
    private static let maximumNames = 3

    private func list(
        _ severity: Finding.Severity, id: String, of files: [String], which what: String, remedy: String
    ) -> [Finding] {
        guard let first = files.first else { return [] }
        let names = files.prefix(Self.maximumNames).map { file in
            // The names are relative to the directory in the message.
            String(Substring(file.utf8.dropFirst(path.utf8.count + 1)))
        }
        let more = files.count - names.count
        let list = names.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        let count = files.count.counting("file")
        let what = files.count == 1 && what.hasPrefix("are ") ? "is \(what.dropFirst(4))" : what
        return [
            Finding(
                severity, id: id, message: "\(count) in \(path) \(what): \(list).", remedy: remedy,
                path: files.count == 1 ? first : path)
        ]
    }
}

/// A copy of a domain's file whose name is a domain's, too.
private enum CopiedFile {
    /// Returns whether a file has the name of a conflicting copy, or that of a copy of another file.
    static func isOne(_ file: String, among files: Set<String>) -> Bool {
        let name = file.dropLast(".plist".count)
        func isCopy(of original: Substring) -> Bool { files.contains("\(original).plist") }
        // Syncthing and ownCloud: x.sync-conflict-20260101-120000-ABCDEFG, x_conflict-20260101-120000. Dropbox and
        // Nextcloud: x (conflicted copy 2026-01-01). File managers: x (copy), x (1).
        for mark in [".sync-conflict-", "_conflict-", " ("] {
            guard let start = name.ranges(of: mark).last, mark != " (" || name.last == ")" else { continue }
            return isCopy(of: name[..<start.lowerBound])
        }
        return name.last == "~" && isCopy(of: name.dropLast())
            || name.hasSuffix(" copy") && isCopy(of: name.dropLast(" copy".count))
            || name.hasPrefix("Copy of ") && isCopy(of: name.dropFirst("Copy of ".count))
    }
}
