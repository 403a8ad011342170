import DefaultsCore
import Dispatch
import Fleet
import Foundation
import PropertyList
import Testing

/// Operators and receivers on a simulated service of registers.
@Suite("Rollouts on registers")
struct RolloutTests {
    private static func key(_ name: String, _ layer: PushedLayer = .managed) -> PushedKey {
        PushedKey(name, of: "d0", in: layer)
    }

    private let service = SimulatedRegisters(seed: 1)
    private let receivers: [SimulatedReceiver]
    private var desk: Operator {
        Operator(SimulatedRegisters.Connection(to: service), with: PlainSeal(), as: "operator", retryingAfter: .zero)
    }

    init() {
        var random = Generator(state: 7)
        let service = service
        receivers = (0..<20).map { index in
            SimulatedReceiver(
                .random(using: &random), in: index % 2 == 0 ? ["web"] : ["web", "db"], of: service
            ) { false }
        }
    }

    private func run() { for receiver in receivers { #expect(receiver.run()) } }

    private func push(_ values: [String: PropertyListValue?], to groups: [String], share: Int? = nil) throws -> Int64 {
        let machines = receivers.map(\.machine)
        let values = Dictionary(uniqueKeysWithValues: values.map { (Self.key($0), $1) })
        return try desk.push(values, to: groups, at: 1) { number in
            share.map { Share(of: $0, among: machines, in: number) } ?? .all
        }.number
    }

    private func values(_ name: String) -> [PropertyListValue?] {
        receivers.map { $0.files[.managed]?["d0"]?[name] }
    }

    @Test("A value that is pushed to a share of the machines is on exactly so many, then on all, then on none")
    func share() throws {
        _ = try push(["k": 1], to: ["web"])
        run()
        #expect(values("k").allSatisfy { $0 == 1 })
        let number = try push(["k": 2], to: ["web"], share: 3)
        run()
        #expect(values("k").count { $0 == 2 } == 3)
        #expect(values("k").count { $0 == 1 } == 17)
        let first = values("k")
        let machines = receivers.map(\.machine)
        _ = try desk.set(Share(of: 10, among: machines, in: number), of: number)
        run()
        #expect(values("k").count { $0 == 2 } == 10)
        // Those that had it first still have it.
        #expect(zip(first, values("k")).allSatisfy { $0 != 2 || $1 == 2 })
        _ = try desk.set(.all, of: number)
        run()
        #expect(values("k").allSatisfy { $0 == 2 })
        _ = try desk.undo(number)
        run()
        #expect(values("k").allSatisfy { $0 == 1 })
    }

    @Test("Undoing a rollout leaves what a later one has set, and undoing that one sets the values from before both")
    func undo() throws {
        let first = try push(["a": 1, "b": 1], to: ["web"])
        let second = try push(["a": 2], to: ["web"])
        let result = try desk.undo(first)
        #expect(result.replaced.map(\.key) == [Self.key("a")])
        run()
        #expect(values("a").allSatisfy { $0 == 2 })
        #expect(values("b").allSatisfy { $0 == nil })
        _ = try desk.undo(second)
        run()
        #expect(values("a").allSatisfy { $0 == nil })
        #expect(throws: OperatorFailure.self) { try desk.undo(second) }
    }

    @Test("Of the values of two groups, a machine in both has the one that was pushed last")
    func groups() throws {
        _ = try push(["k": 1], to: ["db"])
        let second = try push(["k": 2], to: ["web"])
        run()
        #expect(values("k").allSatisfy { $0 == 2 })
        _ = try desk.undo(second)
        run()
        #expect(values("k").count { $0 == 1 } == 10)
        #expect(values("k").count { $0 == nil } == 10)
    }

    @Test("A machine need not report a push to a group that it isn't in, and sets nothing")
    func others() throws {
        run()
        _ = try push(["k": 1], to: ["db"])
        #expect(try receivers[0].receiver?.follow(within: 0) == .others)
        #expect(try receivers[1].receiver?.follow(within: 0) == .changes)
        #expect(values("k").prefix(2) == [nil, 1])
        _ = try push(["k": 2], to: ["web"])
        #expect(try receivers[0].receiver?.follow(within: 0) == .changes)
    }

    @Test("A damaged number of the last rollout keeps every operator from pushing, and is reported as such")
    func damagedNumber() throws {
        _ = try push(["k": 1], to: ["web"])
        let writer = SimulatedRegisters.Connection(to: service)
        _ = try writer.write([RegisterWrite(RegisterName.last(PlainSeal()), [1])], expecting: [:])
        #expect {
            try push(["k": 2], to: ["web"])
        } throws: { error in
            if case .unreadable? = error as? OperatorFailure { true } else { false }
        }
    }

    @Test("A second rollout of a key to some machines is refused while a first one is unfinished")
    func unfinished() throws {
        let first = try push(["k": 1], to: ["web"], share: 2)
        #expect(throws: OperatorFailure.self) { try push(["k": 2], to: ["web"], share: 2) }
        _ = try desk.undo(first)
        _ = try push(["k": 2], to: ["web"], share: 2)
    }

    @Test("A key that was changed on a machine stays so until it is pushed again, and is reported")
    func changedThere() throws {
        _ = try push(["k": 1, "l": 1], to: ["all"])
        run()
        receivers[0].files[.managed]?["d0"]?["own"] = 5
        #expect(receivers[0].receiver?.checkFiles() == false)
        receivers[0].files[.managed]?["d0"]?["k"] = 9
        #expect(receivers[0].receiver?.checkFiles() == true)
        _ = try push(["l": 2], to: ["all"])
        run()
        #expect(receivers[0].files[.managed]?["d0"] == ["k": 9, "l": 2, "own": 5])
        let report = try desk.receivers().first { $0.machine == receivers[0].machine }
        #expect(report?.changed == [Self.key("k")])
        #expect(receivers[0].receiver?.checkFiles() == false)
        // Values no longer pushed are removed, except for those set on the machine.
        _ = try push(["k": nil, "l": nil], to: ["all"])
        run()
        #expect(receivers[0].files[.managed]?["d0"] == ["k": 9, "own": 5])
        // It is reported as long as it is there.
        receivers[0].end()
        run()
        #expect(receivers[0].receiver?.changed == [Self.key("k")])
        receivers[0].files[.managed]?["d0"]?["k"] = nil
        #expect(receivers[0].receiver?.checkFiles() == true)
        run()
        #expect(receivers[0].receiver?.changed == [])
        receivers[0].files[.managed]?["d0"]?["k"] = 9
        #expect(receivers[0].receiver?.checkFiles() == false)
    }

    @Test("A receiver that was away during a compaction reads everything, and loses no change before the compaction")
    func compaction() throws {
        _ = try push(["a": 1], to: ["web"])
        run()
        for value in 2...5 { _ = try push(["a": .integer(Int64(value)), "b\(value)": 1], to: ["web"]) }
        service.compact()
        _ = try push(["c": 1], to: ["web"])
        run()
        #expect(receivers[0].gaps == 1)
        #expect(receivers[0].files[.managed]?["d0"] == ["a": 5, "b2": 1, "b3": 1, "b4": 1, "b5": 1, "c": 1])
    }

    @Test("Changes that the watch loses are found by comparing revisions")
    func lostEvents() throws {
        run()
        service.faults.losesEvent = 100
        _ = try push(["a": 1], to: ["web"])
        run()
        #expect(values("a").allSatisfy { $0 == nil })
        for receiver in receivers { for _ in 0..<2 { receiver.run(examining: true) } }
        #expect(values("a").allSatisfy { $0 == 1 })
        // A deletion, too, which leaves no newer revision.
        service.registers.keys.filter { $0.contains("pushed") }.forEach { service.expire($0) }
        for receiver in receivers { for _ in 0..<2 { receiver.run(examining: true) } }
        #expect(values("a").allSatisfy { $0 == nil })
    }

    @Test("An entry that can't be read keeps its last value on machines, and keeps operators from guessing")
    func unreadableEntry() throws {
        _ = try push(["k": 1], to: ["web"])
        run()
        guard let name = service.registers.keys.first(where: { $0.contains("pushed") }) else { return }
        let writer = SimulatedRegisters.Connection(to: service)
        _ = try writer.write([RegisterWrite(name, [1, 2, 3])], expecting: [:])
        run()
        for receiver in receivers { receiver.end() }
        run()
        #expect(values("k").allSatisfy { $0 == 1 })
        #expect(try desk.receivers().allSatisfy { $0.unreadable == 1 })
        #expect(throws: OperatorFailure.self) { try push(["k": 2], to: ["web"]) }
    }

    @Test("After a backup of the service is restored, machines set what it has")
    func restoration() throws {
        _ = try push(["k": 1], to: ["web"])
        run()
        let (backup, revision) = (service.registers, service.revision)
        for value in 2...9 { _ = try push(["k": .integer(Int64(value))], to: ["web"]) }
        run()
        service.restore(backup, at: revision)
        for receiver in receivers { receiver.end() }
        // Reports may have brought its revision beyond the machine's again.
        for receiver in receivers { for _ in 0..<2 { #expect(receiver.run(examining: true)) } }
        #expect(values("k").allSatisfy { $0 == 1 })
    }

    private static let manyKeys: [PushedKey: PropertyListValue?] = Dictionary(
        uniqueKeysWithValues: (0..<250).map { (key("k\($0)"), 1) })

    /// Returns an operator who is interrupted after some writes, or after the first one by something that happens.
    private func desk(
        writing writes: Int? = nil, then interruption: (() -> Void)? = nil, before: (() -> Void)? = nil
    ) -> Operator {
        let connection = SimulatedRegisters.Connection(to: service)
        (connection.writesLeft, connection.interruption) = (writes, interruption)
        connection.beforeWrite = before
        return Operator(connection, with: PlainSeal(), as: "operator", retryingAfter: .zero)
    }

    /// Expects a rollout to be only partly written.
    private func expectIncomplete(_ body: () throws -> Void) {
        #expect {
            try body()
        } throws: { error in
            if case .incomplete? = error as? OperatorFailure { true } else { false }
        }
    }

    /// Expects a removal of a key to be refused.
    private func expectAbsent(_ key: String, _ body: () throws -> Void) {
        #expect {
            try body()
        } throws: { error in
            if case .absent(Self.key(key))? = error as? OperatorFailure { true } else { false }
        }
    }

    @Test("An undo of many keys that was interrupted is completed by repeating it")
    func interruptedUndo() throws {
        let number = try desk.push(Self.manyKeys, to: ["web"], at: 1) { _ in .all }.number
        expectIncomplete { _ = try desk(writing: 2).undo(number) }
        #expect(try desk.rollout(number)?.unfinished == .undo)
        _ = try desk.undo(number)
        #expect(try desk.rollout(number)?.unfinished == nil)
        run()
        #expect(receivers[0].files[.managed]?["d0"] ?? [:] == [:])
    }

    @Test("A push of many keys that was interrupted is unfinished until it is undone")
    func interruptedPush() throws {
        var begun: [Int64] = []
        expectIncomplete {
            _ = try desk(writing: 2).push(Self.manyKeys, to: ["web"], at: 1) { _ in
                .all
            } beginning: {
                begun.append($0.number)
            }
        }
        #expect(begun == [1])
        #expect(try desk.rollout(1)?.unfinished == .push)
        #expect {
            try desk.set(.all, of: 1)
        } throws: { error in
            if case .partlyPushed? = error as? OperatorFailure { true } else { false }
        }
        // A later push is of no concern to it, and keys that were never written haven't been replaced.
        _ = try push(["other": 2], to: ["web"])
        #expect(try desk.undo(1).replaced.isEmpty)
        #expect(try desk.rollout(1)?.unfinished == nil)
        run()
        #expect(receivers[0].files[.managed]?["d0"] == ["other": 2])
    }

