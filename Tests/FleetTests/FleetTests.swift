import DefaultsCore
import Fleet
import Glibc
import PropertyList
import Testing

/// Real connectors in simulated worlds, each of which a seed repeats.
///
/// With `DEFAULTSD_FLEET_WORLDS=8`, eight times as many are tried: 10,000.
@Suite("Fleets in simulated worlds")
struct FleetTests {
    static let factor = getenv("DEFAULTSD_FLEET_WORLDS").flatMap { UInt64(String(cString: $0)) } ?? 1

    private static func tryOut(_ count: UInt64, _ kind: World.Kind) {
        for seed in 1...count * factor {
            let world = World(seed: seed, kind)
            for _ in 0..<120 { world.step() }
            if !world.heal() { world.findings.append("There is no rest.") }
            world.examine()
            if world.findings.isEmpty { continue }
            Issue.record("seed \(seed): \(world.findings.joined(separator: " "))")
            return
        }
    }

    @Test("The last edit counts on all machines, whatever happens to files and processes")
    func lastEdit() { Self.tryOut(500, World.Kind()) }

    @Test("Machines come to have the same values with wrong clocks")
    func clocks() { Self.tryOut(250, World.Kind(hasWrongClocks: true)) }

    @Test("Machines come to have the same values after logs are lost")
    func logs() { Self.tryOut(250, World.Kind(losesLogs: true)) }

    @Test("Machines come to have the same values while the list of what travels changes")
    func lists() { Self.tryOut(250, World.Kind(changesList: true)) }

    @Test("The list of what travels and the last edits survive directories that go and come back")
    func directories() { Self.tryOut(250, World.Kind(movesDirectories: true)) }

    @Test("The last edit counts on all machines, whatever tools do to files")
    func damage() { Self.tryOut(250, World.Kind(damagesFiles: true)) }

    @Test("Edits of lost machines that any machine has reach all, also if that one holds them back")
    func lostMachines() { Self.tryOut(250, World.Kind(losesMachines: true, holdsValuesBack: true)) }

    @Test("Machines come to have the same values after homes are restored")
    func restoredHomes() { Self.tryOut(250, World.Kind(restoresHomes: true)) }

    @Test("Machines come to have the same values although some are copies of others")
    func copies() { Self.tryOut(250, World.Kind(copiesMachines: true)) }

    @Test("Machines come to have the same values although some are copies, and the list of what travels changes")
    func copiesAndLists() { Self.tryOut(250, World.Kind(changesList: true, copiesMachines: true)) }

    @Test("Machines come to have the same values although tools damage files of keys that some hold back")
    func damageAndHeldBack() { Self.tryOut(250, World.Kind(damagesFiles: true, holdsValuesBack: true)) }

    // MARK: Single cases

    /// Creates two members, of which the first has a value that has travelled.
    private static func pair() -> (world: World, one: SimulatedMachine, other: SimulatedMachine) {
        let world = World(machines: 2)
        #expect(world.heal())
        world.machines[0].change(["k0": 1, "k1": 2], of: "d0")
        #expect(world.heal())
        #expect(world.machines[1].values["d0"] == ["k0": 1, "k1": 2])
        return (world, world.machines[0], world.machines[1])
    }

