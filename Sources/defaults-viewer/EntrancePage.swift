#if Viewer
import DefaultsCore
import Glibc
import Linux

/// A file for the user alone that leads the browser to the page.
///
/// Every user sees the arguments of a process, so the browser isn't started with the address, which has the token.
struct EntrancePage {
    private let path: String

    /// Writes the file to the runtime directory.
    init(leadingTo address: String) throws(SystemCall.Failure) {
        let given = Environment.current["XDG_RUNTIME_DIR"]
        let directory = given.map { Path.isAbsolute($0) && access($0, W_OK) == 0 } == true ? given ?? "" : "/tmp"
        Self.removeLeftovers(in: directory)
        path = "\(directory)/\(Self.prefix)\(getpid())-\(Access.secret().prefix(16)).html"
        let file = try FileDescriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        let text = """
            <!doctype html><meta charset="utf-8"><title>Preferences</title>
            <meta http-equiv="refresh" content="0; url=\(address)">
            <p><a href="\(address)">Show your preferences</a></p>

            """
        let bytes = Array(text.utf8)
        _ = try SystemCall.run { write(file.number, bytes, bytes.count) }
    }

    private static let prefix = "defaults-viewer-"

    /// Removes the files of viewers that were killed before a browser came.
    private static func removeLeftovers(in directory: String) {
        guard let listing = try? DirectoryListing(directory) else { return }
        while let entry = try? listing.next() {
            guard let name = entry.name, name.hasPrefix(prefix), name.hasSuffix(".html") else { continue }
            let pid = name.dropFirst(prefix.count).prefix { $0 != "-" }
            if let pid = pid_t(pid), kill(pid, 0) != 0, errno == ESRCH { unlink("\(directory)/\(name)") }
        }
    }

    /// Opens the file in the browser, or says how to.
    func open() {
        let path = path
        let isStarted = DetachedThread.start {
            let child = try? ChildProcess.start(
                "xdg-open", with: ["xdg-open", path], output: STDERR_FILENO, leadsSession: true, inheritsFiles: false)
            if let child, (try? child.waitUntilExit()) == 0 { return }
            advise("No browser can be started.")
        }
        if !isStarted { advise("No browser can be started.") }
    }

    /// Says what has happened, and how to open the page otherwise.
    func advise(_ reason: String) {
        DefaultsViewer.log("\(reason) Open this file in one, or run `defaults view --print-url`: \(path)")
    }

    func remove() { unlink(path) }
}
#endif