    @Test("A share of many keys that was interrupted is unfinished until it is repeated")
    func interruptedShare() throws {
        let machines = receivers.map(\.machine)
        let number = try desk.push(Self.manyKeys, to: ["web"], at: 1) { Share(of: 1, among: machines, in: $0) }.number
        expectIncomplete { _ = try desk(writing: 1).set(.all, of: number) }
        #expect(try desk.rollout(number)?.unfinished == .share)
        _ = try desk.set(.all, of: number)
        #expect(try desk.rollout(number)?.unfinished == nil)
        run()
        #expect(receivers.allSatisfy { $0.files[.managed]?["d0"]?.count == 250 })
    }

    @Test("A push that is undone while its first answer is lost writes nothing more")
    func undoneWhileUnknown() throws {
        var undo: Result<Void, any Error>?
        let pushing = desk(then: { undo = Result { _ = try desk.undo(1) } })
        expectIncomplete { _ = try pushing.push(Self.manyKeys, to: ["web"], at: 1) { _ in .all } }
        try undo?.get()
        run()
        #expect(receivers[0].files[.managed]?["d0"] ?? [:] == [:])
        #expect(try desk.rollouts().map(\.isUndone) == [true])
    }

    @Test("An undo that reads a rollout between two of its parts undoes both")
    func undoneWhilePushed() throws {
        let turns = Turns()
        nonisolated(unsafe) var (writes, undoes) = (0, 0)
        nonisolated(unsafe) let pushing = desk(before: {
            writes += 1
            if writes > 1 { turns.pass(from: 1) }
        })
        nonisolated(unsafe) var outcome: Result<Rollout, any Error>?
        turns.begin { outcome = Result { try pushing.push(Self.manyKeys, to: ["web"], at: 1) { _ in .all } } }
        // It has read the first part when the second one is written.
        let undoing = desk(before: {
            undoes += 1
            if undoes == 1 { turns.pass(from: 0) }
        })
        _ = try undoing.undo(1)
        turns.pass(from: 0)
        expectIncomplete { _ = try outcome?.get() }
        run()
        #expect(receivers[0].files[.managed]?["d0"] ?? [:] == [:])
    }

