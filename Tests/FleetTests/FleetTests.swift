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

    @Test("The last value of a key that changes too often is sent when the day has ended")
    func busyKey() {
        let (world, one, other) = Self.pair()
        for number in 10..<40 { one.change(["k0": .integer(Int64(number))], of: "d0") }
        // A day later, its last value is sent.
        #expect(world.heal())
        #expect(other.values["d0"]?["k0"] == 39)
    }
}

extension DomainName: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) { self.init(escaping: text) }
}
