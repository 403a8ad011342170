import Foundation
import Glibc
import PropertyList

/// What else is there, and what a change costs: from a set in one process to the new value in another, in a domain of many
/// keys, and among many domains; beside the same where there is little.
///
/// Saving the file, which takes the longer the larger it is, goes on at its own pace behind it; among many domains it is
/// measured, too.
struct GrowthWork {
    private let place: BenchPlace

    init(_ place: BenchPlace) { self.place = place }

    func works(isQuick: Bool) throws -> [Work] {
        let rounds = isQuick ? 5 : 20
        let small = try Pair(domains: 10, keys: 20, at: place)
        let sizes = (isQuick ? [1_000] : [1_000, 100_000]).map { (10, $0, "a key of \($0) changes") }
        let numbers = (isQuick ? [1_000] : [1_000, 10_000]).map { ($0, 20, "a key changes, among \($0) domains") }
        return try (sizes + numbers).flatMap { domains, keys, name in
            let large = try Pair(domains: domains, keys: keys, at: place)
            let change = Work(
                name: name, unit: .microseconds, rounds: rounds,
                contenders: [
                    .ours { { try large.times() } },
                    .limit("20 keys, 10 domains", goal: 2) { { try small.times() } },
                ])
            if domains == 10 { return [change] }
            let durable = Work(
                name: "\(name) and is saved", unit: .milliseconds, rounds: rounds,
                contenders: [
                    .ours { { try large.durableTimes() } },
                    .limit("10 domains", goal: 2) { { try small.durableTimes() } },
                ])
            return [change, durable]
        }
    }

    /// An agent on a directory of its own, a process that sets a key, and one that follows it.
    private final class Pair {
        private let agent: AgentChild
        private let setter: ChildLines
        private let follower: ChildLines

        /// Starts all three; the first domain, in which the key is, has so many keys, each of the others twenty.
        init(domains: Int, keys: Int, at place: BenchPlace) throws {
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

        func times() throws -> [Double] { try times { try setter.send("set") } }

        /// How long the setter waits until what it has set is on the disk.
        func durableTimes() throws -> [Double] {
            let times = try times { try setter.send("save") }
            return try times.map { _ in
                guard let seconds = setter.line(within: 10_000).flatMap({ Double($0) }) else {
                    throw BenchFailure("The setter is silent.")
                }
                return seconds
            }
        }

        /// How old each value is when the follower has it.
        private func times(_ set: () throws -> Void) throws -> [Double] {
            try (0..<10).map { _ in
                usleep(.random(in: 2_000...8_000))
                try set()
                guard let seconds = follower.line(within: 10_000).flatMap({ Double($0) }) else {
                    throw BenchFailure("The follower is silent.")
                }
                return seconds
            }
        }
    }
}
