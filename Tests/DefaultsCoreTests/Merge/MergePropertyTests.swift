import DefaultsCore
import PropertyList
import TestSupport
import Testing

/// Random sequences of steps, checked against a model that knows the intent of each writer, which the merge must
/// infer.
@Suite("Three-way merge of random changes")
struct MergePropertyTests {
    private static let keys = ["a", "b", "c", "d", "e", "f", "g", "h"]

    private func value(_ random: inout PseudoRandom) -> PropertyListValue {
        switch random.below(6) {
        case 0: .boolean(random.oneIn(2))
        case 1: .real(Double(random.below(4)) / 2)
        case 2: .date(PropertyListDate(secondsSinceReferenceDate: Double(random.below(8)) / 4))
        case 3: .array([.integer(Int64(random.below(3))), .real32(0.1)])
        default: .integer(Int64(random.below(4)))
        }
    }

    private func values(_ random: inout PseudoRandom) -> DomainValues {
        var values: DomainValues = [:]
        for key in Self.keys where random.oneIn(2) { values[key] = value(&random) }
        return values
    }

    /// Returns the values after the reported changes, which are all that a subscriber sees.
    private func replay(_ changes: [KeyChange], on values: DomainValues, _ context: Comment) -> DomainValues {
        var values = values
        #expect(Set(changes.map(\.key)).count == changes.count, context)
        for change in changes {
            #expect(values[change.key] == change.old, "\(context): wrong previous value of \(change.key)")
            #expect(change.old != change.new, "\(context): \(change.key) was reported without a change")
            values[change.key] = change.new
        }
        return values
    }

    /// Returns a random merge with a history and pending edits, with times in any order.
    private func merge(_ random: inout PseudoRandom, format: PropertyListFormat) -> Merge {
        var merge = Merge(base: values(&random))
        for step in 0..<random.below(5) {
            _ = merge.reload(values(&random), format: format, changedAt: Timestamp(nanoseconds: Int64(step)))
        }
        merge.pending = [:]
        for key in Self.keys where random.oneIn(4) {
            let time = Timestamp(nanoseconds: Int64(random.below(200)))
            let new = random.oneIn(3) ? nil : value(&random)
            _ = merge.edit([key: new], time: time, writer: .testApp, sequence: 1)
        }
        return merge
    }

    @Test(
        "Reported changes are exactly the differences, and reloading the same file reports none",
        arguments: [PropertyListFormat.xml, .binary])
    func toldAndIdempotent(format: PropertyListFormat) {
        for seed in 0..<UInt64(6_000) {
            var random = PseudoRandom(seed: seed)
            var merge = merge(&random, format: format)
            let context: Comment = "seed \(seed), \(format)"
            let disk = values(&random).mapValues { $0.asStored(in: format) }
            let time = Timestamp(nanoseconds: Int64(random.below(200)))

            let before = merge.current
            let result = merge.reload(disk, format: format, changedAt: time)
            #expect(replay(result.changes, on: before, context) == merge.current, context)
            // Everything that isn't pending is in the file, as precisely as the format allows.
            #expect(merge.base.mapValues { $0.asStored(in: format) } == disk, context)
            let unsaved = Set(merge.current.keys).union(disk.keys).filter {
                !PropertyListValue.areSame(merge.current($0), disk[$0], readFrom: format)
            }
            #expect(Set(merge.pending.keys) == unsaved, context)

            let (current, pending) = (merge.current, merge.pending)
            let again = merge.reload(disk, format: format, changedAt: Timestamp(nanoseconds: time.nanoseconds + 1))
            #expect(again.changes == [] && again.overruled == [], context)
            #expect(merge.current == current && merge.pending == pending, context)
        }
    }

    @Test("A merge never invents a value: each one was in effect before or is in the file")
    func inventsNothing() {
        for seed in 0..<UInt64(6_000) {
            var random = PseudoRandom(seed: seed)
            var merge = merge(&random, format: .binary)
            let disk = values(&random)
            let before = merge.current
            let time = Timestamp(nanoseconds: Int64(random.below(200)))
            switch random.below(3) {
            case 0: _ = merge.reload(disk, format: .binary, changedAt: time)
            case 1:
                _ = merge.displace(
                    disk, format: .binary, changedAt: time, loadedBefore: merge.versions.total - 1)
            default:
                _ = merge.removeFile(at: time)
                #expect(merge.base.isEmpty)
            }
            for key in Self.keys {
                let value = merge.current(key)
                #expect(value == before[key] || value == disk[key] || value == nil, "seed \(seed), key \(key)")
                // A key that neither side changed keeps its value.
                if before[key] == disk[key], merge.base[key] == disk[key] {
                    #expect(value == before[key], "seed \(seed), key \(key)")
                }
            }
        }
    }

