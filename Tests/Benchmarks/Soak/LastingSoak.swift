import DefaultsClient
import DefaultsCore
import DefaultsKit
import Glibc
import Linux
import PropertyList
import Synchronization

/// A soak test of a long-lived program.
///
/// It opens and releases suites, sets keys in bursts, updates a count, and follows two keys. Meanwhile, its agent is
/// suspended, ended and replaced and a foreign writer changes its file. At the end, this client and a new one must see
/// every value, and neither the memory use nor the cost of using a suite may have grown noticeably.
struct LastingSoak {
    private static let suites = 2_000
    private static let uses = 50
    private static let burst = 400
    /// The number of rounds in a cycle of disturbances.
    private static let calm = 20

    private static let count = DefaultsKey<Int>("count", default: 0)

    let place: SoakEnvironment

    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: .lasting)
        try place.startAgent()
        defer { place.stopAgent() }
        let client = Client(.success(try Location(environment: Environment(place.environment))))
        defer { client.close() }
        let main = try Self.open(SoakEnvironment.domain, client)
        let follower = LastingFollower(main)
        defer { follower.end() }
        var values: [String: Int] = [:]
        var (counted, uncertain) = (0, 0)
        var growth = Growth()
        let begin = Stopwatch.now
        repeat {
            result.rounds += 1
            try trouble(result.rounds, main, &result)
            for _ in 0..<Self.uses {
                let name = "\(SoakEnvironment.domain).n\(Int.random(in: 0..<Self.suites))"
                let start = Stopwatch.now
                let suite = try Self.open(name, client)
                if suite.integer(forKey: "k") != values[name, default: 0] { Self.note(name, &result) }
                values[name] = result.own
                suite.set(result.own, forKey: "k")
                growth.add(cost: Stopwatch.now - start)
                result.own += 1
            }
            for number in 0..<Self.burst { main.set(number, forKey: "burst") }
            main.set(result.rounds, forKey: "round")
            result.own += Self.burst + 1
            if main.integer(forKey: "round") != result.rounds { Self.note("round", &result) }
            // An agent that ended in the meantime may have applied the update without acknowledging it.
            do { try main.update(Self.count) { $0 += 1 } } catch { uncertain += 1 }
            counted += 1
            growth.add(memory: try Self.memory(), at: (Stopwatch.now - begin) / seconds)
        } while Stopwatch.now - begin < seconds
        if !main.synchronize() { result.findings.append("Something could not be saved.") }
        let other = Client(.success(try Location(environment: Environment(place.environment))))
        defer { other.close() }
        for (name, value) in values {
            for client in [client, other] {
                if try Self.open(name, client).integer(forKey: "k") != value { Self.note(name, &result) }
            }
        }
        let count = main[Self.count]
        if count > counted || count < counted - uncertain {
            result.findings.append("The count is \(count) after \(counted) updates, \(uncertain) of them uncertain.")
        }
        let foreign = result.foreign
        if !follower.reaches(round: result.rounds, foreign: foreign, within: 30) {
            result.findings.append("The follower has not seen the last values.")
        }
        for client in [client, other] {
            let defaults = try Self.open(SoakEnvironment.domain, client)
            if defaults.integer(forKey: "round") != result.rounds { Self.note("round", &result) }
            if defaults.integer(forKey: "foreign") != foreign { result.foreignLost += 1 }
        }
        result.findings += growth.findings + (try place.audit())
        return result
    }

    private static func open(_ name: String, _ client: Client) throws -> UserDefaults {
        guard let defaults = UserDefaults(suiteName: name, in: client) else {
            throw BenchFailure("\(name) is not a valid name.")
        }
        return defaults
    }

    private static func note(_ name: String, _ result: inout SoakResult) {
        result.ownLost += 1
        if result.findings.count < 20 {
            result.findings.append("Round \(result.rounds): \(name) has an unexpected value.")
        }
    }

    /// Disturbs some rounds: ends the agent, suspends it briefly, or writes to the main suite's file.
    private func trouble(_ round: Int, _ main: UserDefaults, _ result: inout SoakResult) throws {
        switch round % Self.calm {
        case 5, 10:
            // Act as a foreign writer: rewrite the file with one more key set.
            let file = ForeignFile(path: place.path)
            guard main.synchronize(), var values = file.read() else { return }
            result.foreign += 1
            values["foreign"] = .integer(Int64(result.foreign))
            try file.replace(with: values)
        case 15:
            place.signalAgent(SIGSTOP)
            for number in 0..<Self.burst { main.set(number, forKey: "stopped") }
            place.signalAgent(SIGCONT)
        case 0:
            place.stopAgent()
            result.ends += 1
            try place.startAgent()
        default: break
        }
    }

    /// Returns the resident memory of this process, in kilobytes.
    private static func memory() throws -> Int {
        let bytes = try FileDescriptor(opening: "/proc/self/statm", O_RDONLY).read(upTo: 1_024)
        let fields = bytes.split(separator: UInt8(ascii: " "))
        let pages = fields.count > 1 ? Int(String(decoding: fields[1], as: UTF8.self)) ?? 0 : 0
        return pages * sysconf(Int32(_SC_PAGESIZE)) >> 10
    }

    /// The cost of using a suite in each round, and the memory early in the run and at its end.
    private struct Growth {
        private var costs: [Double] = []
        private var present: [Double] = []
        /// The memory after a third of the run, and the latest.
        private var firstMemory: Int?
        private var lastMemory = 0

        mutating func add(cost: Double) { present.append(cost) }

        /// Ends a round.
        mutating func add(memory: Int, at part: Double) {
            costs.append(median(present[...]))
            present.removeAll(keepingCapacity: true)
            if part > 0.33, firstMemory == nil { firstMemory = memory }
            lastMemory = memory
        }

        var findings: [String] {
            var findings: [String] = []
            let (first, last) = (median(costs.prefix(costs.count / 3)), median(costs.suffix(costs.count / 3)))
            if last > 3 * first {
                let (first, last) = (Int(first * 1e6), Int(last * 1e6))
                findings.append("A use of a suite took \(first) µs in the beginning, \(last) µs at the end.")
            }
            if let firstMemory, lastMemory > firstMemory + firstMemory / 4 + 8 << 10 {
                findings.append("The memory grew from \(firstMemory) to \(lastMemory) kB.")
            }
            return findings
        }

        private func median(_ costs: ArraySlice<Double>) -> Double {
            costs.isEmpty ? 0 : costs.sorted()[costs.count / 2]
        }
    }
}

/// A task that follows the round's number, set through the library, and the last number from the foreign writer.
private final class LastingFollower: Sendable {
    private let round = Atomic(0)
    private let foreign = Atomic(0)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ defaults: UserDefaults) {
        let keys = (DefaultsKey<Int>("round", default: 0), DefaultsKey<Int>("foreign", default: 0))
        let new = Task.detached { [self] in
            for await (newRound, newForeign) in defaults.updates(of: keys.0, keys.1) {
                round.store(newRound, ordering: .relaxed)
                foreign.store(newForeign, ordering: .relaxed)
            }
        }
        task.withLock { $0 = new }
    }

    /// Waits until certain values have arrived.
    ///
    /// - Returns: Whether they arrived in time.
    func reaches(round: Int, foreign: Int, within seconds: Double) -> Bool {
        let end = Stopwatch.now + seconds
        while self.round.load(ordering: .relaxed) != round || self.foreign.load(ordering: .relaxed) != foreign {
            guard Stopwatch.now < end else { return false }
            usleep(10_000)
        }
        return true
    }

    func end() { task.withLock { $0?.cancel() } }
}
