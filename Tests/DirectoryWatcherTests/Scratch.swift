import DirectoryWatcher
import Foundation
import Synchronization
import TestSupport
import Testing

/// The tests that start a watcher; they run one at a time because a process can have only one.
@Suite("The directory watcher", .serialized)
struct WatcherTests {}

/// Whether the watcher uses libinotifytools, which the trait `RawInotify` replaces.
#if RawInotify
let usesLibrary = false
#else
let usesLibrary = true
#endif

/// A directory for a single test, removed when the test ends.
///
/// It isn't under /tmp, where vim keeps no backups and so saves differently.
final class Scratch: Sendable {
    /// The scratch directory; the watched directory is `preferences` in it.
    let path: String
    var preferences: String { path + "/preferences" }

    init(withPreferences: Bool = true) throws {
        var template = Array("/var/tmp/watcher-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        path = String(cString: made)
        if withPreferences {
            try FileManager.default.createDirectory(
                atPath: preferences + "/ByHost", withIntermediateDirectories: true)
            try write("old", to: "a.plist")
            try write("other", to: "other", above: true)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file in place, like a shell's `>`, in the preferences directory or in the scratch directory.
    func write(_ text: String, to name: String, above: Bool = false) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: (above ? path : preferences) + "/" + name))
    }

    /// Runs a shell script in the preferences directory or in the scratch directory.
    func sh(_ script: String, above: Bool = false) throws {
        let outcome = try Programs.shell(script, in: above ? path : preferences)
        #expect(outcome.status == 0, "\(script): \(outcome.errors)")
    }

    /// Runs a shell script that may fail in the preferences directory, and returns its exit status.
    func status(of script: String) throws -> Int32 { try Programs.shell(script, in: preferences).status }

    /// Returns a configuration like the agent's; its timers don't fire during a test unless the test sets them.
    func configuration(polling: DirectoryWatcher.PollingChoice = .automatic) -> DirectoryWatcher.Configuration {
        DirectoryWatcher.Configuration(
            directory: preferences, subdirectories: ["ByHost"], polling: polling,
            identityCheckInterval: .seconds(3600), pollInterval: .seconds(3600), rearmInterval: .zero,
            retryInterval: .seconds(3600), isRelevant: isDomain)
    }
}

/// The agent's rule, simplified: property lists that aren't hidden.
let isDomain: @Sendable (String) -> Bool = { name in
    name.hasSuffix(".plist") && !(name.split(separator: "/").last ?? "").hasPrefix(".")
}

/// Runs a closure with a watcher, and then releases the watcher.
func watching(
    _ configuration: DirectoryWatcher.Configuration, _ body: (DirectoryWatcher) async throws -> Void
) async throws {
    try await body(DirectoryWatcher(configuration))
}

extension DirectoryWatcher {
    /// Reads the watcher and checks the paths.
    func taken() -> DirtyNames { read(checkingPaths: true) }

    /// Reads until nothing new arrives: a poll reports a change again if it was made just before the poll.
    func settle() throws {
        let deadline = ContinuousClock.now + timeout
        while !taken().isEmpty { try #require(ContinuousClock.now < deadline, "Something still changes") }
    }

    /// Waits, as the watcher's owner does, until the names read since the call are enough.
    func gather(until isEnough: (DirtyNames) -> Bool) throws -> DirtyNames {
        var gathered = DirtyNames()
        let deadline = ContinuousClock.now + timeout
        while true {
            let names = read()
            gathered = DirtyNames(
                changed: gathered.changed.union(names.changed),
                beingWritten: gathered.beingWritten.union(names.beingWritten),
                rescan: gathered.rescan ?? names.rescan)
            if isEnough(gathered) { return gathered }
            let left = min(timeUntilNextRead, deadline - .now)
            try #require(
                ContinuousClock.now < deadline,
                "The expected names didn't arrive; read: \(gathered), status: \(status)")
            waitForEvents(atMost: left)
        }
    }

    /// Waits until events are queued, or a time has passed.
    func waitForEvents(atMost time: Duration) {
        var inotify = pollfd(fd: descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        poll(&inotify, 1, Int32(max(0, (time / .milliseconds(1)).rounded(.up))))
    }
}

/// The time limit for something that must happen.
private let timeout = Duration.seconds(300)

/// Returns the targets of those of this process's descriptors that the watcher may have opened.
///
/// Other tests open such descriptors too, so a test that compares them runs in its own process.
func openFiles(below path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        .filter { $0.contains("inotify") || $0.contains("eventfd") || $0.hasPrefix(path) }
        .sorted()
}
