import CPeers
import DefaultsKit
import Foundation
import PropertyList

/// Reading a key with `string`, `integer` and `bool`, through the whole search list, on one thread and on eight.
struct ReadWork {
    private static let text = "a value of usual length"
    private let place: BenchEnvironment
    private let ours: DefaultsKit.UserDefaults
    private let foundation: Foundation.UserDefaults

    init(_ place: BenchEnvironment) throws {
        self.place = place
        try place.startAgent()
        (ours, foundation) = try BenchEnvironment.openDefaults()
        ours.set(Self.text, forKey: "string")
        ours.set(42, forKey: "integer")
        ours.register(defaults: ["bool": true])
        ours.synchronize()
        foundation.set(Self.text, forKey: "string")
        foundation.set(42, forKey: "integer")
        foundation.register(defaults: ["bool": true])
        guard foundation.synchronize() else { throw BenchFailure("Foundation can't write its file.") }
    }

    func works(isQuick: Bool) throws -> [Work] {
        let rounds = isQuick ? 5 : 30
        return [
            Work(
                name: "read a string, own domain, 1 thread", unit: .nanoseconds, rounds: rounds,
                contenders: contenders(
                    { [ours] in ours.string(forKey: "string")?.utf8.count ?? 0 },
                    { [foundation] in foundation.string(forKey: "string")?.utf8.count ?? 0 },
                    { peer_dconf_string("/org/example/bench/string") }, { peer_gnustep_string("string") },
                    { if case .string(let text)? = $0["string"] { text.utf8.count } else { 0 } })),
            Work(
                name: "read an integer, own domain, 1 thread", unit: .nanoseconds, rounds: rounds,
                contenders: contenders(
                    { [ours] in ours.integer(forKey: "integer") },
                    { [foundation] in foundation.integer(forKey: "integer") },
                    { Int(peer_dconf_integer("/org/example/bench/integer")) }, { peer_gnustep_integer("integer") },
                    { if case .integer(let number)? = $0["integer"] { Int(number) } else { 0 } })),
            Work(
                name: "read a Boolean, registered, 1 thread", unit: .nanoseconds, rounds: rounds,
                contenders: contenders(
                    { [ours] in ours.bool(forKey: "bool") ? 1 : 0 },
                    { [foundation] in foundation.bool(forKey: "bool") ? 1 : 0 },
                    { peer_dconf_boolean("/org/example/bench/bool") ? 1 : 0 },
                    { peer_gnustep_boolean("bool") ? 1 : 0 },
                    { if case .boolean(let isSo)? = $0["bool"] { isSo ? 1 : 0 } else { 0 } })),
            Work(
                name: "read an integer, own domain, 8 threads (time on a core)", unit: .nanoseconds, rounds: rounds,
                contenders: [
                    .ours { [ours] in
                        { Stopwatch.onThreads(8, eachOf: 20_000) { _ in Sink.take(ours.integer(forKey: "integer")) } }
                    },
                    .limit("the same by 1 thread", goal: 1.3) { [ours] in
                        { Stopwatch.onThreads(1, eachOf: 80_000) { _ in Sink.take(ours.integer(forKey: "integer")) } }
                    },
                    .peer("Foundation", package: "Swift", goal: 15) { [foundation = Shared(foundation)] in
                        {
                            Stopwatch.onThreads(8, eachOf: 2_000) { _ in
                                Sink.take(foundation.value.integer(forKey: "integer"))
                            }
                        }
                    },
                ]),
        ]
    }

    private func contenders(
        _ ours: @escaping () -> Int, _ foundation: @escaping () -> Int, _ dconf: @escaping () -> Int,
        _ gnustep: @escaping () -> Int, _ lookup: @escaping ([String: PropertyListValue]) -> Int
    ) -> [Contender] {
        [
            .ours { { Stopwatch.each(of: 100_000) { _ in Sink.take(ours()) } } },
            .peer("Foundation", package: "Swift", goal: 15) {
                { Stopwatch.each(of: 10_000) { _ in Sink.take(foundation()) } }
            },
            .peer("dconf", package: "libdconf1 dconf-service", goal: 1) { [place] in
                guard try place.startBus(), peer_dconf_open() else { return nil }
                peer_dconf_set_string("/org/example/bench/string", Self.text)
                peer_dconf_set("/org/example/bench/integer", 42)
                peer_dconf_set_boolean("/org/example/bench/bool", true)
                peer_dconf_synchronize()
                return { Stopwatch.each(of: 10_000) { _ in Sink.take(dconf()) } }
            },
            .peer("GNUstep", package: "libgnustep-base1.28", goal: 1) {
                guard peer_gnustep_open() else { return nil }
                peer_gnustep_set_string("string", Self.text)
                peer_gnustep_set("integer", 42)
                return { Stopwatch.each(of: 10_000) { _ in Sink.take(gnustep()) } }
            },
            .limit("a Dictionary lookup", goal: 2) {
                var values: [String: PropertyListValue] = [
                    "string": .string(Self.text), "integer": 42, "bool": true,
                ]
                for number in 0..<20 { values["other\(number)"] = .integer(Int64(number)) }
                return { Stopwatch.each(of: 100_000) { _ in Sink.take(lookup(values)) } }
            },
        ]
    }
}
