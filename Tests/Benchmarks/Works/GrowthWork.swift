import DefaultsCore
import Foundation
import Glibc
import PropertyList

/// The effect of a domain's size, and of the number of domains, on the cost of a change.
///
/// Measures the time from a set in one process to the new value in another, in a domain with many keys and among many
/// domains, compared with small numbers of both. Also measures the time until one key of a large file is durable,
/// compared with the time to read that file.
struct GrowthWork {
    private let place: BenchEnvironment

    init(_ place: BenchEnvironment) { self.place = place }

    func works(isQuick: Bool) throws -> [Work] {
        let rounds = isQuick ? 5 : 20
        let small = try Pair(domains: 10, keys: 20, at: place)
        let sizes = try (isQuick ? [1_000] : [1_000, 100_000]).map { keys in
            let large = try Pair(domains: 10, keys: keys, at: place)
            return change("a key of \(keys) changes", in: large, beside: small, rounds)
        }
        let large = isQuick ? 10_000 : 100_000
        let saved = Work(
            name: "a key of \(large) is set and synchronized", unit: .milliseconds, rounds: isQuick ? 2 : rounds,
            contenders: [
                .ours { [place] in
                    let pair = try Pair(domains: 1, keys: large, at: place)
                    return { try pair.durableTimes() }
                },
                .limit("its file read", goal: 1) { [place] in
                    let directory = try DomainFiles.make(1, keys: large, at: place)
                    let path = "\(directory)/\(DomainFiles.name(0)).plist"
                    return {
                        try Stopwatch.times(3) { _ in
                            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
                            _ = try PropertyListDocument(reading: bytes, limits: .domainFile)
                        }
                    }
                },
            ])
        let numbers = try (isQuick ? [1_000] : [1_000, 10_000]).flatMap { domains in
            let large = try Pair(domains: domains, keys: 20, at: place)
            let durable = Work(
                name: "a key is set and synchronized, among \(domains) domains", unit: .milliseconds, rounds: rounds,
                contenders: [
                    .ours { { try large.durableTimes() } },
                    .limit("10 domains", goal: 2) { { try small.durableTimes() } },
                ])
            return [change("a key changes, among \(domains) domains", in: large, beside: small, rounds), durable]
        }
        return sizes + [saved] + numbers
    }

    private func change(_ name: String, in large: Pair, beside small: Pair, _ rounds: Int) -> Work {
        Work(
            name: name, unit: .microseconds, rounds: rounds,
            contenders: [
                .ours { { try large.times() } }, .limit("20 keys, 10 domains", goal: 2) { { try small.times() } },
            ])
    }

    /// An agent with its own directory, a process that sets a key, and one that follows it.
    private final class Pair {
        private let agent: AgentChild
        private let setter: ChildLines
        private let follower: ChildLines

        /// Starts the agent and both processes.
        ///
        /// The first domain, which contains the key, has `keys` keys, and the other domains have twenty each.
        init(domains: Int, keys: Int, at place: BenchEnvironment) throws {
            var environment = place.environment
            environment["DEFAULTS_DIRECTORY"] = try DomainFiles.make(domains, keys: keys, at: place)
            agent = try AgentChild(environment: environment)
            follower = try ChildLines(
                "defaults-bench", ["follow-key", "defaultsd", place.path, "--domain", DomainFiles.name(0)],
                environment: environment)
            setter = try ChildLines("defaults-bench", ["set-key", DomainFiles.name(0)], environment: environment)
            for child in [follower, setter] where child.line(within: 10_000) == nil {
                throw BenchFailure("A process didn't become ready.")
            }
        }

        /// Returns the age of each value when the follower receives it.
        func times() throws -> [Double] { try times("set", from: follower) }

        /// Returns the time that the setter waits for each value to be on disk.
        func durableTimes() throws -> [Double] { try times("save", from: setter) }

        private func times(_ request: String, from child: ChildLines) throws -> [Double] {
            try (0..<10).map { _ in
                usleep(.random(in: 2_000...8_000))
                try setter.send(request)
                // The follower prints a line for both requests.
                let age = follower.line(within: 10_000)
                let line = child === follower ? age : child.line(within: 10_000)
                guard let seconds = line.flatMap({ Double($0) }) else {
                    throw BenchFailure("A process doesn't respond, or couldn't save.")
                }
                return seconds
            }
        }
    }
}