    @Test("Two operators who undo two rollouts of a key at the same time set the value from before both")
    func undoneTogether() throws {
        let numbers = try (5...7).map { try push(["k": .integer($0)], to: ["web"]) }
        var other: Result<Void, any Error>?
        let undoing = desk(before: {
            if other == nil { other = Result { _ = try desk.undo(numbers[1]) } }
        })
        _ = try undoing.undo(numbers[2])
        try other?.get()
        run()
        #expect(values("k").allSatisfy { $0 == 5 })
    }

    @Test("An undo of a removal leaves what later rollouts have removed, also when the marks of removals are gone")
    func expiredRemovals() throws {
        func expire() {
            for name in service.registers.keys where name.hasPrefix(RegisterName.pushed(PlainSeal())) {
                service.expire(name)
            }
        }
        _ = try push(["k": 3], to: ["web"])
        let removal = try push(["k": nil], to: ["web"])
        expire()
        _ = try desk.undo(removal)
        run()
        #expect(values("k").allSatisfy { $0 == 3 })
        let second = try push(["k": nil], to: ["web"])
        _ = try push(["k": 4], to: ["web"])
        _ = try push(["k": nil], to: ["web"])
        expire()
        #expect(throws: OperatorFailure.self) { try desk.undo(second) }
        #expect(throws: OperatorFailure.self) { try desk.undo(removal) }
        run()
        #expect(values("k").allSatisfy { $0 == nil })
    }

