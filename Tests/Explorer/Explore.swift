import ArgumentParser
import Foundation
import Glibc
import Synchronization
import TestSupport

/// `defaults-explore`.
@main
struct Explore: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "defaults-explore",
        abstract: "Interrupt the programs at every step, and check what they promise.",
        discussion: """
            Each trial runs a scenario with the real programs in directories of its own, and interrupts them once: \
            another program acts between two calls, a call fails, the program is killed before a call (and the next \
            one, too) and another program acts, or the power fails. Then everything must become quiet and be as \
            "What you can rely on" promises. A trial that finds a breach is printed as the words after --repeat. The \
            exit status is 1 then.
            """)

    @Option(help: "The compiled library that counts and interrupts the programs' calls.") var library: String
    @Option(help: "Explore only this kind: \(Kind.allCases.map(\.rawValue).joined(separator: ", ")).") var only: Kind?
    @Option(help: "Explore only this scenario.") var scenario: String?
    @Option(help: "Explore only this program: agent, or command, whose scenarios are short.") var subject: Subject?
    @Option(help: "Try only as much of each kind as is possible in this time, chosen at random.") var seconds: Double?
    @Option(help: "The same, with the time for all kinds together.") var hours: Double?
    @Option(help: "The seed of the choice.") var seed: UInt64 = .random(in: 0..<1 << 32)
    @Option(help: "The number of trials at the same time.") var workers = 16
    @Option(name: .customLong("repeat"), help: "Run one trial, given by the words that are printed for it.")
    var trial: String?
    @Flag(help: "Keep the directories of that trial, and print their path.") var keep = false
    @Flag(help: "Print the numbered calls of the scenario, and run no trial.") var calls = false

    func run() throws {
        Intervention.library = library
        if calls {
            for scenario in Scenario.all where self.scenario.map({ $0 == scenario.name }) ?? true {
                for subject in scenario.subjects {
                    say("\(scenario.name) \(subject.rawValue)")
                    for (number, call) in try Kind.calls(scenario, subject).enumerated() {
                        say("\(number + 1) \(call.name) \(call.path)")
                    }
                }
            }
            return
        }
        if let trial {
            guard let trial = Case(trial) else { throw ValidationError("There is no such trial: \(trial)") }
            let outcome = try trial.run(keepsFiles: keep)
            say(outcome.call ?? "Nothing was interrupted.")
            outcome.findings.forEach { say("  \($0)") }
            throw outcome.findings.isEmpty ? ExitCode.success : ExitCode.failure
        }
        say("Seed \(seed)")
        var isClean = true
        let kinds = only.map { [$0] } ?? Kind.allCases
        let seconds = seconds ?? hours.map { $0 * 3_600 / Double(kinds.count) }
        for kind in kinds {
            isClean = try Exploration(kind, scenario, subject, seconds, seed, workers).run() && isClean
        }
        if !isClean { throw ExitCode.failure }
    }
}

/// All trials of a kind, or as many as there is time for.
final class Exploration: Sendable {
    private struct State {
        var cases: [Case] = []
        /// The number of all cases so far: those with a second crash are known after the first one's trial.
        var all = 0
        var random: PseudoRandom
        /// The hashes of what first crashes left behind.
        var leftovers: Set<Int> = []
        var trials = 0
        var interrupted = 0
        var breaches = 0
    }

    private let kind: Kind
    private let scenario: String?
    private let subject: Subject?
    private let seconds: Double?
    private let workers: Int
    private let state: Mutex<State>

    init(
        _ kind: Kind, _ scenario: String?, _ subject: Subject?, _ seconds: Double?, _ seed: UInt64, _ workers: Int
    ) {
        (self.kind, self.scenario, self.subject) = (kind, scenario, subject)
        (self.seconds, self.workers) = (seconds, workers)
        state = Mutex(State(random: PseudoRandom(seed: seed)))
    }

    /// Returns whether no promise was broken.
    func run() throws -> Bool {
        let pairs = Scenario.all.filter { scenario == nil || $0.name == scenario }.flatMap { scenario in
            scenario.subjects.filter { subject == nil || $0 == subject }.map { (scenario, $0) }
        }
        let found = Mutex([Int: Result<[Case], any Error>]())
        let remaining = Mutex(pairs.indices)
        concurrently { [kind] in
            while let index = remaining.withLock({ $0.popFirst() }) {
                let cases = Result { try kind.cases(pairs[index].0, pairs[index].1) }
                found.withLock { $0[index] = cases }
            }
        }
        let cases = try pairs.indices.flatMap { index in try found.withLock { $0[index] }?.get() ?? [] }
        state.withLock { ($0.cases, $0.all) = (cases.reversed(), cases.count) }
        let begin = ContinuousClock.now
        concurrently { [self] in
            while let next = next(begin) {
                let start = ContinuousClock.now
                report(next, Result { try next.run() })
                if ContinuousClock.now - start > .seconds(10) { say("slow: \(next)") }
            }
        }
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        return state.withLock { state in
            say(
                "\(kind.rawValue): \(state.trials) of \(state.all) trials, \(state.interrupted) of them "
                    + "interrupted, in \(seconds) s: \(state.breaches) with breaches"
                    + (state.leftovers.isEmpty ? "" : "; first crashes left \(state.leftovers.count) different states"))
            return state.breaches == 0
        }
    }

