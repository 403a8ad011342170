import ArgumentParser
import Foundation
import Glibc
import PropertyList
import Synchronization
import TestSupport

/// A trial that can be made: the kind, the scenario, and the interruption.
struct Case: Hashable, Sendable, CustomStringConvertible {
    var kind: Kind
    var scenario: String
    var subject: Subject
    /// The details that the kind needs: a call (its name, its path, and which one of these) and an error or an act; for
    /// crashes, also the number of the next program's call before which that is killed, or 0; or a state of the disk.
    var details: [String]

    /// The cases with the same first crash and the same act, and each second crash.
    func secondCrashes(_ calls: Int) -> [Case] {
        (0..<calls).map { call in
            var next = self
            next.details[4] = "\(call + 1)"
            return next
        }
    }

    /// The words after `--repeat`.
    var description: String { ([kind.rawValue, scenario, subject.rawValue] + details).joined(separator: " ") }

    init(kind: Kind, _ scenario: Scenario, _ subject: Subject, _ details: [String]) {
        (self.kind, self.scenario, self.subject, self.details) = (kind, scenario.name, subject, details)
    }

    /// Parses a description.
    init?(_ description: String) {
        let words = description.split(separator: " ").map(String.init)
        guard words.count >= 3, let kind = Kind(rawValue: words[0]), let subject = Subject(rawValue: words[2]),
            let scenario = Scenario.all.first(where: { $0.name == words[1] })
        else { return nil }
        self.init(kind: kind, scenario, subject, Array(words[3...]))
    }
}

/// The kinds of exploration.
enum Kind: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// The subject stops before each call, while another program acts.
    case stops
    /// Each call fails, with each error that it can have.
    case failures
    /// The subject is killed before each call, another program acts, and the next one starts, or is killed before each
    /// of its calls, and the other program acts again.
    case crashes
    /// A power failure leaves each state of the disk that it can leave.
    case disks
}

/// The outcome of one trial.
struct Outcome {
    /// The call at which the interruption took place; `nil` if it didn't.
    var call: String?
    /// The hash of what a first crash left behind and the act, and the number of calls that the next program made.
    var firstCrash: (leftovers: Int, calls: Int)?
    var findings: [String]
}

/// The files and writes that a first crash leaves behind; the same ones lead to the same trials with a second crash.
struct Leftovers: Hashable {
    let scenario: String
    let subject: Subject
    let act: Act
    let tree: DiskTree
    let writes: [String: [Ledger.Outcome]]
}

extension Case {
    /// Runs the trial in a directory of its own.
    func run(keepsFiles: Bool = false) throws -> Outcome {
        guard let scenario = Scenario.all.first(where: { $0.name == self.scenario }) else {
            throw ValidationError("There is no scenario \(self.scenario).")
        }
        let root = try makeTemporaryDirectory()
        defer { if keepsFiles { say(root) } else { removeTree(root) } }
        let trial = try Trial(scenario, subject, in: root)
        defer { trial.end() }
        do {
            return try run(trial)
        } catch {
            return Outcome(call: trial.intervention.call, findings: trial.findings + ["The trial failed: \(error)"])
        }
    }

    private func run(_ trial: Trial) throws -> Outcome {
        switch kind {
        case .stops: try runStop(trial)
        case .failures: try runFailure(trial)
        case .crashes: try runCrashes(trial)
        case .disks: try runDisk(trial)
        }
    }

    private func word(_ index: Int) -> String { details.indices.contains(index) ? details[index] : "" }
    private func number(_ index: Int) -> Int { Int(word(index)) ?? 0 }

    /// Prepares the interruption of the scenario's work, and all before it.
    private func begin(_ trial: Trial, _ effect: Intervention.Effect) throws {
        func arm() { trial.intervention.arm(effect, at: number(2), of: (word(0), word(1))) }
        if trial.scenario.startsSubject { arm() }
        try trial.begin()
        if !trial.scenario.startsSubject { arm() }
    }

