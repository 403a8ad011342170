import CPeers
import DefaultsKit
import Foundation
import Glibc

/// The time from a set in one process to the new value in another process that follows the key.
struct UpdateWork {
    private let place: BenchEnvironment

    init(_ place: BenchEnvironment) throws {
        self.place = place
        try place.startAgent()
    }

    func works(isQuick: Bool) throws -> [Work] {
        [
            Work(
                name: "set in one process: updates(of:) in another", unit: .microseconds, rounds: isQuick ? 5 : 30,
                contenders: [
                    .ours {
                        guard let defaults = DefaultsKit.UserDefaults(suiteName: BenchEnvironment.domain) else {
                            return nil
                        }
                        return try round(.defaultsd) { defaults.set($0, forKey: FollowKey.key) }
                    },
                    .peer("dconf (GSettings)", package: "libdconf1 dconf-service", goal: 1) {
                        guard try place.startBus(), peer_dconf_open() else { return nil }
                        return try round(.dconf) { _ = peer_dconf_set(FollowKey.path, Int64($0)) }
                    },
                    .unmeasured("KConfigWatcher", why: "needs a program built with Qt and libkf5config-dev"),
                    .peer("Redis pub/sub", package: "redis-server", goal: 0.5) {
                        guard let redis = try Redis(in: place) else { return nil }
                        return try round(.redis) { try redis.publish("\($0)", to: FollowKey.key) }
                    },
                ])
        ]
    }

    /// Starts a process that follows the key, and sets the key to the current time repeatedly.
    private func round(_ kind: FollowKey.Kind, _ set: @escaping (Int) throws -> Void) throws -> Contender.Round {
        let follower = try ChildLines(
            "defaults-bench", ["follow-key", kind.rawValue, place.path], environment: place.environment)
        guard follower.line(within: 10_000) != nil else { throw BenchFailure("The follower didn't become ready.") }
        return {
            try (0..<10).map { _ in
                usleep(.random(in: 2_000...8_000))
                try set(Int(Stopwatch.now * 1e9))
                guard let seconds = follower.line(within: 10_000).flatMap({ Double($0) }) else {
                    throw BenchFailure("The follower doesn't respond.")
                }
                return seconds
            }
        }
    }
}