    @Test("A machine with more problems than a report has room for doesn't count the other keys as set")
    func manyProblems() throws {
        let number = try desk.push(Self.manyKeys, to: ["web"], at: 1) { _ in .all }.number
        run()
        receivers[0].damaged = ["d0"]
        _ = try desk.push([PushedKey("k", of: "d1", in: .managed): 1], to: ["web"], at: 1) { _ in .all }
        run()
        let report = try desk.receivers().first { $0.machine == receivers[0].machine }
        #expect(report?.problems.count == 200)
        #expect(report?.counts[number] == 200)
        #expect(report?.omitted == 50)
        // Nothing is to be reported again while it stays so.
        #expect(receivers[0].receiver?.hasNews() == false)
        receivers[0].damaged = []
        #expect(receivers[0].receiver?.hasNews() == true)
    }

    @Test("What could be set after all is reported, also if a push to another group has brought that about")
    func recovery() throws {
        receivers[0].damaged = ["d0"]
        _ = try push(["k": 1], to: ["web"])
        run()
        receivers[0].damaged = []
        _ = try push(["k": 1], to: ["db"])
        #expect(try receivers[0].receiver?.follow(within: 0) == .changes)
    }

    @Test("A key that isn't there can't be removed, unless another group has it")
    func absence() throws {
        _ = try push(["k": 1], to: ["db"])
        expectAbsent("k") { _ = try push(["k": nil], to: ["web"]) }
        expectAbsent("l") { _ = try push(["k": nil, "l": nil], to: ["db"]) }
        _ = try push(["k": nil], to: ["web", "db"])
        expectAbsent("k") { _ = try push(["k": nil], to: ["web", "db"]) }
        run()
        #expect(values("k").allSatisfy { $0 == nil })
    }