    @Test("Changes to different keys give the same result in either order")
    func orderFree() {
        for seed in 0..<UInt64(4_000) {
            var random = PseudoRandom(seed: seed)
            let base = values(&random)
            let mine = Set(Self.keys.filter { _ in random.oneIn(2) })
            var disk = base
            var edits: Difference = [:]
            for key in Self.keys {
                let new = random.oneIn(3) ? nil : value(&random)
                if mine.contains(key) { edits[key] = .some(new) } else if random.oneIn(2) { disk[key] = new }
            }
            let (early, late) = (Timestamp(nanoseconds: 1), Timestamp(nanoseconds: 2))
            var (first, second) = (Merge(base: base), Merge(base: base))
            _ = first.edit(edits, time: early, writer: .testApp, sequence: 1)
            _ = first.reload(disk, format: .binary, changedAt: late)
            _ = second.reload(disk, format: .binary, changedAt: early)
            _ = second.edit(edits, time: late, writer: .testApp, sequence: 1)
            #expect(first.current == second.current, "seed \(seed)")
            #expect(first.base == second.base, "seed \(seed)")
        }
    }

    @Test("The later of an edit and a file's change wins for each key")
    func lastWriterWins() {
        for seed in 0..<UInt64(6_000) {
            var random = PseudoRandom(seed: seed)
            let base = values(&random)
            var merge = Merge(base: base)
            var edits: [String: (value: PropertyListValue?, time: Int64)] = [:]
            for key in Self.keys where random.oneIn(2) {
                let edit = (value: random.oneIn(3) ? nil : value(&random), time: Int64(random.below(10)))
                if edit.value == base[key] { continue }
                edits[key] = edit
                _ = merge.edit(
                    [key: edit.value], time: Timestamp(nanoseconds: edit.time), writer: .testApp, sequence: 1)
            }
            let disk = values(&random)
            let time = Int64(random.below(10))
            let result = merge.reload(disk, format: .binary, changedAt: Timestamp(nanoseconds: time))
            for key in Self.keys {
                // There is no history, so in the model the writer has loaded the base and changed what differs from
                // it.
                var expected = base[key]
                if let edit = edits[key] { expected = edit.value }
                if disk[key] != base[key], edits[key].map({ $0.time < time }) ?? true { expected = disk[key] }
                #expect(merge.current(key) == expected, "seed \(seed), key \(key)")
                let isConflict = disk[key] != base[key] && edits[key].map { $0.value != disk[key] } ?? false
                #expect(result.overruled.contains { $0.key == key } == isConflict, "seed \(seed), key \(key)")
            }
        }
    }

    @Test("Writers that loaded any recent version and change their own keys lose nothing and undo nothing")
    func staleWriters() {
        for seed in 0..<UInt64(1_500) {
            var random = PseudoRandom(seed: seed)
            // Many keys never change, so the version that a writer loaded is the nearest one.
            var base: DomainValues = ["counter": 0]
            for number in 0..<6 { base["stable \(number)"] = .integer(Int64(number)) }
            var merge = Merge(base: base)
            var loaded = base
            var model = base
            for step in 1...Int64(8) {
                let time = Timestamp(nanoseconds: step * 10)
                if random.oneIn(2) {
                    // An app sets two keys that are new in each step, and they are saved.
                    let edits: Difference = [
                        "app \(step)": .some(.integer(step)), "more \(step)": .some(.integer(step)),
                    ]
                    _ = merge.edit(edits, time: time, writer: .testApp, sequence: UInt64(step))
                    for (key, value) in edits { model[key] = value }
                    merge.markSaved(merge.pending, at: time)
                    if random.oneIn(2) { loaded = merge.base }
                } else {
                    var disk = loaded
                    disk["foreign \(step)"] = .integer(step)
                    model["foreign \(step)"] = .integer(step)
                    let result = merge.reload(disk, format: .binary, changedAt: time)
                    #expect(
                        result.changes == [KeyChange(key: "foreign \(step)", old: nil, new: .integer(step))],
                        "seed \(seed)")
                    loaded = disk
                }
                #expect(merge.current == model, "seed \(seed), step \(step)")
                if random.oneIn(2) { merge.markSaved(merge.pending, at: time) }
            }
        }
    }

    @Test("A writer that always continues from what it once read undoes none of our edits")
    func staleToAndFro() {
        for seed in 0..<UInt64(3_000) {
            var random = PseudoRandom(seed: seed)
            var base: DomainValues = [:]
            for number in 0..<3 { base["f\(number)"] = 0 }
            for number in 0..<3 { base["a\(number)"] = 0 }
            var merge = Merge(base: base)
            var theirs = base
            var model = base
            for step in 1...Int64(40) {
                let time = Timestamp(nanoseconds: step)
                switch random.below(4) {
                case 0, 1:
                    let key = "a\(random.below(3))"
                    _ = merge.edit([key: .integer(step)], time: time, writer: .testApp, sequence: UInt64(step))
                    model[key] = .integer(step)
                case 2:
                    // A version that has been there would count as a restore.
                    theirs["f\(random.below(3))"] = .integer(step)
                    model.merge(theirs.filter { $0.key.hasPrefix("f") }) { $1 }
                    if random.oneIn(2) {
                        _ = merge.reload(theirs, format: .binary, changedAt: time)
                    } else {
                        let loaded = merge.versions.total
                        merge.markSaved(merge.pending, at: time)
                        _ = merge.displace(theirs, format: .binary, changedAt: time, loadedBefore: loaded)
                    }
                default:
                    merge.markSaved(merge.pending, at: time)
                }
                #expect(merge.current == model, "seed \(seed), step \(step)")
            }
        }
    }
}
