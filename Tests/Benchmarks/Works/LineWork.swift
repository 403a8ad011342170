import Foundation
import Glibc
import PropertyList

/// The time from replacing a file until a program reads the corresponding line from a pipe.
struct LineWork {
    private let place: BenchEnvironment
    /// A separate domain, because in the shared domain the agent would restore the other benchmarks' values.
    private let domain = "\(BenchEnvironment.domain).line"
    private var file: String { "\(place.preferences)/\(domain).plist" }

    init(_ place: BenchEnvironment) throws {
        self.place = place
        try place.startAgent()
    }

    func works(isQuick: Bool) throws -> [Work] {
        [
            Work(
                name: "a file is replaced: a follower's line", unit: .milliseconds, rounds: isQuick ? 5 : 30,
                contenders: [
                    .ours {
                        try replace(file, 0)
                        let tail = try ChildLines(
                            "defaults", ["tail", "--json", domain], environment: place.environment)
                        while let line = tail.line(within: 10_000), !line.contains("bookmark") {}
                        return {
                            try times {
                                try replace(file, $0)
                                guard tail.line(within: 10_000) != nil else {
                                    throw BenchFailure("tail doesn't respond.")
                                }
                            }
                        }
                    },
                    // inotifywait prints only the file's name; the reader must still find out what changed.
                    .peer("inotifywait", package: "inotify-tools", goal: 1 / 1.7, slowGoal: 1 / 2.5) {
                        guard let program = BenchEnvironment.program("inotifywait") else { return nil }
                        let directory = place.path + "/watched"
                        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                        let lines = try ChildLines(at: program, ["-m", "-q", "-e", "moved_to", directory])
                        let path = directory + "/a.plist"
                        // inotifywait doesn't report when it is ready.
                        try replace(path, 0)
                        while lines.line(within: 20) == nil { try replace(path, 0) }
                        while lines.line(within: 100) != nil {}
                        return {
                            try times {
                                try replace(path, $0)
                                guard lines.line(within: 10_000) != nil else {
                                    throw BenchFailure("inotifywait doesn't respond.")
                                }
                            }
                        }
                    },
                    .limit("raw inotify, no other process") {
                        let directory = place.path + "/limit-watched"
                        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                        let inotify = inotify_init1(Int32(IN_CLOEXEC))
                        inotify_add_watch(inotify, directory, UInt32(IN_MOVED_TO))
                        return {
                            try times {
                                try replace(directory + "/a.plist", $0)
                                var buffer = [UInt8](repeating: 0, count: 4096)
                                _ = Glibc.read(inotify, &buffer, buffer.count)
                            }
                        }
                    },
                ])
        ]
    }

    private func times(_ body: (Int) throws -> Void) rethrows -> [Double] {
        try (0..<10).map { _ in
            // Separate the events by irregular intervals.
            usleep(.random(in: 2_000...8_000))
            return try Stopwatch.times(1) { _ in try body(.random(in: 1..<1_000_000)) }[0]
        }
    }

    private func replace(_ path: String, _ number: Int) throws {
        let bytes = try PropertyListValue.dictionary(["number": .integer(Int64(number))]).write(as: .xml)
        let file = open(path + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard write(file, bytes, bytes.count) == bytes.count, close(file) == 0, rename(path + ".new", path) == 0 else {
            throw BenchFailure("Can't write \(path).")
        }
    }
}
