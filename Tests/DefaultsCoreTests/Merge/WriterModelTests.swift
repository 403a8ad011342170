import DefaultsCore
import PropertyList
import TestSupport
import Testing

/// Random sequences of sets by apps and of writes by the writers of the table, checked against a model.
///
/// The model knows which version each writer had loaded and what it changed there, which the merge must infer.
@Suite("Merge of the table's writers")
struct WriterModelTests {
    /// A version of the file.
    private struct Version {
        var values: DomainValues
        var isForeign: Bool
        /// The time when it was written.
        var written: Int64
        /// Whether a program may have read it before it was replaced.
        var wasRead = true
    }

    /// A domain and its file, as the merge sees them and as the model does.
    private struct Run {
        var random: PseudoRandom
        var merge: Merge
        let recordsReads: Bool
        private var clock: Int64 = 1_700_000_000_000_000_000
        private var number: Int64 = 0
        /// The time when the newest version became the file.
        private var placed: Int64 = 0
        /// Whether a program has read the newest version.
        private var isRead = false
        private var versions: [Version]
        /// The values in effect.
        private(set) var current: DomainValues
        private(set) var steps: [String] = []

        init(seed: UInt64, recordsReads: Bool) {
            random = PseudoRandom(seed: seed)
            self.recordsReads = recordsReads
            let values: DomainValues = ["size": 12, "name": "old", "color": 1, "font": 2, "tabs": 3]
            merge = Merge(base: values)
            current = values
            versions = [Version(values: values, isForeign: false, written: clock)]
        }

        var file: DomainValues { versions[versions.count - 1].values }

        private static let second: Int64 = 1_000_000_000
        private var now: Timestamp { Timestamp(nanoseconds: clock) }

        private mutating func nextValue() -> PropertyListValue {
            number += 1
            return .integer(1_000 + number)
        }

        mutating func step() {
            clock += random.pick([Self.second / 100, Self.second, 30 * Self.second])
            switch random.below(5) {
            case 0: set(random.pick(["size", "name", "color", "font", "tabs", "new"]))
            case 1: save()
            case 2:
                isRead = true
                steps.append("read")
            default:
                // As in the table: the size is set and saved, and the writer follows.
                if random.oneIn(2) {
                    let writer = random.pick(FileWriter.all)
                    save()
                    // The writer loads this version, or a user copies it for later.
                    if writer.basis != .newest { isRead = true }
                    set("size")
                    save()
                    clock += random.pick([Self.second / 100, Self.second, 30 * Self.second])
                    write(writer, followsSet: true)
                } else {
                    write(random.pick(FileWriter.all), followsSet: false)
                }
            }
        }

        /// An app sets or removes a key.
        private mutating func set(_ key: String) {
            let value = key != "size" && random.oneIn(4) ? nil : nextValue()
            _ = merge.edit([key: value], time: now, writer: .testApp, sequence: 1)
            current[key] = value
            steps.append("set \(key)")
        }

        /// A store saves what isn't in the file.
        private mutating func save() {
            guard !merge.pending.isEmpty else { return }
            clock += Self.second / 100
            let isUnread = recordsReads && hasSeal && !isRead
            merge.markSaved(merge.pending, at: now, replacesUnread: isUnread)
            versions[versions.count - 1].wasRead = !isUnread
            versions.append(Version(values: current, isForeign: false, written: clock))
            (placed, isRead) = (clock, false)
            steps.append("save")
        }

        /// Whether the newest version is one that a store saved.
        private var hasSeal: Bool { versions.count > 1 && versions.last?.isForeign == false }

        /// Returns a version of the file, as a writer makes it from the one that it had loaded, and the keys it means.
        private mutating func change(
            _ writer: FileWriter, from loaded: DomainValues, isBackPossible: Bool
        ) -> (values: DomainValues, fresh: Set<String>) {
            var (values, fresh) = (loaded, Set<String>())
            for (key, change) in writer.changes.sorted(by: { $0.key < $1.key }) {
                if change == .back, isBackPossible {
                    values[key] = versions[versions.count - 2].values[key]
                } else {
                    values[key] = nextValue()
                    fresh.insert(key)
                }
            }
            return (values, fresh)
        }