    /// Stops the subject before a call, lets another program act, and continues the subject.
    private func runStop(_ trial: Trial) throws -> Outcome {
        guard let act = details.last.flatMap(Act.init) else { throw ValidationError("\(self) names no act.") }
        let intervention = trial.intervention
        try begin(trial, .stop)
        let work = trial.work()
        while !intervention.hasHappened, !work.finish(within: 0.001) {}
        guard intervention.hasHappened else {
            // It must not happen to a later call, which nothing would continue.
            intervention.disarm()
            if intervention.hasHappened { kill(intervention.process, SIGCONT) }
            try trial.settle()
            return Outcome(findings: trial.findings)
        }
        let process = intervention.process
        _ = eventually(within: 5) { Self.isStopped(process) }
        let call = intervention.call
        let acting = Aside {
            do { try act.perform(trial, on: trial.path) } catch { trial.add(.survives, "the act failed: \(error)") }
        }
        // A change that the subject makes in the middle of another act is a later one to that act.
        _ = acting.finish(within: act.awaitsLease ? 0.15 : 60)
        kill(process, SIGCONT)
        if !acting.finish() { trial.add(.survives, "the act doesn't end") }
        if !work.finish() { trial.add(.survives, "the work doesn't end") }
        try trial.settle()
        return Outcome(call: call, findings: trial.findings)
    }

    private static func isStopped(_ process: pid_t) -> Bool {
        guard let bytes = try? RawFile.read("/proc/\(process)/stat") else { return true }
        let fields = String(decoding: bytes, as: UTF8.self).split(separator: ")").last?.split(separator: " ")
        return fields?.first == "T"
    }

    /// Lets a call fail, once or from then on.
    private func runFailure(_ trial: Trial) throws -> Outcome {
        let intervention = trial.intervention
        trial.mayEnd = trial.scenario.startsSubject || trial.scenario.name == "upgrade"
        trial.mayHaveGaps = true
        try begin(trial, .fail(Int32(number(3)), always: details.last == "always"))
        let work = trial.work()
        if !work.finish(within: 3) { intervention.disarm() }
        if !work.finish() { trial.add(.survives, "the work doesn't end") }
        let call = intervention.hasHappened ? intervention.call : nil
        try trial.settle()
        return Outcome(call: call, findings: trial.findings)
    }

    /// Kills the subject before a call, lets another program act, and starts the next one, or kills it before one of
    /// its calls.
    private func runCrashes(_ trial: Trial) throws -> Outcome {
        guard let act = Act(rawValue: word(3)) else { throw ValidationError("\(self) names no act.") }
        let intervention = trial.intervention
        trial.mayEnd = true
        trial.beforeSubject = { try $0.rememberVersion() }
        try begin(trial, .kill)
        if !trial.work().finish() { trial.add(.survives, "the work doesn't end") }
        guard intervention.hasHappened else {
            intervention.disarm()
            try trial.settle()
            return Outcome(findings: trial.findings)
        }
        let first = intervention.call
        let leftovers = try trial.leftovers(before: act).hashValue
        trial.mayMissRecords = trial.scenario.discardsRecords && act != .nothing
        // Behind a link, the act is on the real file: no agent looks for what is left where no link leads anymore.
        try act.perform(trial, on: trial.realPath)
        intervention.arm(.kill, at: number(4))
        trial.recover(isKilled: number(4) > 0)
        let calls = intervention.count
        if number(4) == 0 {
            try trial.settle()
            return Outcome(call: first, firstCrash: (leftovers, calls), findings: trial.findings)
        }
        let call = intervention.hasHappened ? "\(first), then \(intervention.call)" : nil
        intervention.disarm()
        try act.perform(trial, on: trial.realPath, crash: 2)
        try trial.settle()
        return Outcome(call: call, findings: trial.findings)
    }

    /// Lets the power fail after a call, and continues with what may be left on the disk.
    private func runDisk(_ trial: Trial) throws -> Outcome {
        let disk = try RecordedDisk(trial)
        // Each recording differs a little, and this one may be shorter.
        let rests = number(0) <= disk.count ? disk.states.rests(at: number(0)) : []
        guard let rest = rests.first(where: { "\($0)" == details.last }) else {
            return Outcome(findings: [])
        }
        try disk.fail(at: number(0), rest)
        try trial.settle()
        return Outcome(call: disk.description(of: number(0)), findings: trial.findings)
    }
}
