import CExplorer
import Glibc
import TestSupport

/// The counter of a program's calls, and what happens at one of them.
///
/// The library `intervention.c` does this inside the program, which is otherwise the one that users run.
final class Intervention {
    /// The effect at a call.
    enum Effect: Hashable {
        /// The calls are recorded.
        case record
        /// The process stops before the call.
        case stop
        /// The process is killed before the call.
        case kill
        /// The call fails with an error number; so do all later ones with the same name, if `always`.
        case fail(Int32, always: Bool)
    }

    /// The path of the compiled library; unsafe because the program sets it once, before its first thread.
    nonisolated(unsafe) static var library = ""

    private let page: UnsafeMutablePointer<explorer_page>
    private let pagePath: String
    /// The file with the records.
    let recordPath: String
    /// The directory whose files' calls count.
    private let root: String
    /// A file that takes the place of the system's boot ID.
    let bootPath: String
    /// A file with the former status of files that were restored.
    let restoredPath: String

    /// Creates a counter whose files are in one directory, for a program whose files are in another.
    init(in directory: String, root: String) throws {
        pagePath = directory + "/page"
        recordPath = directory + "/records"
        bootPath = directory + "/boot"
        restoredPath = directory + "/restored"
        self.root = root
        guard let page = explorer_map(pagePath) else { throw TestSystemError("map \(pagePath)") }
        self.page = page
    }

    deinit { explorer_unmap(page) }

    /// Returns the command prefix that runs a program with the library.
    func launcher(records: Bool = false) -> [String] {
        let variables =
            [
                "LD_PRELOAD=\(Self.library)", "EXPLORER_PAGE=\(pagePath)", "EXPLORER_ROOT=\(root)",
            ] + (records ? ["EXPLORER_RECORD=\(recordPath)"] : [])
            + (RawFile.exists(bootPath) ? ["EXPLORER_BOOT=\(bootPath)"] : [])
            + (RawFile.exists(restoredPath) ? ["EXPLORER_RESTORED=\(restoredPath)"] : [])
        return ["/usr/bin/env"] + variables
    }

    /// Begins to count calls, the first of which is 1: all, or those with a name and a path.
    func arm(_ effect: Effect, at number: Int = 0, of call: (name: String, path: String) = ("", "")) {
        let (mode, error): (explorer_mode, Int32) =
            switch effect {
            case .record: (explorer_record, 0)
            case .stop: (explorer_stop, 0)
            case .kill: (explorer_kill, 0)
            case .fail(let error, let always): (always ? explorer_fail_always : explorer_fail, error)
            }
        explorer_arm(page, UInt32(mode.rawValue), UInt32(number), error, call.name, call.path)
    }

    /// Lets all calls succeed from now on.
    func disarm() { explorer_disarm(page) }

    /// The number of calls so far.
    var count: Int { Int(explorer_count(page)) }
    var hasHappened: Bool { explorer_has_happened(page) }
    /// The call at which it happened: its name and its path.
    var call: String { "\(String(cString: explorer_call(page))) \(String(cString: explorer_path(page)))" }
    /// The process to which it happened.
    var process: pid_t { explorer_process(page) }
}
