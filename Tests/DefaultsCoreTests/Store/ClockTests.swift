import Glibc
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// The store's transitions under a clock that stands still, and that steps a day either way in the middle of a run.
@Suite("A clock that steps")
struct ClockTests {
    /// A domain, its file, a foreign writer and an app, all by one clock; and what must come of it.
    private struct Run {
        let domain: Domain
        var random: PseudoRandom
        var state = StoreState(log: ChangeLog())
        var clock: Int64 = 1_700_000_000_000_000_000
        private var disk: DomainValues = [:]
        private var version: FileVersion?
        private var inode: UInt = 1
        private var value: Int64 = 0
        /// What the keys must hold at the end.
        private(set) var model: DomainValues = [:]
        /// When "both" was last set by the app, until it is in the file.
        private var edited: Int64?
        /// What the foreign writer set it to, and when, until the agent looks.
        private var unseen: (value: PropertyListValue, time: Int64)?

        init(_ domain: Domain, seed: UInt64) {
            self.domain = domain
            random = PseudoRandom(seed: seed)
        }

        private var now: Timestamp { Timestamp(nanoseconds: clock) }

        mutating func step() {
            // Often not at all.
            clock += Int64(random.below(3)) * 1_000_000
            if random.oneIn(6) { clock += random.oneIn(2) ? 86_400_000_000_000 : -86_400_000_000_000 }
            switch random.below(4) {
            case 0: edit()
            case 1: write()
            case 2: look()
            default: publish()
            }
        }

        private mutating func nextValue() -> PropertyListValue {
            value += 1
            return .integer(value)
        }

        private mutating func edit() {
            let (key, new) = (random.pick(["a0", "a1", "both"]), nextValue())
            _ = state.edit(EditRequest(domain: domain, values: [key: new], time: now, writer: .testApp), now: now)
            model[key] = new
            if key == "both" { edited = clock }
        }

        /// Someone who knows of nothing rewrites the file, and the agent is told.
        private mutating func write() {
            let (key, new) = (random.pick(["f0", "f1", "both"]), nextValue())
            // Two writes that the agent sees as one bear the time of the last.
            look()
            disk[key] = new
            version = writtenNow()
            if key == "both" { unseen = (new, clock) } else { model[key] = new }
            if random.oneIn(2) { look() }
        }

        private mutating func writtenNow() -> FileVersion {
            var status = stat()
            inode += 1
            status.st_ino = inode
            status.st_ctim = timespec(tv_sec: Int(clock / 1_000_000_000), tv_nsec: Int(clock % 1_000_000_000))
            status.st_mtim = status.st_ctim
            return FileVersion(
                identity: FileIdentity(status), hash: ContentHash(value: UInt64(inode)), isSettled: false)
        }

        @discardableResult
        mutating func look() -> [StoreAction] {
            guard let version else { return [] }
            if let unseen, edited.map({ unseen.time > $0 }) ?? true {
                model["both"] = unseen.value
                edited = nil
            }
            unseen = nil
            let reading: FileReading =
                state.domains[domain]?.file?.hash == version.hash
                ? .unchanged(version) : .contents(FileContents(values: disk, format: .binary, version: version))
            return state.take(reading, of: domain, isBaseline: false, now: now)
        }

        @discardableResult
        mutating func publish() -> Bool {
            look()
            guard let plan = state.plan(for: domain) else { return false }
            state.intend(plan, for: domain, hash: nil)
            disk = plan.values
            version = writtenNow()
            _ = state.published(plan, for: domain, as: version, format: plan.format, now: now)
            edited = nil
            return true
        }

        /// The file, and what the records amount to.
        var outcome: (disk: DomainValues, told: DomainValues) {
            var told: DomainValues = [:]
            for record in state.log.records(after: 0) ?? [] {
                guard case .change(let changeSet) = record.event else { continue }
                for change in changeSet.changes {
                    #expect(told[change.key] == change.old && change.old != change.new)
                    told[change.key] = change.new
                }
            }
            return (disk, told)
        }
    }

    @Test("misses nothing, decides by the times as they are, and has nothing done over and over")
    func steps() throws {
        let domain = try Domain("a")
        for seed in 0..<UInt64(2_000) {
            var run = Run(domain, seed: seed)
            for _ in 0..<60 { run.step() }
            run.publish()
            #expect(run.outcome.disk == run.model, "seed \(seed)")
            #expect(run.outcome.told == run.model, "seed \(seed)")
            #expect(run.state.domains[domain]?.merge.pending.isEmpty ?? true, "seed \(seed)")
            // From here on there is nothing to do, whatever the clock says.
            let head = run.state.log.head
            for step: Int64 in [0, 86_400_000_000_000, -2 * 86_400_000_000_000] {
                run.clock += step
                #expect(run.look() == [] && !run.publish(), "seed \(seed)")
            }
            #expect(run.state.log.head == head, "seed \(seed)")
        }
    }
}
