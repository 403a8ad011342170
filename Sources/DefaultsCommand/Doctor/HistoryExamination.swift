import DefaultsCore
import Glibc
import Linux

/// The files in which the agent keeps its change log and the archive of older changes.
struct HistoryExamination {
    private let files: LogLocation
    private let preferences: String

    init(_ directory: PreferencesDirectory, at address: AgentAddress, in environment: Environment) {
        files = LogLocation(for: directory, socketAt: address.socketPath, environment: environment)
        preferences = directory.path
    }

    /// Returns warnings about damaged files, and about a file system that is almost full.
    var findings: [Finding] {
        let damaged = [files.log, files.archive].flatMap { DamagedCopies.paths(of: $0) }
        let unarchived = DamagedCopies.unarchivedPaths(of: files.log)
        return damaged.sorted().map { path in
            Finding(
                .note, id: "history-damaged",
                message: "A file of the history was damaged, or another program replaced or truncated it, as "
                    + "restoring a backup does. What was left is in \(path). Its intact changes "
                    + (unarchived.contains(path)
                        ? "aren't in the history." : "are in the history, unless the agent has reported otherwise."),
                remedy: "If no program did that, check the disk. If you don't need the file, remove it.", path: path)
        } + space
    }

    /// A warning if there is almost no space left, unless the preferences directory is on the same file system, and is
    /// examined anyway.
    private var space: [Finding] {
        let path = Path.directory(of: files.log)
        guard let own = try? FileStatus(at: path), let other = try? FileStatus(at: preferences),
            own.st_dev != other.st_dev
        else { return [] }
        return FreeSpace(path)?.findings(path) ?? []
    }
}