    @Test("A push whose answer was lost, and that is refused after that, may have been written")
    func refusedWhileUnknown() throws {
        let connection = SimulatedRegisters.Connection(to: service)
        connection.interruption = { connection.refuses = true }
        let pushing = Operator(connection, with: PlainSeal(), as: "operator", retryingAfter: .zero)
        #expect {
            try pushing.push([Self.key("k"): 1], to: ["web"], at: 1) { _ in .all }
        } throws: { error in
            if case .unknownOutcome(1, .refused)? = error as? OperatorFailure { true } else { false }
        }
        #expect(try desk.rollout(1) != nil)
    }

    @Test("A report and a state of an earlier version can be read")
    func earlierVersion() throws {
        _ = try push(["k": 1], to: ["web"])
        run()
        guard case .dictionary(var entries) = ReceiverState(receivers[0].machine).propertyList else {
            Issue.record("A state is a dictionary.")
            return
        }
        #expect(entries.removeValue(forKey: "kept") != nil)
        #expect(ReceiverState(.dictionary(entries))?.machine == receivers[0].machine)
        // A report without omitted keys is as before.
        let seal = PlainSeal()
        let register = try #require(service.registers[RegisterName.receiver(receivers[0].machine, seal)])
        let report = try PropertyListValue(parsing: seal.open(register.contents, for: register.name))
        guard case .dictionary(let values) = report else { return }
        #expect(values["omitted"] == nil)
        #expect(try desk.receivers().count == receivers.count)
    }

    @Test("A machine whose files were lost sets everything again when it is told to, and keeps what isn't pushed")
    func lostFiles() throws {
        _ = try push(["k": 1, "l": 1], to: ["all"])
        run()
        receivers[0].files[.managed]?["d0"] = ["own": 5]
        run()
        #expect(receivers[0].files[.managed]?["d0"] == ["own": 5])
        receivers[0].restore()
        run()
        #expect(receivers[0].files[.managed]?["d0"] == ["k": 1, "l": 1, "own": 5])
        // A value no longer pushed is still removed.
        receivers[0].restore()
        _ = try push(["l": nil], to: ["all"])
        run()
        #expect(receivers[0].files[.managed]?["d0"] == ["k": 1, "own": 5])
    }

    @Test("A file that can't be written is reported with its reason, and the others are set")
    func damagedFile() throws {
        receivers[0].damaged = ["d0"]
        _ = try desk.push([Self.key("k"): 1, PushedKey("k", of: "d1", in: .system): 2], to: ["web"], at: 1) { _ in .all
        }
        run()
        #expect(receivers[0].files[.system]?["d1"] == ["k": 2])
        #expect(try desk.receivers().first { $0.machine == receivers[0].machine }?.problems.count == 1)
        receivers[0].damaged = []
        receivers[0].end()
        run()
        #expect(receivers[0].files[.managed]?["d0"] == ["k": 1])
        #expect(try desk.receivers().allSatisfy { $0.problems.isEmpty })
    }

    @Test("A push of many keys is written in parts, and undone as one")
    func parts() throws {
        let values = Dictionary(uniqueKeysWithValues: (0..<450).map { ("k\($0)", PropertyListValue?.some(1)) })
        let number = try push(values, to: ["web"])
        run()
        #expect(receivers[0].files[.managed]?["d0"]?.count == 450)
        _ = try desk.undo(number)
        run()
        #expect(receivers[0].files[.managed]?["d0"]?.isEmpty == true)
    }

    // MARK: Worlds

    /// With `DEFAULTSD_FLEET_WORLDS=8`, eight times as many are tried.
    @Test("All machines come to have what was pushed, whatever happens to them and to the service")
    func worlds() {
        for seed in 1...300 * FleetTests.factor {
            let findings = RolloutWorld(seed: seed).findings()
            if findings.isEmpty { continue }
            Issue.record("seed \(seed): \(findings.joined(separator: " "))")
            return
        }
    }
}

/// Two threads that take turns.
private final class Turns: Sendable {
    private let turns = [DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)]

    /// Runs the second thread until it passes its turn or ends.
    func begin(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [turns] in
            body()
            turns[0].signal()
        }
        turns[0].wait()
    }

    func pass(from thread: Int) {
        turns[1 - thread].signal()
        turns[thread].wait()
    }
}

/// Operators and receivers that a seed drives through faults, with a model of what must come of it.
private final class RolloutWorld {
    private struct Pushed {
        let number: Int64
        let group: String
        let key: String
        let value: PropertyListValue?
        var share: Share
        var isUndone = false
    }

    private let service: SimulatedRegisters
    private var random: Generator
    private var receivers: [SimulatedReceiver] = []
    private var isHealing = false
    private var pushed: [Pushed] = []
    private var count: Int64 = 0
    private var complaints: [String] = []

    private static let keys = ["k0", "k1", "k2"]
    private static let groups = ["web", "db", "all"]

    init(seed: UInt64) {
        service = SimulatedRegisters(seed: seed)
        random = Generator(state: seed &* 31)
        for index in 0..<4 {
            let groups = [["web"], ["db"], ["web", "db"], []][index]
            receivers.append(
                SimulatedReceiver(.random(using: &random), in: groups, of: service) { [unowned self] in
                    !isHealing && Int.random(in: 0..<100, using: &random) < 5
                })
        }
    }

