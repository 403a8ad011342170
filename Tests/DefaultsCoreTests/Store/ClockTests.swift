import Glibc
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

/// Tests of the store's transitions with a clock that stands still, or steps by a day in either direction during a
/// run.
@Suite("Clock steps")
struct ClockTests {
    /// A domain, its file, a foreign writer and an app that share one clock, and the expected result.
    private struct Run {
        let domain: Domain
        var random: PseudoRandom
        var state = StoreState(log: ChangeLog())
        var clock: Int64 = 1_700_000_000_000_000_000
        private var disk: DomainValues = [:]
        private var version: FileVersion?
        private var inode: UInt = 1
        private var value: Int64 = 0
        /// The expected values at the end.
        private(set) var model: DomainValues = [:]
        /// The time of the app's last edit of "both" that isn't in the file yet.
        private var edited: Int64?
        /// The value that the foreign writer last set for "both", and its time, until the agent reads the file.
        private var unseen: (value: PropertyListValue, time: Int64)?

        init(_ domain: Domain, seed: UInt64) {
            self.domain = domain
            random = PseudoRandom(seed: seed)
        }

        private var now: Timestamp { Timestamp(nanoseconds: clock) }

        mutating func step() {
            // The clock often doesn't advance at all.
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

        /// A foreign writer rewrites the file, and the agent usually reads it afterwards.
        private mutating func write() {
            let (key, new) = (random.pick(["f0", "f1", "both"]), nextValue())
            // Two writes that the agent sees as one would get the time of the last.
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
            return state.apply(reading, of: domain, isBaseline: false, now: now)
        }

        @discardableResult
        mutating func publish() -> Bool {
            look()
            guard let plan = state.plan(for: domain) else { return false }
            state.willSave(plan, for: domain, hash: nil)
            disk = plan.values()
            version = writtenNow()
            _ = state.markSaved(
                plan, for: domain, as: version, format: plan.format, replacesUnread: false, now: now)
            edited = nil
            return true
        }

        /// The file's values, and the values that result from the records.
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

    @Test("A store with a stepping clock misses no change and does no work twice")
    func steps() throws {
        let domain = try Domain("a")
        for seed in 0..<UInt64(2_000) {
            var run = Run(domain, seed: seed)
            for _ in 0..<60 { run.step() }
            run.publish()
            #expect(run.outcome.disk == run.model, "seed \(seed)")
            #expect(run.outcome.told == run.model, "seed \(seed)")
            #expect(run.state.domains[domain]?.merge.pending.isEmpty ?? true, "seed \(seed)")
            // From here on there is nothing to do, regardless of the clock.
            let head = run.state.log.head
            for step: Int64 in [0, 86_400_000_000_000, -2 * 86_400_000_000_000] {
                run.clock += step
                #expect(run.look() == [] && !run.publish(), "seed \(seed)")
            }
            #expect(run.state.log.head == head, "seed \(seed)")
        }
    }

    @Test("Once the clock has been set back, a later change wins over those of the future")
    func ahead() throws {
        let domain = Domain(try DomainName("a.b"))
        let (future, now) = (Timestamp(nanoseconds: 1_000_000), Timestamp(nanoseconds: 1_000))
        var state = StoreState(log: ChangeLog())
        state.notice(future)
        _ = state.edit(EditRequest(domain: domain, values: ["a": 1], time: future, writer: .testApp), now: future)
        state.notice(now)
        var status = stat()
        status.st_ctim.tv_nsec = 2_000
        status.st_mtim = status.st_ctim
        let file = FileVersion(identity: FileIdentity(status), hash: ContentHash(value: 1), isSettled: true)
        let contents = FileContents(values: ["a": 2], format: .xml, version: file)
        _ = state.apply(.contents(contents), of: domain, isBaseline: false, now: Timestamp(nanoseconds: 3_000))
        #expect(state.domains[domain]?.merge.current == ["a": 2])
    }

    @Test("An unsaved edit that was made while the clock was ahead loses to a change that the agent didn't see")
    func leftOver() throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 1]).write(as: .xml), to: fixture.path)
            let first = try fixture.storeWithLog()
            let future = Timestamp(nanoseconds: Timestamp.now().nanoseconds + 30_000_000_000)
            let edit = EditRequest(domain: fixture.domain, values: ["a": 2], time: future, writer: .testApp)
            _ = first.transition { ($0.edit(edit, now: future).revision, []) }
            try RawFile.replace(fixture.path, with: PropertyListValue.dictionary(["a": 3, "b": 1]).write(as: .xml))
            let second = try fixture.resumedStore()
            #expect(fixture.values(second) == ["a": 3, "b": 1])
        }
    }
}
