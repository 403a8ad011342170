import DirectoryWatcher
import Foundation
import Synchronization
import Testing

/// The tests that start a watcher, of which a process has one at a time.
@Suite(.serialized)
struct WatcherTests {}

/// A directory of a test's own, removed at its end.
///
/// Not under /tmp, where vim keeps no backups and so saves otherwise.
final class Scratch: Sendable {
    /// The scratch directory; what is watched is `preferences` in it.
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

    /// Writes in place, as a shell's `>` does, in the preferences directory, or in the scratch directory.
    func write(_ text: String, to name: String, above: Bool = false) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: (above ? path : preferences) + "/" + name))
    }

    /// Runs a shell script in the preferences directory, or in the scratch directory.
    func sh(_ script: String, above: Bool = false) throws {
        let status = try status(of: script, above: above)
        #expect(status == 0, "\(script)")
    }

    /// Runs a shell script that may fail.
    func status(of script: String, above: Bool = false) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-ec", script]
        process.currentDirectoryURL = URL(fileURLWithPath: above ? path : preferences)
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// A configuration as the agent's, whose timers don't go off in a test unless it sets them.
    func configuration(polling: DirectoryWatcher.PollingChoice = .automatic) -> DirectoryWatcher.Configuration {
        DirectoryWatcher.Configuration(
            directory: preferences, subdirectories: ["ByHost"], polling: polling,
            identityCheckInterval: .seconds(3600), pollInterval: .seconds(3600), rearmInterval: .zero,
            retryInterval: .seconds(3600), isRelevant: isDomain)
    }
}

/// The agent's rule in short: property lists that aren't hidden.
let isDomain: @Sendable (String) -> Bool = { name in
    name.hasSuffix(".plist") && !(name.split(separator: "/").last ?? "").hasPrefix(".")
}

/// Runs a test with a watcher, and stops it.
func watching(
    _ configuration: DirectoryWatcher.Configuration, _ body: (DirectoryWatcher) async throws -> Void
) async throws {
    let watcher = try DirectoryWatcher(configuration)
    defer { watcher.stop() }
    try await body(watcher)
}

extension DirectoryWatcher {
    /// Drains and takes.
    func taken() async -> DirtyNames {
        await drain()
        return take()
    }

    /// Takes until nothing comes any more: a poll reports once more what was changed just before it.
    func settle() async throws {
        try await eventually { await self.taken().isEmpty }
    }

    /// Waits for ticks until what was gathered since the last take is enough.
    func gather(until isEnough: (DirtyNames) -> Bool) async throws -> DirtyNames {
        var gathered = DirtyNames()
        let deadline = ContinuousClock.now + patience
        // The deadline's tick: a test that waits for what doesn't come, fails, and doesn't hang.
        let alarm = Task {
            try await Task.sleep(until: deadline)
            stop()
        }
        defer { alarm.cancel() }
        for await _ in ticks {
            let taken = take()
            gathered = DirtyNames(
                changed: gathered.changed.union(taken.changed),
                beingWritten: gathered.beingWritten.union(taken.beingWritten),
                rescan: gathered.rescan ?? taken.rescan)
            if isEnough(gathered) { return gathered }
        }
        Issue.record("What was waited for didn't come; there was \(gathered), status \(status)")
        throw CancellationError()
    }
}

/// How long something may take that is sure to come.
///
/// On two busy cores, a task that has been woken may wait half a minute for one of the few threads of tasks: the tests beside
/// it wait on those for programs that they run.
private let patience = Duration.seconds(300)

/// Waits until a condition holds.
func eventually(_ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + patience
    while try await !condition() {
        try #require(ContinuousClock.now < deadline, "It didn't happen in \(patience)")
        try await Task.sleep(for: .milliseconds(1))
    }
}

func isInstalled(_ tool: String) -> Bool {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)")
    }
}

/// Where the descriptors of this process lead to, of those that the watcher may have opened.
///
/// Others open such descriptors, too: who compares runs in a process of its own.
func openFiles(below path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        .filter { $0.contains("inotify") || $0.contains("eventfd") || $0.hasPrefix(path) }
        .sorted()
}

/// The watcher's thread in /proc.
func watcherThread() throws -> String {
    try #require(
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").map { "/proc/self/task/\($0)" }.first {
            (try? String(contentsOfFile: $0 + "/comm", encoding: .utf8)) == "watcher\n"
        })
}
