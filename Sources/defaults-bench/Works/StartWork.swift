import DefaultsKit
import Foundation
import Glibc
import PropertyList

/// How long an agent takes until it answers, with few files and with many, and its memory at rest.
struct StartWork {
    private let place: BenchPlace

    init(_ place: BenchPlace) { self.place = place }

    func works(isQuick: Bool) throws -> [Work] {
        try (isQuick ? [10, 1_000] : [10, 1_000, 10_000]).flatMap { files in
            let directory = "\(place.path)/\(files)"
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let bytes = Data(
                try PropertyListValue.dictionary(
                    Dictionary(uniqueKeysWithValues: (0..<20).map { ("key\($0)", .integer($0)) })
                ).write(as: .binary))
            for file in 0..<files {
                try bytes.write(to: URL(fileURLWithPath: "\(directory)/org.example.app\(file).plist"))
            }
            var environment = place.environment
            environment["DEFAULTS_DIRECTORY"] = directory
            let variables = environment
            return [
                Work(
                    name: "an agent starts, \(files) files", unit: .milliseconds, rounds: isQuick ? 3 : 10,
                    contenders: [
                        .ours { { [try start(variables).seconds] } },
                        .limit("100 ms", goal: 1) { { [0.1] } },
                    ]),
                Work(
                    name: "an agent's memory at rest, \(files) files", unit: .megabytes, rounds: 3,
                    contenders: [
                        .ours { { [try start(variables).bytes] } },
                        .limit("25 MB", goal: 1) { { [25e6] } },
                    ]),
            ]
        }
    }

    private func start(_ environment: [String: String]) throws -> (seconds: Double, bytes: Double) {
        let begin = Stopwatch.now
        let agent = try ChildLines("defaultsd", ["--log-level", "error"], environment: environment)
        defer { agent.kill() }
        var seconds: Double?
        for _ in 0..<30_000 where seconds == nil {
            if let connection = try? SoakPlace.connect(environment) {
                seconds = Stopwatch.now - begin
                _ = try connection.barrier()
            } else {
                usleep(500)
            }
        }
        guard let seconds else { throw SoakFailure("The agent didn't become ready.") }
        let status = try String(contentsOfFile: "/proc/\(agent.pid)/status", encoding: .utf8)
        let kilobytes =
            status.components(separatedBy: "VmRSS:").last?.split(separator: " ").lazy
            .compactMap { Double($0.trimmingCharacters(in: .whitespaces)) }.first ?? 0
        return (seconds, kilobytes * 1024)
    }
}