        /// A writer of the table writes the file.
        ///
        /// If it doesn't follow a set and a save of one key, it sets new values where it would set an old one.
        private mutating func write(_ writer: FileWriter, followsSet: Bool) {
            steps.append("\(writer.name)\(followsSet ? ", after a set" : "")")
            let older = random.pick([0] + versions.indices.dropLast().filter { versions[$0].wasRead })
            var written = clock
            var loaded = versions.count - 1
            switch writer.basis {
            case .newest: isRead = true
            case .before: loaded = followsSet ? versions.count - 2 : older
            case .restored, .restoredTwice:
                let newest = file
                replace(with: versions[followsSet ? versions.count - 2 : older].values, by: writer, at: clock)
                if writer.basis == .restoredTwice {
                    clock += Self.second
                    replace(with: newest, by: writer, at: clock)
                }
                return
            case .copy: written -= 3_600 * Self.second
            }
            let (values, fresh) = change(writer, from: versions[loaded].values, isBackPossible: followsSet)
            replace(with: values, by: writer, at: written, loaded: loaded, fresh: fresh)
        }

        /// Replaces the file, by a writer that had loaded a version and set keys to values that they never had, or that
        /// puts values back as a whole.
        private mutating func replace(
            with values: DomainValues, by writer: FileWriter, at written: Int64, loaded: Int? = nil,
            fresh: Set<String> = []
        ) {
            if values == file { return }
            var isUnread: Bool?
            // Only a version that a store saved has a seal. Once it has been written in place, reads tell nothing.
            if recordsReads, hasSeal {
                isUnread = isRead ? (writer.isInPlace ? nil : false) : true
            }
            let meant = meant(values, writer, written, isUnread, loaded, fresh)
            let evidence = WriterEvidence(
                written: Timestamp(nanoseconds: written), isUnread: isUnread, isInPlace: writer.isInPlace)
            for key in meant { current[key] = values[key] }
            _ = merge.reload(values, format: .binary, changedAt: now, by: evidence)
            versions[versions.count - 1].wasRead = isUnread != true
            versions.append(Version(values: values, isForeign: true, written: written))
            (placed, isRead) = (max(clock, written), false)
        }

        /// Returns the keys that a writer meant to change.
        private func meant(
            _ values: DomainValues, _ writer: FileWriter, _ written: Int64, _ isUnread: Bool?, _ loaded: Int?,
            _ fresh: Set<String>
        ) -> Set<String> {
            func differing(from version: Int) -> Set<String> {
                let old = versions[version].values
                return Set(old.keys).union(values.keys).filter { old[$0] != values[$0] }
            }
            let newest = versions.count - 1
            let whole = differing(from: newest)
            if let equal = versions.lastIndex(where: { $0.wasRead && $0.values == values }) {
                // Foundation's class writes its own version again, although it has read another.
                let repeats =
                    equal < newest && equal == versions.lastIndex { $0.isForeign } && writer.isInPlace
                    && isUnread != true && (0...Self.second / 2).contains(written - versions[equal].written)
                // The last foreign writer may have set its own keys back, beside unread values.
                let last = versions.lastIndex(where: \.isForeign) ?? 0
                let isBack =
                    isUnread == true && equal < last && last < newest
                    && versions[(equal + 1)...last].allSatisfy(\.isForeign)
                    && versions[(last + 1)..<newest].allSatisfy { !$0.wasRead }
                return repeats ? [] : isBack ? differing(from: last) : whole
            }
            let age = written - placed
            let isSoon = age <= (writer.isInPlace ? 2 : 5) * Self.second
            guard age >= -10 * Self.second, isUnread ?? isSoon, let loaded else { return whole }
            // The writer means what it set, and what other foreign writers had changed before and it didn't know.
            let others = whole.filter { key in
                let last = (max(loaded, 0)..<newest).last { versions[$0].values[key] != versions[$0 + 1].values[key] }
                return last.map { versions[$0 + 1].isForeign } ?? false
            }
            return fresh.union(others)
        }
    }

    @Test(
        "Sets and writers of the table in any order leave the values that each of them meant", arguments: [true, false])
    func sequences(recordsReads: Bool) {
        for seed in 0..<UInt64(1_500) {
            var run = Run(seed: seed, recordsReads: recordsReads)
            for _ in 0..<20 {
                run.step()
                #expect(run.merge.current == run.current, "seed \(seed): \(run.steps)")
                #expect(run.merge.base == run.file, "seed \(seed): \(run.steps)")
                if run.merge.current != run.current { break }
            }
        }
    }
}
