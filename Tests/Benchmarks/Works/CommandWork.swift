import Foundation
import Glibc
import Linux

/// Reading and writing a key with a command, from its start to its exit, as scripts do.
struct CommandWork {
    private let place: BenchEnvironment

    init(_ place: BenchEnvironment) throws {
        self.place = place
        try place.startAgent()
    }

    func works(isQuick: Bool) throws -> [Work] {
        let rounds = isQuick ? 5 : 20
        // A GSettings schema needs a file, and a program that compiles it.
        return [
            Work(
                name: "a command reads a key", unit: .milliseconds, rounds: rounds,
                contenders: [
                    .ours(Self.name) {
                        try run(Self.command, "write", "org.example.command", "key", "a value")
                        return times(Self.command, "read", "org.example.command", "key")
                    },
                    Self.other { times(Self.dynamicCommand, "read", "org.example.command", "key") },
                    .peer("dconf", package: "dconf-cli", goal: 1) {
                        guard try place.startBus(), BenchEnvironment.program("dconf") != nil else { return nil }
                        try run("dconf", "write", "/org/example/command/key", "'a value'")
                        return times("dconf", "read", "/org/example/command/key")
                    },
                    .peer("gsettings", package: "libglib2.0-bin", goal: 1) {
                        guard try place.startBus(), try makeSchema() else { return nil }
                        try run("gsettings", "set", "org.example.command", "key", "a value")
                        return times("gsettings", "get", "org.example.command", "key")
                    },
                    .peer("GNUstep", package: "gnustep-base-runtime", goal: 1) {
                        guard access(Self.gnustep, X_OK) == 0 else { return nil }
                        try run(Self.gnustep, "write", "org.example.command", "key", "value")
                        return times(Self.gnustep, "read", "org.example.command", "key")
                    },
                    .peer("kreadconfig5", package: "libkf5config-bin", goal: 1) {
                        guard BenchEnvironment.program("kreadconfig5") != nil else { return nil }
                        try run("kwriteconfig5", "--file", "bench", "--group", "g", "--key", "key", "a value")
                        return times("kreadconfig5", "--file", "bench", "--group", "g", "--key", "key")
                    },
                    .peer("xfconf-query", package: "xfconf", goal: 1) {
                        guard try place.startBus(), BenchEnvironment.program("xfconf-query") != nil else { return nil }
                        try run("xfconf-query", "-c", "bench", "-p", "/key", "-n", "-t", "string", "-s", "a value")
                        return times("xfconf-query", "-c", "bench", "-p", "/key")
                    },
                    .limit("a program that does nothing") { times("true") },
                ]),
            Work(
                name: "a command writes a key", unit: .milliseconds, rounds: rounds,
                contenders: [
                    .ours(Self.name) { changes(Self.command, "write", "org.example.command", "key") },
                    Self.other { changes(Self.dynamicCommand, "write", "org.example.command", "key") },
                    .peer("dconf", package: "dconf-cli", goal: 1) {
                        guard try place.startBus(), BenchEnvironment.program("dconf") != nil else { return nil }
                        return changes("dconf", "write", "/org/example/command/key")
                    },
                    .peer("gsettings", package: "libglib2.0-bin", goal: 1) {
                        guard try place.startBus(), try makeSchema() else { return nil }
                        return changes("gsettings", "set", "org.example.command", "key")
                    },
                    .peer("GNUstep", package: "gnustep-base-runtime", goal: 1) {
                        guard access(Self.gnustep, X_OK) == 0 else { return nil }
                        return changes(Self.gnustep, "write", "org.example.command", "key")
                    },
                    .peer("kwriteconfig5", package: "libkf5config-bin", goal: 1) {
                        guard BenchEnvironment.program("kwriteconfig5") != nil else { return nil }
                        return changes("kwriteconfig5", "--file", "bench", "--group", "g", "--key", "key")
                    },
                    .peer("xfconf-query", package: "xfconf", goal: 1) {
                        guard try place.startBus(), BenchEnvironment.program("xfconf-query") != nil else { return nil }
                        return changes("xfconf-query", "-c", "bench", "-p", "/key", "-n", "-t", "string", "-s")
                    },
                ]),
        ]
    }

    /// Our command: the static executable that `Config/install` links, if there is one.
    private static var command: String { hasStatic ? staticCommand : dynamicCommand }
    private static var name: String { hasStatic ? "defaults, static" : "defaults" }
    /// Whether there is a static build that isn't older than the other measured programs.
    private static let hasStatic = age(of: staticCommand).map { $0 <= age(of: dynamicCommand) ?? 0 } ?? false
    private static let staticCommand = ".build-release/release/defaults-static"
    private static let dynamicCommand = BenchEnvironment.beside("defaults")

    /// Returns a contender for the other build of our command.
    private static func other(_ begin: @escaping () -> Contender.Round) -> Contender {
        hasStatic
            ? .peer("defaults, dynamic", package: "") { begin() }
            : .unmeasured("defaults, static", why: "Config/install links it; it must not be older than defaultsd")
    }

    /// Returns the age of a file, in seconds.
    private static func age(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? time(nil) - status.st_mtim.tv_sec : nil
    }

    /// GNUstep's command, which has the same name as ours.
    private static let gnustep = "/usr/bin/defaults"

    private func times(_ command: String...) -> Contender.Round {
        { try Stopwatch.times(5) { _ in try run(command) } }
    }

    /// Measures a command with a different last argument each time.
    private func changes(_ command: String...) -> Contender.Round {
        { try Stopwatch.times(5) { _ in try run(command + ["\(Int.random(in: 0..<1_000_000))"]) } }
    }

    private func run(_ command: String...) throws { try run(command) }

    /// Runs a command until it exits, using only system calls to minimize overhead.
    private func run(_ command: [String]) throws {
        let name = command[0]
        let path = name.contains("/") ? name : BenchEnvironment.program(name) ?? name
        let nothing = try FileDescriptor(opening: "/dev/null", O_WRONLY)
        guard try ChildProcess.start(path, with: command, output: nothing.number).waitUntilExit() == 0 else {
            throw BenchFailure("\(command.joined(separator: " ")) failed.")
        }
    }

    private func makeSchema() throws -> Bool {
        let places = ["/usr/lib/x86_64-linux-gnu/glib-2.0/glib-compile-schemas", "/usr/bin/glib-compile-schemas"]
        guard let compiler = places.first(where: { access($0, X_OK) == 0 }),
            BenchEnvironment.program("gsettings") != nil
        else { return false }
        let directory = place.path + "/schemas"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let schema = """
            <schemalist><schema id="org.example.command" path="/org/example/schema/">
            <key name="key" type="s"><default>''</default></key></schema></schemalist>
            """
        try Data(schema.utf8).write(to: URL(fileURLWithPath: directory + "/org.example.gschema.xml"))
        setenv("GSETTINGS_SCHEMA_DIR", directory, 1)
        setenv("GSETTINGS_BACKEND", "dconf", 1)
        try run([compiler, directory])
        return true
    }
}
