import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import PropertyList

/// The CPU time that a server needs to deliver a change to each of many subscribers.
///
/// The subscribers read as fast as they can and look only for the last message. Our changes are set, logged, saved to
/// the file, and published with the old and the new value; the peers merely pass messages on.
struct FanOutWork {
    private let place: BenchEnvironment

    init(_ place: BenchEnvironment) throws {
        self.place = place
        try place.startAgent()
    }

    func works(isQuick: Bool) throws -> [Work] {
        let sizes = isQuick ? [(10, 2_000), (100, 200)] : [(10, 10_000), (100, 1_000), (1_000, 100)]
        return sizes.map { subscribers, changes in
            Work(
                name: "\(changes) changes to \(subscribers) subscribers (server's time on a core, each)",
                unit: .microseconds, rounds: isQuick ? 3 : 10,
                contenders: [
                    .ours {
                        let receivers = Receivers(try (0..<subscribers).map { _ in try Self.subscribe(place) })
                        let editor = try AgentChild.connect(place.environment)
                        let domain = Domain(try DomainName(BenchEnvironment.domain))
                        var sent = 0
                        return round(of: place.agentNumber, receivers, changes) { text in
                            let edit = EditRequest(
                                domain: domain, values: ["text": .string(text)], writer: .app(.current))
                            try editor.send(.edit(edit))
                            sent += 1
                            // This call also receives the pending answers.
                            if sent.isMultiple(of: 200) { _ = try editor.domains() }
                        } afterwards: {
                            _ = try editor.barrier()
                        }
                    },
                    .peer("Redis pub/sub", package: "redis-server", goal: subscribers == 10 ? 0.25 : 1) {
                        guard let redis = try Redis(in: place) else { return nil }
                        let receivers = Receivers(
                            try (0..<subscribers).map { _ in
                                let socket = try PeerSocket(path: Redis.socket(at: place.path))
                                try socket.send("SUBSCRIBE bench\r\n")
                                _ = try socket.receive()
                                return socket
                            })
                        return round(of: redis.server.pid, receivers, changes) { text in
                            try redis.send(text, to: "bench")
                        } afterwards: {
                            try redis.takeAnswers(changes)
                        }
                    },
                    .peer("dbus-daemon", package: "dbus-daemon", goal: 1) {
                        guard try place.startBus() else { return nil }
                        let bus = try DBus(path: place.busPath)
                        let receivers = Receivers(
                            try (0..<subscribers).map { _ in
                                let subscriber = try DBus(path: place.busPath)
                                try subscriber.subscribe()
                                return subscriber.socket
                            })
                        return round(of: place.busNumber, receivers, changes) { text in
                            try bus.signal(text)
                        } afterwards: {
                            try bus.synchronize()
                        }
                    },
                    .peer("NATS", package: "nats-server", goal: 1) {
                        guard let nats = try NATS(in: place) else { return nil }
                        let receivers = Receivers(try (0..<subscribers).map { _ in try nats.subscribe("bench") })
                        return round(of: nats.server.pid, receivers, changes) { text in
                            try nats.publish(text, to: "bench")
                        } afterwards: {
                        }
                    },
                ])
        }
    }

    private static func subscribe(_ place: BenchEnvironment) throws -> PeerSocket {
        let environment = Environment(place.environment)
        let directory = try PreferencesDirectory(environment: environment)
        let socket = try PeerSocket(path: try AgentAddress(for: directory, environment: environment).socketPath)
        let filter = SubscriptionFilter(domains: [GlobPattern.exactly(BenchEnvironment.domain)])
        let requests = [
            Request.hello(versions: Request.protocolVersions, client: "bench", version: nil),
            .subscribe(.now, filter, .everything),
        ]
        for (index, request) in requests.enumerated() {
            try socket.send(Frame.encode(NumberedRequest(number: UInt64(index + 1), request: request).fields))
            _ = try socket.receive()
        }
        return socket
    }

    private func round(
        of server: pid_t, _ receivers: Receivers, _ changes: Int, _ publish: @escaping (String) throws -> Void,
        afterwards: @escaping () throws -> Void
    ) -> Contender.Round {
        {
            let before = try Self.processorTime(of: server)
            let end = "end \(UUID().uuidString)"
            receivers.await(end)
            for number in 0..<(changes - 1) { try publish("change\(number)") }
            try publish(end)
            try afterwards()
            try receivers.wait()
            return [(try Self.processorTime(of: server) - before) / Double(changes * receivers.count)]
        }
    }

    /// Returns the seconds that a process's threads have spent on a core.
    private static func processorTime(of process: pid_t) throws -> Double {
        let tasks = "/proc/\(process)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).reduce(0) { sum, task in
            // The time is in nanoseconds. A thread may have exited in the meantime.
            let text = (try? String(contentsOfFile: "\(tasks)/\(task)/schedstat", encoding: .utf8)) ?? ""
            return sum + (text.split(separator: " ").first.flatMap { Double($0) } ?? 0) / 1e9
        }
    }
}