    @Test("A key that an agent refuses doesn't keep others from being set, and is named while it waits")
    func refusedKey() {
        let (world, one, other) = Self.pair()
        other.refused = ["k0"]
        one.change(["k0": 3, "k1": 4], of: "d0")
        _ = world.heal()
        #expect(other.values["d0"] == ["k0": 1, "k1": 4])
        #expect(other.connector?.problems.values.count == 1)
        // An edit here settles it.
        other.refused = []
        other.change(["k0": 5], of: "d0")
        #expect(world.heal())
        #expect(one.values["d0"] == ["k0": 5, "k1": 4])
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("A domain whose file is lost together with the history comes back from the fleet")
    func lostFile() {
        let (world, one, other) = Self.pair()
        for machine in [one, other] {
            machine.loseLog(and: "d0")
            #expect(world.heal())
            #expect(one.values["d0"] == ["k0": 1, "k1": 2])
            #expect(other.values["d0"] == ["k0": 1, "k1": 2])
        }
    }

    @Test("A list whose directory goes and comes back stays in force, and younger values of others stay")
    func directoryGoesAndComesBack() {
        for (hours, restarts) in [(0, false), (1, false), (0, true), (1, true)] {
            let (world, one, other) = Self.pair()
            let lists = [TravelRules.list, TravelRules.machines].map { other.values[$0] }
            one.moveAway()
            if restarts { one.connector = nil }
            world.runOne(one)
            world.wait(milliseconds: UInt64(hours) * 3_600_000)
            #expect(world.rest())
            #expect([TravelRules.list, TravelRules.machines].map { other.values[$0] } == lists)
            #expect(other.values["d0"]?["k0"] == (hours == 0 ? 1 : nil))
            other.change(["k0": 5], of: "d0")
            #expect(world.rest())
            one.moveBack()
            #expect(world.heal())
            for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 5, "k1": 2]) }
            #expect(other.values[TravelRules.list] == lists[0])
        }
    }

    @Test("A domain whose whole file goes waits for a minute, is named, and is removed on all machines then")
    func fileGoes() {
        let (world, one, other) = Self.pair()
        one.moveAway("d0")
        world.runOne(one)
        #expect(one.connector?.problems.values.contains(.away("d0", 2)) == true)
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 1, "k1": 2])
        world.wait(milliseconds: 60_000)
        #expect(world.rest())
        #expect(one.connector?.problems.isEmpty == true)
        #expect(other.values["d0"] ?? [:] == [:])
    }

    @Test("A value that another machine edits while its directory is away replaces the one that comes back")
    func editWhileAway() {
        for wait in [0, 60_000] as [UInt64] {
            let (world, one, other) = Self.pair()
            one.change(["k1": nil], of: "d0")
            #expect(world.heal())
            one.moveAway()
            world.runOne(one)
            world.wait(milliseconds: 10)
            other.change(["k0": 5], of: "d0")
            #expect(world.rest())
            world.wait(milliseconds: wait)
            #expect(world.rest())
            #expect(other.values["d0"] == ["k0": 5])
            one.moveBack()
            #expect(world.rest())
            for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 5]) }
        }
    }

    @Test("A file that goes before another machine's older edit arrives is removed on all machines nevertheless")
    func olderEditWhileAway() {
        let (world, one, other) = Self.pair()
        one.change(["k1": nil], of: "d0")
        #expect(world.heal())
        other.change(["k0": 5], of: "d0")
        world.wait(milliseconds: 10)
        one.moveAway("d0")
        world.runOne(one)
        #expect(world.rest())
        world.wait(milliseconds: 60_000)
        #expect(world.rest())
        for machine in [one, other] { #expect(machine.values["d0"] ?? [:] == [:]) }
    }

    @Test("A snapshot that is due while a domain is away waits for it, and its younger edits stay")
    func snapshotWhileAway() {
        let (world, one, other) = Self.pair()
        one.moveAway("d0")
        world.runOne(one)
        one.change(["new": ["Name": "new"]], of: TravelRules.machines)
        #expect(world.rest())
        #expect(one.connector?.state.away["d0"]?.isSettled == false)
        #expect(one.connector?.state.files.needsSnapshot == true)
        other.change(["k0": 5], of: "d0")
        #expect(world.rest())
        one.moveBack()
        #expect(world.heal())
        for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 5, "k1": 2]) }
        #expect(one.connector?.state.files.needsSnapshot == false)
    }

    @Test("A snapshot that is due while the list of what travels is away has it")
    func snapshotWhileListIsAway() {
        let (world, one, other) = Self.pair()
        one.moveAway(TravelRules.list)
        world.runOne(one)
        let new = world.add()
        new.approver = one
        one.change([new.id.text: ["Name": "new"]], of: TravelRules.machines)
        #expect(world.rest())
        #expect(one.connector?.state.away[TravelRules.list.description]?.isSettled == false)
        #expect(new.values[TravelRules.list] == other.values[TravelRules.list])
        #expect(new.values["d0"] == ["k0": 1, "k1": 2])
    }

    @Test("A busy value isn't removed when the day ends while its domain is away")
    func busyKeyWhileAway() {
        let (world, one, other) = Self.pair()
        for number in 10..<40 { one.change(["k0": .integer(Int64(number))], of: "d0") }
        world.runOne(one)
        #expect(one.connector?.state.delayed.isEmpty == false)
        world.wait(milliseconds: 86_400_000 - world.milliseconds % 86_400_000 - 10)
        one.moveAway("d0")
        world.runOne(one)
        world.wait(milliseconds: 20)
        #expect(world.rest())
        #expect(other.values["d0"]?["k0"] != nil)
        one.moveBack()
        #expect(world.rest())
        for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 39, "k1": 2]) }
    }

    @Test("A file that goes isn't a removal at once because an app writes another key")
    func otherKeyWhileAway() {
        let (world, one, other) = Self.pair()
        one.change(["k1": nil], of: "d0")
        #expect(world.heal())
        one.moveAway("d0")
        world.runOne(one)
        one.change(["Token": 1], of: "d0")
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 1])
        world.wait(milliseconds: 60_000)
        #expect(world.rest())
        #expect(other.values["d0"] ?? [:] == [:])
    }

    @Test("Values that are removed from a file which is still there are removed on all machines at once")
    func removalInFile() {
        let (world, one, other) = Self.pair()
        one.change(["Token": 1], of: "d0")
        #expect(world.rest())
        one.change(["k0": nil, "k1": nil], of: "d0", source: .file)
        #expect(world.rest())
        #expect(one.connector?.problems.isEmpty == true)
        #expect(other.values["d0"] ?? [:] == [:])
    }

    @Test("An edit that was sent before a crash settles the one that lost before it")
    func lostEditAndCrash() {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.wait(milliseconds: 10)
        other.change(["k0": 4], of: "d0")
        #expect(world.rest())
        #expect(one.connector?.state.overruled.count == 1)
        one.crashesWhenWriting = true
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        #expect(one.connector == nil)
        one.crashesWhenWriting = false
        #expect(world.rest())
        #expect(other.values["d0"]?["k0"] == 3)
        #expect(one.connector?.state.overruled.isEmpty == true)
    }

    @Test("A list whose file is removed is written again, and only edits of its entries remove what they name")
    func listFileGoes() {
        let (world, one, other) = Self.pair()
        one.moveAway(TravelRules.list)
        world.runOne(one)
        #expect(one.connector?.problems.count == 1)
        world.wait(milliseconds: 60_000)
        #expect(world.rest())
        #expect(one.connector?.problems.isEmpty == true)
        for machine in [one, other] { #expect(machine.values[TravelRules.list] == ["d0": true, "d1": true]) }
        one.change(["d1": nil], of: TravelRules.list, source: .file)
        #expect(world.rest())
        #expect(other.values[TravelRules.list] == ["d0": true])
    }

    @Test("Different keys of one domain that two machines add at the same time both travel")
    func concurrentAdditions() {
        let (world, one, other) = Self.pair()
        one.change(["d2/x": true], of: TravelRules.list)
        other.change(["d2/y": true], of: TravelRules.list)
        one.change(["x": 1, "y": 1, "z": 1], of: "d2")
        #expect(world.heal())
        other.change(["y": 2, "z": 2], of: "d2")
        #expect(world.heal())
        #expect(one.values["d2"] == ["x": 1, "y": 2, "z": 1])
        #expect(other.values["d2"] == ["x": 1, "y": 2, "z": 2])
    }

    @Test("The edits of a machine whose files were removed reach those that hadn't read them from another machine")
    func removedMachine() {
        let world = World(machines: 3)
        #expect(world.heal())
        let (one, other, gone) = (world.machines[0], world.machines[1], world.machines[2])
        gone.change(["k0": 1], of: "d0")
        world.runOne(gone)
        one.folder[gone.id] = gone.folder[gone.id]
        world.runOne(one)
        #expect(one.values["d0"] == ["k0": 1])
        #expect(other.values["d0"] == nil)
        world.remove(gone)
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 1])
    }

    /// Creates three members, of which the first has sent `k0` to the second alone.
    private static func trio(
        before edit: (_ one: SimulatedMachine, _ other: SimulatedMachine, World) -> Void = { _, _, _ in }
    ) -> (world: World, gone: SimulatedMachine, one: SimulatedMachine, other: SimulatedMachine) {
        let world = World(machines: 3)
        #expect(world.heal())
        let (gone, one, other) = (world.machines[0], world.machines[1], world.machines[2])
        edit(one, other, world)
        gone.change(["k0": 1], of: "d0")
        world.runOne(gone)
        one.folder[gone.id] = gone.folder[gone.id]
        world.runOne(one)
        return (world, gone, one, other)
    }

    @Test("The edits of a lost machine reach others also from one whose manifest holds their keys back")
    func heldBackEdits() {
        let (world, gone, one, other) = Self.trio { one, _, _ in one.held = ["k0"] }
        #expect(one.values["d0"] == nil)
        world.remove(gone)
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 1])
        #expect(one.values["d0"] == nil)
    }

    @Test("Values that a manifest holds back since they were received reach others, but not later edits")
    func heldBackValues() {
        let (world, gone, one, other) = Self.trio()
        #expect(one.values["d0"] == ["k0": 1])
        one.held = ["k0"]
        one.connector = nil
        world.remove(gone)
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 1])
        one.change(["k0": 2], of: "d0")
        one.change(["new": ["Name": "new"]], of: TravelRules.machines)
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 1])
    }

    @Test("A snapshot that lacks a value for good isn't repeated, and no other machine asks for what none can give")
    func lostValue() throws {
        let (world, gone, one, other) = Self.trio()
        one.held = ["k0"]
        one.connector = nil
        one.change(["k0": 2], of: "d0")
        world.remove(gone)
        #expect(world.rest())
        #expect(one.connector?.state.files.omitted.keys.map(\.self) == [gone.id])
        one.change(["k1": 5], of: "d0")
        #expect(world.rest())
        #expect(other.values["d0"] == ["k1": 5])
        let files = [one.folder, other.folder]
        for _ in 0..<5 {
            world.wait(milliseconds: 3_600_000)
            #expect(world.rest())
        }
        #expect([one.folder, other.folder] == files)
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("A snapshot doesn't stand for a machine of which it lacks an edit, and is repeated once it has it")
    func incompleteSnapshot() {
        let (world, gone, one, other) = Self.trio { one, _, world in
            for number in 10..<30 { one.change(["k0": .integer(Int64(number))], of: "d0") }
            #expect(world.rest())
        }
        #expect(one.values["d0"] == ["k0": 1])
        // It has changed too often to be sent today, and the value that it had is unknown.
        one.change(["k0": 2], of: "d0")
        world.runOne(one)
        world.remove(gone)
        #expect(world.rest())
        let last = one.connector?.state.files.vector[gone.id]?.numbers.last ?? 0
        #expect(last > 0)
        #expect(other.connector?.state.files.vector[gone.id]?.numbers.contains(last...last) != true)
        #expect(one.connector?.state.files.omitted.keys.map(\.self) == [gone.id])
        #expect(world.heal())
        #expect(one.connector?.state.files.omitted.isEmpty == true)
        #expect(other.values["d0"] == ["k0": 2])
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("A machine joins with what the approving one has, although files of another one are missing for good")
    func joinWithoutFiles() {
        let (world, one, other) = Self.pair()
        other.change(["k0": 3], of: "d0")
        #expect(world.heal())
        // The tool has lost the first file of a machine that is gone.
        let files = other.folder[other.id]?.keys.sorted() ?? []
        world.remove(other)
        let new = world.add()
        for machine in [one, new] {
            machine.folder[other.id] = other.folder[other.id]?.filter { $0.key != files.first }
        }
        #expect(world.rest())
        #expect(new.hasJoined)
        #expect(new.values["d0"] == ["k0": 3, "k1": 2])
    }

    @Test("An edit that lost is named until the key is edited on its machine, whatever is edited elsewhere")
    func lostEdit() {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.wait(milliseconds: 10)
        other.change(["k0": 4], of: "d0")
        other.change(["k0": 5], of: "d0")
        #expect(world.rest())
        #expect(one.connector?.state.overruled.map(\.key) == [FleetKey("d0", "k0")])
        other.change(["k0": 6], of: "d0")
        #expect(world.rest())
        #expect(one.connector?.state.overruled.count == 1)
        one.change(["k0": 3], of: "d0")
        #expect(world.rest())
        #expect(one.connector?.state.overruled.isEmpty == true)
    }

    @Test("An edit that knew the value isn't named, in whatever order it and its successor come")
    func orderOfEdits() {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        #expect(world.rest())
        let before = Set(other.folder[other.id]?.keys.map(\.self) ?? [])
        for value in [4, 5] {
            other.change(["k0": .integer(Int64(value))], of: "d0")
            world.runOne(other)
        }
        let new = (other.folder[other.id] ?? [:]).filter { !before.contains($0.key) }.sorted { $0.key < $1.key }
        #expect(new.count == 2)
        for file in new.reversed() {
            one.folder[other.id]?[file.key] = file.value
            world.runOne(one)
        }
        #expect(one.values["d0"]?["k0"] == 5)
        #expect(one.connector?.state.overruled.isEmpty == true)
    }

    @Test("A busy value that waits for the end of the day and loses is named")
    func busyKeyLoses() {
        let (world, one, other) = Self.pair()
        for number in 10..<40 { one.change(["k0": .integer(Int64(number))], of: "d0") }
        world.runOne(one)
        world.wait(milliseconds: 10)
        other.change(["k0": 50], of: "d0")
        #expect(world.rest())
        #expect(one.values["d0"]?["k0"] == 50)
        #expect(one.connector?.state.overruled.map(\.key) == [FleetKey("d0", "k0")])
    }

    @Test("A lost list comes back, too, and everything still travels")
    func lostList() {
        let (world, one, other) = Self.pair()
        one.loseLog(and: TravelRules.list)
        #expect(world.heal())
        one.change(["k0": 7], of: "d0")
        #expect(world.heal())
        #expect(other.values["d0"]?["k0"] == 7)
        #expect(one.values[TravelRules.list] == other.values[TravelRules.list])
    }

    @Test("Values of a domain that was added long ago, while no connector ran, lose to later edits")
    func lateAddition() {
        let (world, one, other) = Self.pair()
        one.connector = nil
        one.change(["k": 1], of: "d2")
        one.change(["d2": true], of: TravelRules.list)
        world.wait(days: 1)
        other.change(["d2": true], of: TravelRules.list)
        other.change(["k": 2], of: "d2")
        world.runOne(other)
        world.wait(days: 1)
        #expect(world.heal())
        #expect(one.values["d2"] == ["k": 2])
        #expect(other.values["d2"] == ["k": 2])
    }

    @Test("Values of a domain count from its addition, also if the agent has lost its log", arguments: [false, true])
    func additionInGap(hasGap: Bool) {
        let (world, one, other) = Self.pair()
        one.connector = nil
        one.change(["k": 1], of: "d2")
        world.wait(days: 1)
        other.change(["d2": true], of: TravelRules.list)
        other.change(["k": 2], of: "d2")
        world.runOne(other)
        world.wait(days: 1)
        one.change(["d2": true], of: TravelRules.list)
        if hasGap { one.loseLog(and: nil) }
        #expect(world.heal())
        #expect(one.values["d2"] == ["k": 1])
        #expect(other.values["d2"] == ["k": 1])
    }

    @Test("A list of what travels that was received makes no edits of the values here, also if the log is lost")
    func receptionInGap() {
        let (world, one, other) = Self.pair()
        one.change(["k": 1], of: "d2")
        world.wait(days: 1)
        other.change(["d2": true], of: TravelRules.list)
        other.change(["k": 2], of: "d2")
        world.runOne(other)
        world.wait(days: 1)
        world.runOne(one)
        one.loseLog(and: nil)
        #expect(world.heal())
        #expect(one.values["d2"] == ["k": 2])
        #expect(other.values["d2"] == ["k": 2])
    }

    @Test("A lost file isn't a removal, also of a domain that was added again while the log was lost")
    func lostFileInGap() {
        let (world, one, other) = Self.pair()
        one.change(["d2": true], of: TravelRules.list)
        one.change(["k": 1], of: "d2")
        #expect(world.heal())
        one.change(["d2": nil], of: TravelRules.list)
        #expect(world.heal())
        one.connector = nil
        one.change(["d2": true], of: TravelRules.list)
        one.loseLog(and: "d2")
        #expect(world.heal())
        #expect(one.values["d2"] == ["k": 1])
        #expect(other.values["d2"] == ["k": 1])
    }

    @Test("The last value of a key that changes too often is sent when the day has ended")
    func busyKey() {
        let (world, one, other) = Self.pair()
        for number in 10..<40 { one.change(["k0": .integer(Int64(number))], of: "d0") }
        // A day later, its last value is sent.
        #expect(world.heal())
        #expect(other.values["d0"]?["k0"] == 39)
    }

    @Test("A key that changed a little each day isn't busy when all days are passed on together")
    func severalDays() {
        let (world, one, other) = Self.pair()
        one.connector = nil
        for day in 0..<3 {
            world.wait(days: 1)
            for number in 0..<15 { one.change(["k0": .integer(Int64(10 + 15 * day + number))], of: "d0") }
        }
        world.runOne(one)
        one.change(["k0": 60], of: "d0")
        #expect(world.rest())
        #expect(other.values["d0"]?["k0"] == 60)
    }

    // MARK: Files

    @Test("Edits of a home that was restored with its folder travel, and it gets those that it has lost")
    func restoredHome() {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        one.backUp()
        one.change(["k0": 3], of: "d0")
        #expect(world.rest())
        one.restore(withFolder: true)
        one.change(["k1": 4], of: "d0")
        #expect(world.rest(passing: 30_000))
        for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 3, "k1": 4]) }
    }

    @Test("A restored home that edits nothing finds out from another machine's files, and gets its own edits back")
    func restoredHomeWithoutEdits() {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        one.backUp()
        let id = one.id
        one.change(["k0": 3], of: "d0")
        #expect(world.rest())
        other.change(["k1": 4], of: "d0")
        #expect(world.rest())
        one.restore(withFolder: true)
        #expect(world.rest(passing: 30_000))
        for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 3, "k1": 4]) }
        #expect(one.id != id)
        let former = FleetFileName.all(in: one.folder[id]?.keys.map(\.self) ?? [], of: id)
        #expect(!former.isEmpty)
        #expect(former.allSatisfy { one.connector?.state.files.standsFor($0) == true })
    }

    @Test("A copy of a machine that never edits gets what the original edits, and both go on")
    func copy() {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        one.backUp()
        let copy = world.add()
        copy.restore(from: one, withFolder: true)
        world.runOne(copy)
        one.change(["k0": 3], of: "d0")
        #expect(world.rest(passing: 30_000))
        #expect(copy.values["d0"] == ["k0": 3, "k1": 2])
        #expect(copy.id != one.id)
        copy.change(["k1": 4], of: "d0")
        #expect(world.rest(passing: 30_000))
        for machine in [one, other, copy] { #expect(machine.values["d0"] == ["k0": 3, "k1": 4]) }
    }

    @Test("A key that the original removes while the file of its copy is away stays removed when the file is back")
    func removalByOriginal() {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        one.backUp()
        let copy = world.add()
        copy.restore(from: one, withFolder: true)
        one.change(["k1": 3], of: "d0")
        #expect(world.rest(passing: 30_000))
        #expect(copy.former == [one.id])
        copy.moveAway("d0")
        world.runOne(copy)
        world.wait(milliseconds: 10)
        one.change(["k0": nil], of: "d0")
        #expect(world.rest())
        world.wait(milliseconds: 60_000)
        #expect(world.rest())
        copy.moveBack()
        #expect(world.rest(passing: 30_000))
        for machine in [one, other, copy] { #expect(machine.values["d0"] == ["k1": 3]) }
    }

    @Test("A copy and its original that both edit before their folders meet lose neither edit")
    func editedCopy() {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        one.backUp()
        let copy = world.add()
        copy.restore(from: one, withFolder: true)
        let id = one.id
        one.change(["k0": 3], of: "d0")
        copy.change(["k1": 4], of: "d0")
        for machine in [one, copy] { world.runOne(machine) }
        #expect(world.rest(passing: 30_000))
        for machine in [one, other, copy] { #expect(machine.values["d0"] == ["k0": 3, "k1": 4]) }
        #expect(copy.id != one.id)
        #expect(other.connector?.problems.values.contains(.copied(id)) == true)
        world.wait(days: 1)
        #expect(world.rest())
        #expect(other.connector?.problems.values.contains(.copied(id)) == false)
    }

    @Test("A conflict copy is found in whatever order it and the original come", arguments: [false, true])
    func conflictCopy(isFirst: Bool) throws {
        let (world, one, other) = Self.pair()
        let before = one.folder[one.id] ?? [:]
        one.backUp()
        var files: [String: [UInt8]] = [:]
        for (key, suffix) in [("k0", ""), ("k1", " (conflicted copy)")] {
            one.restore(withFolder: true)
            one.change([key: 3], of: "d0")
            world.runOne(one)
            let file = try #require(one.folder[one.id]?.first { before[$0.key] == nil })
            files["\(file.key.dropLast(4))\(suffix).env"] = file.value
        }
        for file in files.sorted(by: { ($0.key.count > $1.key.count) == isFirst }) {
            other.folder[one.id]?[file.key] = file.value
            world.runOne(other)
        }
        #expect(other.values["d0"] == ["k0": 3, "k1": 3])
        #expect(other.connector?.problems.values.map(\.self) == [.copied(one.id)])
        #expect(other.folder[other.id]?.keys.contains { $0.hasSuffix(".snap") } == true)
    }

    /// Creates two members, and files that two machines have written as the first one, in order.
    private static func forkedPair(
        _ count: Int
    ) throws -> (world: World, one: SimulatedMachine, other: SimulatedMachine, forks: [[(String, [UInt8])]]) {
        let (world, one, other) = Self.pair()
        one.backUp()
        var forks: [[(String, [UInt8])]] = []
        for key in ["k0", "k1"] {
            one.restore(withFolder: true)
            var files: [(String, [UInt8])] = []
            for number in 0..<count {
                let before = one.folder[one.id] ?? [:]
                one.change([key: .integer(Int64(30 + number))], of: "d0")
                world.runOne(one)
                let file = try #require(one.folder[one.id]?.first { before[$0.key] == nil })
                files.append((file.key, file.value))
            }
            forks.append(files)
        }
        return (world, one, other, forks)
    }

    @Test("Each pair of different files with one number makes a snapshot that has the edits of both")
    func laterForks() throws {
        let (world, one, other, forks) = try Self.forkedPair(2)
        let before = other.folder[other.id] ?? [:]
        var snapshots: Set<String> = []
        for number in 0..<2 {
            for (fork, suffix) in zip(forks, ["", " (conflicted copy)"]) {
                let (name, bytes) = fork[number]
                other.folder[one.id]?["\(name.dropLast(4))\(suffix).env"] = bytes
            }
            world.runOne(other)
            let names = other.folder[other.id]?.keys.filter { $0.hasSuffix(".snap") && before[$0] == nil } ?? []
            snapshots.formUnion(names)
            #expect(snapshots.count == number + 1)
        }
        #expect(other.values["d0"] == ["k0": 31, "k1": 31])
    }

    @Test("A restored machine is found also if its new file has sets beyond the last one that was received")
    func longerFork() {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        one.backUp()
        one.change(["k0": 3], of: "d0")
        #expect(world.rest())
        one.restore(withFolder: true)
        other.connector = nil
        for value in [5, 6] { one.change(["k1": .integer(Int64(value))], of: "d0") }
        world.runOne(one)
        other.folder[one.id] = one.folder[one.id]
        world.runOne(other)
        #expect(other.connector?.problems.values.contains(.copied(one.id)) == true)
        #expect(world.rest(passing: 30_000))
        for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 3, "k1": 6]) }
    }

    @Test("Two equal conflict copies that come while no connector runs are read")
    func equalConflictCopies() throws {
        let (world, one, other, forks) = try Self.forkedPair(1)
        other.folder[one.id]?[forks[0][0].0] = forks[0][0].1
        world.runOne(other)
        other.connector = nil
        for name in ["a", "b"] { other.folder[one.id]?["\(forks[1][0].0.dropLast(4)) (\(name)).env"] = forks[1][0].1 }
        world.runOne(other)
        #expect(other.values["d0"] == ["k0": 30, "k1": 30])
        #expect(other.connector?.problems.values.contains(.copied(one.id)) == true)
    }

    @Test("A copied machine doesn't keep its missing files from being named")
    func copiedAndMissing() throws {
        let (world, one, other, forks) = try Self.forkedPair(3)
        for number in [0, 2] { other.folder[one.id]?[forks[0][number].0] = forks[0][number].1 }
        other.folder[one.id]?["\(forks[1][0].0.dropLast(4)) (a).env"] = forks[1][0].1
        world.runOne(other)
        let problems = other.connector?.problems.values.map(\.self) ?? []
        #expect(problems.contains(.copied(one.id)))
        #expect(problems.contains { if case .missing(one.id, _) = $0 { true } else { false } })
    }

    @Test("A snapshot has edits whose entry in the list came after it")
    func lateEntry() {
        let (world, one, other) = Self.pair()
        one.change(["d2": true], of: TravelRules.list)
        one.change(["k": 1], of: "d2")
        world.runOne(one)
        let withEntry = one.folder[one.id]
        one.change(["k": 2], of: "d2")
        world.runOne(one)
        other.folder[one.id] = one.folder[one.id]?.filter { withEntry?[$0.key] == nil }
        other.change(["new": ["Name": "new"]], of: TravelRules.machines)
        world.runOne(other)
        func edits() -> [PropertyListValue?] {
            let files = (other.folder[other.id] ?? [:]).compactMap { name, bytes in
                FleetFileName(name, of: other.id).flatMap { try? FleetFile($0, opening: bytes, with: PlainSeal()) }
            }
            let envelopes = files.flatMap(\.sets).flatMap(\.envelopes)
            return envelopes.filter { $0.key == FleetKey("d2", "k") }.map(\.value)
        }
        #expect(edits() == [])
        other.folder[one.id] = one.folder[one.id]
        for _ in 0..<2 { world.runOne(other) }
        #expect(edits() == [2])
    }

    @Test("A machine that can't give an edit of its own anymore goes on under another identifier")
    func lostOwnEdit() throws {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        let (id, before) = (one.id, one.folder[one.id] ?? [:])
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        let file = try #require(one.folder[id]?.first { before[$0.key] == nil })
        one.folder[id]?[file.key] = nil
        one.held = ["k0"]
        one.connector = nil
        one.change(["k0": 4], of: "d0")
        one.change(["k1": 5], of: "d0")
        #expect(world.rest(passing: 3_600_000))
        #expect(one.id != id)
        #expect(other.values["d0"] == ["k0": 1, "k1": 5])
        let name = try #require(FleetFileName(file.key, of: id))
        #expect(other.connector?.state.files.vector[id]?.numbers.contains(name.first...name.last) != true)
    }

    @Test("A connector doesn't go on with the state of another identifier")
    func otherIdentifier() {
        let (_, one, other) = Self.pair()
        #expect(throws: DefaultsError.self) {
            _ = try Connector(
                other.id, following: one, by: FileExchange(of: other.id, by: one, with: PlainSeal()),
                keepingStateIn: one, scope: { _ in .roaming })
        }
    }

    @Test("A machine goes on although it can't read an own file that its state needs", arguments: [false, true])
    func unreadableOwnFile(isNeeded: Bool) throws {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        let (id, before) = (one.id, one.folder[one.id] ?? [:])
        one.crashesWhenWriting = !isNeeded
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        one.crashesWhenWriting = false
        let file = try #require(one.folder[id]?.first { before[$0.key] == nil })
        one.unreadableFiles = [file.value]
        one.connector = nil
        if isNeeded { one.loseLog(and: "d0") }
        other.change(["k1": 4], of: "d0")
        #expect(world.rest(passing: 30_000))
        #expect(one.id != id)
        #expect(one.connector?.state.files.readsOwn == false)
        #expect(one.values["d0"]?["k1"] == 4)
        one.unreadableFiles = []
        #expect(world.rest())
        for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 3, "k1": 4]) }
    }

    @Test("A machine whose subfolder was away still tells of files that are missing here")
    func returnedSubfolder() {
        let world = World(machines: 3)
        #expect(world.heal())
        let (one, other, third) = (world.machines[0], world.machines[1], world.machines[2])
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        third.folder[one.id] = one.folder[one.id]
        world.runOne(third)
        third.change(["k1": 4], of: "d0")
        world.runOne(third)
        for folder in [third.folder[third.id], nil, third.folder[third.id]] {
            other.folder[third.id] = folder
            world.runOne(other)
            let problems = other.connector?.problems.values.map(\.self) ?? []
            #expect(problems.contains { if case .missing(one.id, _) = $0 { true } else { false } } == (folder != nil))
        }
    }

    @Test("Edits in a file that the system refuses to read come from a machine that has it")
    func refusedFile() throws {
        let (world, gone, one, other) = Self.trio()
        let file = try #require(gone.folder[gone.id]?.first { other.folder[gone.id]?[$0.key] == nil })
        other.folder[gone.id] = gone.folder[gone.id]
        other.unreadableFiles = [file.value]
        for _ in 0..<4 {
            world.wait(milliseconds: 60_000)
            world.runOne(other)
            one.folder[other.id] = other.folder[other.id]
            world.runOne(one)
            other.folder[one.id] = one.folder[one.id]
        }
        world.runOne(other)
        #expect(other.values["d0"] == ["k0": 1])
    }

    @Test("A machine that edits nothing says what it has received although its clock was years ahead meanwhile")
    func wrongClock() {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        other.folder[one.id] = one.folder[one.id]
        other.clockOffset = 10 * 365 * 86_400_000
        world.runOne(other)
        other.clockOffset = 0
        let before = other.folder[other.id]
        world.wait(days: 2)
        world.runOne(other)
        #expect(other.folder[other.id] != before)
    }

    @Test("A subfolder that goes between a reception and a snapshot is made again")
    func removedSubfolderBeforeSnapshot() throws {
        let (world, one, _) = Self.pair()
        one.folder[one.id] = nil
        #expect(try one.connector?.settle() == true)
        #expect(one.folder[one.id]?.keys.map(\.self).count { $0.hasSuffix(".snap") } == 1)
        #expect(world.rest())
    }

    @Test("Files that were only late make no snapshot after they have come")
    func lateFiles() {
        let (world, one, other) = Self.pair()
        func bring(_ files: [String: [UInt8]], times: Int) {
            other.folder[one.id] = files
            for _ in 0..<times {
                world.wait(milliseconds: 30_000)
                world.runOne(other)
            }
        }
        // The only snapshot of the hour.
        bring([:], times: 3)
        let files = one.folder[one.id] ?? [:]
        bring(files, times: 1)
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        bring(one.folder[one.id] ?? [:], times: 1)
        bring(files, times: 3)
        #expect(other.connector?.state.files.isSnapshotDue(at: world.milliseconds + 86_400_000) == true)
        bring(one.folder[one.id] ?? [:], times: 1)
        #expect(other.connector?.state.files.isSnapshotDue(at: world.milliseconds + 86_400_000) == false)
    }

    @Test("A joiner doesn't take the snapshot of a machine that lacks files of the approving one for its snapshot")
    func joinWithLaterSnapshot() throws {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        let new = world.add()
        let before = one.folder[one.id]
        // Its file is there, but not yet its snapshot.
        one.crashesWhenWriting = true
        one.change([new.id.text: ["Name": "new"]], of: TravelRules.machines)
        world.runOne(one)
        new.prepare()
        let connector = try Connector(
            new.id, following: new, by: FileExchange(of: new.id, by: new, with: PlainSeal()), keepingStateIn: new,
            scope: { _ in .roaming })
        try connector.forgetFormerFleet()
        let approval = (one.folder[one.id] ?? [:]).filter { before?[$0.key] == nil }
        #expect(approval.count == 1)
        for (files, isComplete) in [(approval, false), (one.folder[one.id] ?? [:], true)] {
            other.folder[one.id] = (other.folder[one.id] ?? [:]).merging(files) { $1 }
            other.change(["new": ["Name": .string("\(isComplete)")]], of: TravelRules.machines)
            world.runOne(other)
            new.folder[other.id] = other.folder[other.id]
            _ = try connector.meet()
            #expect(connector.hasApproval == isComplete)
        }
    }

    @Test("An own file that a tool has emptied is replaced, also while the connector runs", arguments: [false, true])
    func damagedFile(restarts: Bool) {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        let names = Set(one.folder[one.id]?.keys.map(\.self) ?? []).subtracting(
            other.folder[one.id]?.keys.map(\.self) ?? [])
        #expect(names.count == 1)
        for name in names { one.folder[one.id]?[name] = [] }
        if restarts { one.connector = nil }
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 3, "k1": 2])
        #expect(one.folder[one.id]?.values.contains([]) == false)
    }

    @Test("An own subfolder that was emptied or removed is filled again", arguments: [false, true], [false, true])
    func emptiedSubfolder(isRemoved: Bool, hasEdit: Bool) {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        one.folder[one.id] = isRemoved ? nil : [:]
        if hasEdit { one.change(["k1": 4], of: "d0") }
        #expect(world.rest())
        #expect(other.values["d0"] == ["k0": 3, "k1": hasEdit ? 4 : 2])
    }

    @Test("An own subfolder that is removed when values are lost is made again, since others' files are there")
    func removedSubfolderAfterLoss() {
        let (world, one, other) = Self.pair()
        one.loseLog(and: "d0")
        one.change(["k0": 3], of: "d1")
        one.folder[one.id] = nil
        world.mayRenew = true
        #expect(world.rest(passing: 30_000))
        for machine in [one, other] {
            #expect(machine.values["d0"] == ["k0": 1, "k1": 2])
            #expect(machine.values["d1"] == ["k0": 3])
        }
    }

    @Test("Newest files that a third machine has and another lacks are named, and come from the third one")
    func withheldFiles() {
        let world = World(machines: 3)
        #expect(world.heal())
        let (one, other, third) = (world.machines[0], world.machines[1], world.machines[2])
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        third.folder[one.id] = one.folder[one.id]
        world.runOne(third)
        third.change(["k1": 4], of: "d0")
        world.runOne(third)
        other.folder[third.id] = third.folder[third.id]
        world.runOne(other)
        let problems = other.connector?.problems.values.map(\.self) ?? []
        #expect(problems.contains { if case .missing(one.id, _) = $0 { true } else { false } })
        // The first machine is gone for good.
        for _ in 0..<6 {
            world.wait(milliseconds: 30_000)
            world.runOne(other)
            third.folder[other.id] = other.folder[other.id]
            world.runOne(third)
            other.folder[third.id] = third.folder[third.id]
        }
        world.runOne(other)
        #expect(other.values["d0"] == ["k0": 3, "k1": 4])
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("Newest files of a lost machine that another one lacks are named, although no machine edits anymore")
    func withheldFilesWithoutEdits() {
        let world = World(machines: 3)
        #expect(world.heal())
        let (one, other, third) = (world.machines[0], world.machines[1], world.machines[2])
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        third.folder[one.id] = one.folder[one.id]
        world.runOne(third)
        world.wait(days: 1)
        world.runOne(third)
        other.folder[third.id] = third.folder[third.id]
        world.runOne(other)
        let problems = other.connector?.problems.values.map(\.self) ?? []
        #expect(problems.contains { if case .missing(one.id, _) = $0 { true } else { false } })
    }

    @Test("A machine joins although the one that approved it was restored, and goes on under another identifier")
    func joinAfterRestoredApproval() {
        let (world, one, other) = Self.pair()
        world.mayRenew = true
        one.backUp()
        let (new, id) = (world.add(), one.id)
        new.approver = one
        one.change([new.id.text: ["Name": "new"]], of: TravelRules.machines)
        // Its file is there, but not yet its snapshot.
        one.crashesWhenWriting = true
        world.runOne(one)
        one.crashesWhenWriting = false
        one.restore(withFolder: false)
        #expect(world.rest())
        #expect(one.id != id)
        for machine in [one, other, new] { #expect(machine.values["d0"] == ["k0": 1, "k1": 2]) }
    }

    @Test("An own file that can't be read is named, replaced and left alone, and others' edits arrive")
    func unreadableFile() throws {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        let file = try #require(one.folder[one.id]?.max { $0.key < $1.key })
        one.unreadableFiles = [file.value]
        one.connector = nil
        other.change(["k1": 4], of: "d0")
        #expect(world.rest())
        let path = "\(one.id)/\(file.key)"
        #expect(one.connector?.problems.values.map(\.self) == [.unreadable(path, 13)])
        #expect(one.folder[one.id]?.keys.sorted().contains { $0.hasSuffix(".snap") } == true)
        #expect(one.folder[one.id]?[file.key] == file.value)
        for machine in [one, other] { #expect(machine.values["d0"] == ["k0": 3, "k1": 4]) }
        one.unreadableFiles = []
        #expect(world.rest())
        #expect(one.connector?.problems.isEmpty == true)
    }

    @Test("A request for missing sets is repeated, also in a snapshot that replaces it, and ends with the subfolder")
    func repeatedRequest() {
        let world = World(machines: 3)
        #expect(world.heal())
        let (gone, one, other) = (world.machines[0], world.machines[1], world.machines[2])
        gone.change(["k0": 3], of: "d0")
        world.runOne(gone)
        one.folder[gone.id] = gone.folder[gone.id]
        world.runOne(one)
        one.change(["k1": 4], of: "d0")
        world.runOne(one)
        // The tool brings these files, and none that `other` writes before they are replaced.
        other.folder[one.id] = one.folder[one.id]
        for minutes in [0, 2, 2] as [UInt64] {
            world.wait(milliseconds: minutes * 60_000)
            world.runOne(other)
        }
        func files() -> [FleetFile] {
            (other.folder[other.id] ?? [:]).compactMap { name, bytes in
                FleetFileName(name, of: other.id).flatMap { try? FleetFile($0, opening: bytes, with: PlainSeal()) }
            }
        }
        #expect(files().count { $0.missing == [gone.id] } == 1)
        world.wait(milliseconds: 3_600_000)
        world.runOne(other)
        #expect(files().count { $0.missing == [gone.id] } == 2)
        other.change(["new": ["Name": "new"]], of: TravelRules.machines)
        world.runOne(other)
        #expect(files().map(\.name.isSnapshot) == [true])
        #expect(files().map(\.missing) == [[gone.id]])
        // The last machine that has them is lost, too.
        world.remove(gone)
        world.remove(one)
        world.runOne(other)
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("A file that is incomplete at first is read again, even if nothing shows that it has changed")
    func slowFile() throws {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        let file = try #require(one.folder[one.id]?.first { other.folder[one.id]?[$0.key] == nil })
        other.hasCoarseTimes = true
        other.folder[one.id]?[file.key] = file.value.map { _ in 0 }
        world.runOne(other)
        other.folder[one.id]?[file.key] = file.value
        world.runOne(other)
        #expect(other.values["d0"]?["k0"] == 3)
    }

    @Test("A file whose edits have come with another machine's snapshot is no problem if it is damaged")
    func damagedFileInSnapshot() throws {
        let (world, gone, one, other) = Self.trio()
        let file = try #require(gone.folder[gone.id]?.first { other.folder[gone.id]?[$0.key] == nil })
        other.folder[gone.id]?[file.key] = []
        world.runOne(other)
        #expect(other.connector?.problems.isEmpty == false)
        one.change(["new": ["Name": "new"]], of: TravelRules.machines)
        world.runOne(one)
        other.folder[one.id] = one.folder[one.id]
        for _ in 0..<2 { world.runOne(other) }
        #expect(other.values["d0"] == ["k0": 1])
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("A machine that waits for days to join has nothing to say about that afterwards")
    func longWait() throws {
        let (world, one, _) = Self.pair()
        let new = world.add()
        new.prepare()
        new.folder[one.id] = one.folder[one.id]
        let exchange = FileExchange(of: new.id, by: new, with: PlainSeal())
        let connector = try Connector(
            new.id, following: new, by: exchange, keepingStateIn: new, scope: { _ in .roaming })
        try connector.forgetFormerFleet()
        for _ in 0..<4 {
            _ = try connector.meet()
            world.wait(days: 1)
        }
        try connector.join(connector.meet(), preferring: .fleet)
        let sets = (new.folder[new.id] ?? [:]).flatMap { name, bytes -> [EnvelopeSet] in
            let file = FleetFileName(name, of: new.id).flatMap { try? FleetFile($0, opening: bytes, with: PlainSeal()) }
            return file?.sets ?? []
        }
        #expect(sets.count { $0.envelopes.isEmpty } == 1)
    }

    @Test("A placeholder for an own file is named, and makes at most one snapshot an hour")
    func ownPlaceholder() throws {
        let (world, one, _) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        let former = Set(one.folder[one.id]?.keys.map(\.self) ?? [])
        var snapshots: Set<String> = []
        for _ in 0..<100 {
            // The tool keeps none of the files on this machine.
            for name in one.folder[one.id]?.keys.map(\.self) ?? [] where !name.hasSuffix(".nextcloud") {
                if name.hasSuffix(".snap") { snapshots.insert(name) }
                one.folder[one.id]?[name] = nil
                one.folder[one.id]?["\(name).nextcloud"] = [0]
            }
            world.wait(milliseconds: 60_000)
            world.runOne(one)
            let isNamed = one.connector?.problems.values.contains { problem in
                if case .variant(one.id, _) = problem { true } else { false }
            }
            #expect(isNamed == true)
        }
        #expect(snapshots.subtracting(former).count == 2)
    }

    @Test("A machine isn't taken for a copy although its disk reports errors after it has stored files")
    func failingDisk() {
        let (world, one, other) = Self.pair()
        one.failsToSync = true
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        one.change(["new": ["Name": "new"]], of: TravelRules.machines)
        for _ in 0..<3 { world.runOne(one) }
        #expect(world.rest())
        #expect(world.findings.isEmpty)
        #expect(other.values["d0"] == ["k0": 3, "k1": 2])
        #expect(one.folder[one.id]?.keys.contains { $0.hasSuffix(".snap") } == true)
    }

    @Test("A subfolder that can't be read for a while is named, but isn't one whose files are gone")
    func unreadableSubfolder() {
        let (world, one, other) = Self.pair()
        other.unreadable = [one.id]
        for _ in 0..<4 {
            world.wait(milliseconds: 30_000)
            world.runOne(other)
        }
        #expect(other.connector?.problems.values.map(\.self) == [.unreadable("\(one.id)", 13)])
        #expect(other.folder[other.id]?.keys.contains { $0.hasSuffix(".snap") } == false)
        other.unreadable = []
        one.change(["k0": 3], of: "d0")
        #expect(world.rest())
        #expect(other.values["d0"]?["k0"] == 3)
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("A placeholder in place of a file is named and counted until the file comes")
    func placeholder() throws {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        world.runOne(one)
        let file = try #require(one.folder[one.id]?.max { $0.key < $1.key })
        other.folder[one.id]?["\(file.key).nextcloud"] = [0]
        world.runOne(other)
        #expect(other.connector?.problems.values.contains(.variant(one.id, "\(file.key).nextcloud")) == true)
        let names = try other.names(of: one.id)
        #expect(FleetFileName.all(in: names, of: one.id).contains { "\($0)" == file.key })
        other.folder[one.id]?["\(file.key).nextcloud"] = nil
        let parts = file.key.split(separator: ".")
        other.folder[one.id]?["\(parts[0]) (conflicted copy).\(parts[1])"] = file.value
        world.runOne(other)
        #expect(other.values["d0"]?["k0"] == 3)
        #expect(other.connector?.problems.isEmpty == true)
    }

    @Test("An edit in a snapshot that knew the value through another edit isn't named as one that overruled it")
    func knowledgeInSnapshot() {
        let (world, one, other) = Self.pair()
        one.change(["k0": 3], of: "d0")
        #expect(world.rest())
        other.change(["k0": 4], of: "d0")
        world.runOne(other)
        other.change(["k0": 5], of: "d0")
        other.change(["new": ["Name": "new"]], of: TravelRules.machines)
        #expect(world.rest())
        #expect(one.values["d0"]?["k0"] == 5)
        #expect(other.folder[other.id]?.keys.contains { $0.hasSuffix(".snap") } == true)
        #expect(one.connector?.state.overruled.isEmpty == true)
    }

    @Test("An entry of the list of what travels that loses is named")
    func lostEntry() {
        let (world, one, other) = Self.pair()
        one.change(["d2/x": true], of: TravelRules.list)
        world.wait(milliseconds: 10)
        other.change(["d2/x": false], of: TravelRules.list)
        #expect(world.rest())
        #expect(one.connector?.state.overruled.map(\.key) == [FleetKey(TravelRules.list.description, "d2/x")])
    }
}

extension DomainName: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) { self.init(escaping: text) }
}
