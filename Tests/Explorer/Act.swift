import DefaultsClient
import DefaultsCore
import Glibc
import ProgramSupport
import PropertyList
import TestSupport

/// An act of another program, as a whole, while the subject is stopped before a call.
enum Act: String, CaseIterable {
    /// Nothing: the subject is only slow.
    case nothing
    /// An editor replaces the file.
    case replace
    /// A script writes the file in place.
    case rewrite
    /// A failing program leaves the file empty.
    case truncate
    /// The user removes the file.
    case remove
    /// The user moves the file elsewhere, and leaves a link.
    case symbolicLink = "symbolic-link"
    /// The user gives the file a second name.
    case hardLink = "hard-link"
    /// The user changes the file's permissions.
    case chmod
    /// The user replaces the directory by a copy of itself.
    case remake
    /// A command sets another key.
    case command
    /// A program that can't reach the agent, as in another container, sets another key.
    case store
    /// Another agent starts.
    case agent
    /// The subject is killed.
    case kill
    /// A program touches the file.
    case touch
    /// A program writes the file's own bytes in place.
    case resave
    /// An editor that changes nothing, or `git checkout`, replaces the file by a copy of itself.
    case copy
    /// The version before the work is restored.
    case restore
    /// A program that holds the values from before the work adds a key, and the next time removes it.
    case toggle

    /// The acts while the subject is stopped.
    static let whileStopped = allCases.filter { ![.restore, .toggle].contains($0) }
    /// The acts after each crash.
    static let afterCrash: [Act] = [.nothing, .replace, .touch, .resave, .copy, .restore, .toggle]

    /// Whether the act removes or replaces the file that programs have open.
    var replacesFile: Bool { [.replace, .remove, .remake, .command, .store, .truncate, .copy].contains(self) }

    /// Whether the act opens the file for writing, which waits for the lease of the subject.
    var awaitsLease: Bool { [.rewrite, .truncate, .resave].contains(self) }

    /// Performs the act on the file at a path, while the subject is stopped, or after a crash.
    func perform(_ trial: Trial, on path: String, crash: Int = 1) throws {
        if replacesFile { trial.markReplaced() }
        switch self {
        case .nothing: break
        case .replace: try trial.writeForeign(in: path, as: .renamed, ["foreign": .string("replaced \(crash)")])
        case .rewrite:
            // A program that has the file open writes it as it was, and one that writes it in place doesn't notice.
            let isCertain = !["open-writer", "excluded-writer", "short-log", "hard-link"].contains(trial.scenario.name)
            if !isCertain { trial.forgetFragments() }
            try trial.writeForeign(in: trial.path, as: .inPlace, ["foreign": "rewritten"], isCertain: isCertain)
        case .truncate:
            guard RawFile.exists(trial.path) else { return }
            // An unread earlier write by another program is gone.
            if trial.scenario.isForeign { trial.doubt() }
            trial.markDamaged()
            trial.recordLoss(isCertain: false) { Glibc.truncate(trial.path, 0) }
        case .remove: trial.recordLoss(isCertain: true) { unlink(trial.path) }
        case .symbolicLink:
            guard RawFile.exists(trial.path) else { return }
            mkdir(trial.elsewhere, 0o700)
            let real = trial.elsewhere + "/moved.plist"
            guard rename(trial.path, real) == 0, symlink(real, trial.path) == 0 else {
                throw TestSystemError("symlink")
            }
        case .hardLink:
            mkdir(trial.elsewhere, 0o700)
            link(trial.path, trial.elsewhere + "/other.plist")
        case .chmod: if Glibc.chmod(trial.path, 0o644) == 0 { trial.expectMode(0o644) }
        case .remake: try trial.remakeDirectory()
        case .command: trial.writeAside("other", in: trial.environmentOfOthers)
        case .store: trial.writeAside("stored", in: trial.place.environment.merging(["DEFAULTS_NO_AGENT": "1"]) { $1 })
        case .agent: try trial.startOtherAgent()
        case .kill: trial.killSubject()
        case .touch: utimensat(AT_FDCWD, path, nil, 0)
        case .resave: if RawFile.exists(path) { try RawFile.write(RawFile.read(path), to: path) }
        case .copy: if RawFile.exists(path) { try trial.replace(path, with: RawFile.read(path)) }
        case .restore: try trial.restore(path)
        case .toggle: try trial.restore(path, adding: crash == 1 ? ["toggled": "on"] : [:], certainly: ["toggled"])
        }
    }
}
