import ArgumentParser
import CPeers
import DefaultsKit
import Foundation
import Glibc

/// A process that follows a key: it prints "ready", and then the age of each new value.
struct FollowKey: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "follow-key", shouldDisplay: false)
    static let key = "time"
    static let path = "/org/example/bench/time"

    enum Kind: String, ExpressibleByArgument {
        case defaultsd, dconf, redis
    }

    @Argument var kind: Kind
    @Argument var place: String
    @Option var domain = BenchEnvironment.domain

    func run() throws {
        // This process exits when its parent does.
        Thread.detachNewThread {
            while readLine() != nil {}
            Glibc.exit(0)
        }
        switch kind {
        case .defaultsd:
            guard let defaults = DefaultsKit.UserDefaults(suiteName: domain) else { return }
            let end = DispatchSemaphore(value: 0)
            Task {
                let key = DefaultsKey<Int>(Self.key, default: 0)
                for await time in defaults.updates(of: key) { Self.tell(Int64(time)) }
                end.signal()
            }
            end.wait()
        case .dconf:
            guard peer_dconf_open() else { return }
            peer_dconf_follow(Self.path) { FollowKey.tell($0) }
        case .redis:
            // Runs until the server exits.
            try? Redis.follow(Self.key, at: place) { FollowKey.tell(Int64($0) ?? 0) }
        }
    }

    private static func tell(_ time: Int64) {
        let now = Stopwatch.now
        ChildLines.say(time == 0 ? "ready" : "\(now - Double(time) / 1e9)")
    }
}