    /// Runs a body on each worker's thread.
    ///
    /// They mostly wait for the disk and the programs.
    private func concurrently(_ body: @escaping @Sendable () -> Void) {
        let threads = (0..<workers).map { _ in Aside(body) }
        for thread in threads { while !thread.finish() {} }
    }

    private func next(_ begin: ContinuousClock.Instant) -> Case? {
        if let seconds, ContinuousClock.now - begin > .seconds(seconds) { return nil }
        return state.withLock { state in
            if seconds != nil, let index = state.cases.indices.randomElement(using: &state.random) {
                state.cases.swapAt(index, state.cases.count - 1)
            }
            return state.cases.popLast()
        }
    }

    private func report(_ trial: Case, _ result: Result<Outcome, any Error>) {
        let findings: [String]
        var call: String?
        var firstCrash: (leftovers: Int, calls: Int)?
        switch result {
        case .success(let outcome):
            (findings, call, firstCrash) = (outcome.findings, outcome.call, outcome.firstCrash)
        case .failure(let error): findings = ["\(error)"]
        }
        state.withLock { state in
            state.trials += 1
            if state.trials % 10_000 == 0 { say("\(kind.rawValue): \(state.trials) trials so far") }
            if call != nil {
                state.interrupted += 1
            }
            // After another first crash with the same leftovers, a second one would lead to the same.
            if let firstCrash, state.leftovers.insert(firstCrash.leftovers).inserted {
                let next = trial.secondCrashes(firstCrash.calls)
                state.cases += next
                state.all += next.count
            }
            if findings.isEmpty { return }
            state.breaches += 1
            say((["\(trial)", "  at \(call ?? "no call")"] + findings.map { "  \($0)" }).joined(separator: "\n"))
        }
    }
}

extension Kind {
    /// Returns all trials of a scenario.
    func cases(_ scenario: Scenario, _ subject: Subject) throws -> [Case] {
        func interruptions(_ details: (RecordedCall) -> [[String]]) throws -> [Case] {
            try Self.different(Self.calls(scenario, subject)).flatMap { call, words in
                details(call).map { Case(kind: self, scenario, subject, words + $0) }
            }
        }
        return switch self {
        case .stops: try interruptions { _ in Act.whileStopped.map { [$0.rawValue] } }
        case .failures:
            try interruptions { call in
                RecordedCall.errors(of: call.name).flatMap { error in
                    // An interrupted call succeeds eventually.
                    ["once", "always"].filter { $0 == "once" || error != EINTR }.map { ["\(error)", $0] }
                }
            }
        case .crashes: try interruptions { _ in Act.afterCrash.map { [$0.rawValue, "0"] } }
        case .disks: try Self.states(scenario, subject)
        }
    }

    /// Returns calls and the words that name them, without those that a loop repeats: the seventh to the last but two
    /// of the same calls on the same file.
    private static func different(_ calls: [RecordedCall]) -> [(call: RecordedCall, words: [String])] {
        var counts: [String: Int] = [:]
        let all = calls.map { call in
            counts["\(call.name) \(call.path)", default: 0] += 1
            return (call, counts["\(call.name) \(call.path)"] ?? 0)
        }
        return all.filter { call, number in
            number <= 6 || number > (counts["\(call.name) \(call.path)"] ?? 0) - 2
        }.map { ($0, [$0.name, $0.path, "\($1)"]) }
    }

    /// Returns the trials of all different states of the disk.
    private static func states(_ scenario: Scenario, _ subject: Subject) throws -> [Case] {
        if scenario.isForeign { return [] }
        return try withTemporaryDirectory { root in
            let trial = try Trial(scenario, subject, in: root)
            defer { trial.end() }
            let states = try RecordedDisk(trial).states
            var seen: Set<DiskTree> = []
            return states.points.flatMap { point in
                states.rests(at: point).filter { seen.insert(states.tree(at: point, $0).withoutTimes).inserted }
                    .map { Case(kind: .disks, scenario, subject, ["\(point)", "\($0)"]) }
            }
        }
    }

    /// The calls of the scenarios' work so far, which three kinds need.
    private static let recorded = Mutex([String: [RecordedCall]]())

    /// Returns the calls of a scenario's work, in order.
    static func calls(_ scenario: Scenario, _ subject: Subject) throws -> [RecordedCall] {
        let name = "\(scenario.name) \(subject.rawValue)"
        if let known = recorded.withLock({ $0[name] }) { return known }
        let calls = try record(scenario, subject)
        recorded.withLock { $0[name] = calls }
        return calls
    }

    private static func record(_ scenario: Scenario, _ subject: Subject) throws -> [RecordedCall] {
        try withTemporaryDirectory { root in
            let trial = try Trial(scenario, subject, in: root)
            trial.records = true
            defer { trial.end() }
            if scenario.startsSubject { trial.intervention.arm(.record) }
            try trial.begin()
            if !scenario.startsSubject { trial.intervention.arm(.record) }
            _ = trial.work().finish()
            let calls = try RecordedCall.read(trial.intervention.recordPath).filter { $0.result == nil }
            do { try trial.settle() } catch { trial.add(.settles, "\(error)") }
            for finding in trial.findings { say("\(scenario.name) \(subject.rawValue), uninterrupted: \(finding)") }
            return calls
        }
    }
}

/// Prints a line at once.
func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8)) }
