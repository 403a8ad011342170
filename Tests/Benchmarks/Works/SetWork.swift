import CPeers
import DefaultsFoundation
import DefaultsKit
import Foundation
import Glibc

/// Calling `set`, alone and until the value is durable, with one writer and with eight.
struct SetWork {
    private let place: BenchEnvironment
    private let ours: DefaultsKit.UserDefaults
    private let foundation: Foundation.UserDefaults

    init(_ place: BenchEnvironment) throws {
        self.place = place
        try place.startAgent()
        (ours, foundation) = try BenchEnvironment.openDefaults()
        ours.synchronize()
        guard foundation.synchronize() else { throw BenchFailure("Foundation can't write its file.") }
    }

    func works(isQuick: Bool) throws -> [Work] {
        let rounds = isQuick ? 5 : 30
        let count = 2_000
        return [
            Work(
                name: "set an integer", unit: .nanoseconds, rounds: rounds,
                contenders: [
                    .ours { [ours] in
                        {
                            let samples = Stopwatch.each(of: count) { ours.set($0, forKey: "integer") }
                            ours.synchronize()
                            return samples
                        }
                    },
                    .peer("Foundation", package: "Swift", goal: 15, slowGoal: 10) { [foundation] in
                        {
                            let samples = Stopwatch.each(of: count) { foundation.set($0, forKey: "integer") }
                            _ = foundation.synchronize()
                            return samples
                        }
                    },
                    .peer("dconf", package: "libdconf1 dconf-service", goal: 1) { [place] in
                        guard try place.startBus(), peer_dconf_open() else { return nil }
                        return {
                            let samples = Stopwatch.each(of: count) {
                                _ = peer_dconf_set("/org/example/bench/integer", Int64($0))
                            }
                            peer_dconf_synchronize()
                            return samples
                        }
                    },
                    .peer("GNUstep", package: "libgnustep-base1.28", goal: 1) {
                        guard peer_gnustep_open() else { return nil }
                        return {
                            let samples = Stopwatch.each(of: count) { peer_gnustep_set("integer", $0) }
                            _ = peer_gnustep_synchronize()
                            return samples
                        }
                    },
                ]),
            Work(
                name: "set an integer while didChangeNotification is observed", unit: .nanoseconds, rounds: rounds,
                contenders: [
                    .ours { [ours] in
                        {
                            observed(DefaultsKit.UserDefaults.didChangeNotification) {
                                Stopwatch.each(of: count) { ours.set($0, forKey: "integer") }
                            }
                        }
                    },
                    .peer("Foundation", package: "Swift") { [foundation] in
                        {
                            observed(Foundation.UserDefaults.didChangeNotification) {
                                Stopwatch.each(of: count) { foundation.set($0, forKey: "integer") }
                            }
                        }
                    },
                ]),
            Work(
                name: "set and synchronize", unit: .milliseconds, rounds: rounds,
                contenders: [
                    .ours { [ours] in
                        {
                            Stopwatch.times(10) {
                                ours.set($0, forKey: "durable")
                                ours.synchronize()
                            }
                        }
                    },
                    .peer("Foundation", package: "Swift") { [foundation] in
                        {
                            Stopwatch.times(10) {
                                foundation.set($0, forKey: "durable")
                                _ = foundation.synchronize()
                            }
                        }
                    },
                    .peer("dconf", package: "libdconf1 dconf-service") { [place] in
                        guard try place.startBus(), peer_dconf_open() else { return nil }
                        return {
                            Stopwatch.times(10) {
                                _ = peer_dconf_set("/org/example/bench/durable", Int64($0))
                                peer_dconf_synchronize()
                            }
                        }
                    },
                    .peer("GNUstep", package: "libgnustep-base1.28") {
                        guard peer_gnustep_open() else { return nil }
                        return {
                            Stopwatch.times(10) {
                                peer_gnustep_set("durable", $0)
                                _ = peer_gnustep_synchronize()
                            }
                        }
                    },
                    .limit("write, fsync, rename, fsync", goal: 1.5, replaceDurably),
                ]),
            Work(
                name: "set and synchronize, 8 writers at once (each)", unit: .milliseconds, rounds: rounds,
                contenders: [
                    .ours { [ours] in
                        {
                            let start = Stopwatch.now
                            concurrently(8) { writer in
                                for number in 0..<10 {
                                    ours.set(number, forKey: "writer\(writer)")
                                    ours.synchronize()
                                }
                            }
                            return [(Stopwatch.now - start) / 80]
                        }
                    },
                    .limit("write, fsync, rename, fsync by 1", goal: 0.3, replaceDurably),
                ]),
            Work(
                name: "update, 8 writers at once (each)", unit: .milliseconds, rounds: rounds,
                contenders: [
                    .ours { [ours] in
                        {
                            let start = Stopwatch.now
                            concurrently(8) { writer in
                                let key = DefaultsKey<Int>("updated\(writer)", default: 0)
                                for _ in 0..<10 { _ = try? ours.update(key) { $0 += 1 } }
                            }
                            return [(Stopwatch.now - start) / 80]
                        }
                    },
                    .limit("write, fsync, rename, fsync by 1", replaceDurably),
                ]),
        ]
    }

    /// Does the minimum that a file system requires to replace a file atomically and durably.
    private func replaceDurably() throws -> Contender.Round? {
        let path = place.path + "/limit"
        let file = URL(fileURLWithPath: "\(place.preferences)/\(BenchEnvironment.domain).plist")
        let bytes = [UInt8](try Data(contentsOf: file))
        return { [place] in
            Stopwatch.times(10) { _ in
                let file = open(path + ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
                _ = write(file, bytes, bytes.count)
                fsync(file)
                close(file)
                rename(path + ".new", path)
                let directory = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                fsync(directory)
                close(directory)
            }
        }
    }
}

/// Runs a body while an observer counts a notification, as an app that follows its own settings does.
private func observed<Value>(_ name: Notification.Name, _ body: () -> Value) -> Value {
    nonisolated(unsafe) var count = 0
    let observer = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in count += 1 }
    defer { NotificationCenter.default.removeObserver(observer) }
    return body()
}