    /// Returns an operator who writes in parts of two changes, and between whose steps others work.
    private func desk(isAlone: Bool = false) -> Operator {
        let connection = SimulatedRegisters.Connection(to: service)
        connection.beforeWrite = { [unowned self] in
            if isAlone || isHealing || Int.random(in: 0..<20, using: &random) > 0 { return }
            Bool.random(using: &random) ? push(isAlone: true) : change(isAlone: true)
        }
        return Operator(connection, with: PlainSeal(), as: "operator", writing: 2, retryingAfter: .zero)
    }

    func findings() -> [String] {
        service.faults = .init(isUnreachable: 5, losesAnswer: 5, losesEvent: 10, repeatsEvent: 10)
        for _ in 0..<80 { step() }
        (isHealing, service.faults) = (true, .init())
        for rollout in (try? desk().rollouts()) ?? [] where rollout.unfinished != nil {
            do { _ = try desk().undo(rollout.number) } catch { complaints.append("It can't be undone: \(error).") }
        }
        for receiver in receivers {
            for _ in 0..<4 where !receiver.run(examining: true) { complaints.append("A receiver has no rest.") }
        }
        examine()
        return complaints
    }

    private func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<20: push()
        case 20..<27: change()
        case 27..<30: service.compact()
        case 30..<35: receivers.randomElement(using: &random)?.end()
        default: receivers.randomElement(using: &random)?.run(examining: Int.random(in: 0..<5, using: &random) == 0)
        }
    }

    private func push(isAlone: Bool = false) {
        guard let group = Self.groups.randomElement(using: &random) else { return }
        let keys = Self.keys.filter { _ in Bool.random(using: &random) }
        if keys.isEmpty { return }
        count += 1
        let value: PropertyListValue? = count % 6 == 0 ? nil : .integer(count)
        let machines = receivers.map(\.machine)
        let size = Bool.random(using: &random) ? 4 : Int.random(in: 1...3, using: &random)
        let values = Dictionary(uniqueKeysWithValues: keys.map { (PushedKey($0, of: "d0", in: .managed), value) })
        do {
            let rollout = try desk(isAlone: isAlone).push(values, to: [group], at: 1) { number in
                size == 4 ? .all : Share(of: size, among: machines, in: number)
            }
            for key in keys {
                pushed.append(
                    Pushed(number: rollout.number, group: group, key: key, value: value, share: rollout.share))
            }
        } catch OperatorFailure.unfinished {
        } catch {
            // The operator doesn't know whether it was written; the registers tell.
            settle()
        }
    }

    private func change(isAlone: Bool = false) {
        guard let number = pushed.randomElement(using: &random)?.number else { return }
        let undoes = Bool.random(using: &random)
        let desk = desk(isAlone: isAlone)
        do { _ = try undoes ? desk.undo(number) : desk.set(.all, of: number) } catch { return settle() }
        settle()
    }

    /// Takes over from the records what was written.
    private func settle() {
        let faults = service.faults
        service.faults = .init()
        defer { service.faults = faults }
        guard let rollouts = try? desk().rollouts() else { return complaints.append("The records can't be read.") }
        pushed = rollouts.flatMap { rollout in
            rollout.changes.map {
                Pushed(
                    number: rollout.number, group: $0.group, key: $0.key.key, value: $0.value, share: rollout.share,
                    isUndone: rollout.isUndone)
            }
        }
    }

    private func examine() {
        settle()
        for receiver in receivers {
            for key in Self.keys {
                // For each group, the last rollout that wasn't undone; of those, the last one.
                var wanted: (number: Int64, value: PropertyListValue)?
                for group in Set(receiver.groups + [PushedEntry.everyone]) {
                    let standing = pushed.filter {
                        $0.group == group && $0.key == key && !$0.isUndone
                            && $0.share.includes(receiver.machine, in: $0.number)
                    }
                    guard let last = standing.max(by: { $0.number < $1.number }), let value = last.value else {
                        continue
                    }
                    if wanted.map({ $0.number < last.number }) ?? true { wanted = (last.number, value) }
                }
                let found = receiver.files[.managed]?["d0"]?[key]
                if found != wanted?.value {
                    complaints.append("\(key) is \(found as Any), not \(wanted as Any), on \(receiver.groups).")
                }
            }
        }
    }
}
