import DefaultsClient
import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

/// Random edits, undos, redos and restarts, compared with a model that is nothing but arrays.
@Suite("Undo, compared with a model")
struct UndoModelTests {
    /// A change set, with the keys that have been undone.
    private struct Entry {
        enum Kind: Equatable {
            case edit
            /// An undo, with the indices of the changes that it reverses, and the keys.
            case undo([Int: Set<String>])
            case redo
        }

        var kind: Kind
        var changes: [(key: String, old: Int?, new: Int?)]
        var takenBack: Set<String> = []
    }

    private struct Model {
        var values: [String: Int] = [:]
        var entries: [Entry] = []

        mutating func edit(_ edits: [String: Int?], _ kind: Entry.Kind = .edit) {
            let changes = edits.sorted { $0.key < $1.key }.compactMap { key, new in
                values[key] == new ? nil : (key: key, old: values[key], new: new)
            }
            if changes.isEmpty { return }
            for change in changes { values[change.key] = change.new }
            entries.append(Entry(kind: kind, changes: changes))
        }

        /// Undoes the last edits, or the last undos, in one edit; returns the keys that couldn't be undone.
        mutating func takeBack(_ count: Int, isRedo: Bool) -> Set<String> {
            var found = 0
            var kept: Set<String> = []
            // The keys with later changes that stay.
            var later: Set<String> = []
            var result = values
            var taken: [Int: Set<String>] = [:]
            /// The entries if the edit were made.
            var entries = entries
            for index in entries.indices.reversed() where found < count {
                let entry = entries[index]
                let isCandidate = if case .undo = entry.kind { isRedo } else { entry.kind == .edit && !isRedo }
                let changes = entry.changes.filter { !entry.takenBack.contains($0.key) }
                var keys = Set(changes.map(\.key))
                var canceled: Set<String> = []
                if case .undo(let targets) = entry.kind {
                    canceled = targets.values.reduce(Set()) { $0.union($1) }
                        .subtracting(entry.takenBack).subtracting(entry.changes.map(\.key))
                }
                defer {
                    let mayBeLater = if case .undo = entry.kind { isRedo } else { entry.kind == .edit }
                    if mayBeLater { later.formUnion(keys.union(canceled).subtracting(taken[index] ?? [])) }
                }
                guard isCandidate, !changes.isEmpty else { continue }
                found += 1
                taken[index] = canceled.subtracting(later)
                kept.formUnion(canceled.intersection(later))
                for change in changes {
                    if later.contains(change.key) {
                        kept.insert(change.key)
                    } else if result[change.key] == change.new {
                        result[change.key] = change.old
                        taken[index]?.insert(change.key)
                    } else if result[change.key] != change.old {
                        kept.insert(change.key)
                    }
                }
                keys.formUnion(canceled)
                entries[index].takenBack.formUnion(taken[index] ?? [])
                if case .undo(let targets) = entry.kind {
                    for (target, keys) in targets {
                        entries[target].takenBack.subtract(keys.intersection(taken[index] ?? []))
                    }
                }
            }
            if result == values { return kept }
            self.entries = entries
            var edits: [String: Int?] = [:]
            for key in Set(values.keys).union(result.keys) { edits[key] = .some(result[key]) }
            edit(edits, isRedo ? .redo : .undo(taken))
            return kept
        }
    }

    @Test(
        "The values, and what could not be undone, are the model's, and no later edit is lost",
        arguments: [1, 2, 3, 4, 9, 10, 48, 49] as [UInt64])
    func model(seed: UInt64) throws {
        var random = PseudoRandom(seed: seed)
        try AgentProcess.withPlace { place in
            // The log has few records, so most of the history is in the archive.
            try RawFile.replace(
                place.path("org.defaultsd.agent"),
                with: try PropertyListValue.dictionary(["LogRecords": 8, "LogBytes": 1_024]).write(as: .xml))
            var agent = try AgentProcess(place)
            defer { agent.kill() }
            var connection = try agent.connect()
            let domain = Domain(try DomainName("org.example.model"))
            var model = Model()
            for step in 0..<150 {
                switch random.below(10) {
                case 0..<5:
                    var edits: [String: Int?] = [:]
                    for _ in 0..<(1 + random.below(3)) {
                        edits["key\(random.below(5))"] = random.below(4) == 0 ? .some(nil) : random.below(6)
                    }
                    model.edit(edits)
                    let values = edits.mapValues { $0.map { PropertyListValue.integer(Int64($0)) } }
                    try connection.edit(domain, with: values, replacesAll: false)
                case 5:
                    // A foreign writer changes a key.
                    _ = try connection.barrier()
                    let key = "key\(random.below(5))"
                    let new = 10 + random.below(5)
                    model.edit([key: new])
                    // It reads the file, as an editor does.
                    if RawFile.exists(place.path("org.example.model")) {
                        _ = try RawFile.read(place.path("org.example.model"))
                    }
                    let values = model.values.mapValues { PropertyListValue.integer(Int64($0)) }
                    try RawFile.replace(
                        place.path("org.example.model"), with: try PropertyListValue.dictionary(values).write(as: .xml))
                    _ = try connection.barrier()
                case 6..<9:
                    let (count, isRedo) = (1 + random.below(3), random.below(3) == 0)
                    let kept = model.takeBack(count, isRedo: isRedo)
                    var plan = try UndoPlan(
                        connection, of: SubscriptionFilter(domains: [GlobPattern.exactly("org.example.model")]),
                        finding: isRedo ? .undos : .changes)
                    for _ in 0..<count { if let found = try plan.next() { try plan.take(found) } }
                    let head = try connection.barrier().cursor.revision
                    let outcome = try plan.commit(domain)
                    try #require(Set(outcome.kept.keys) == kept, "Seed \(seed), step \(step)")
                    let edits = try connection.barrier().cursor.revision - head
                    try #require(edits == (outcome.changes.isEmpty ? 0 : 1), "Seed \(seed), step \(step)")
                default:
                    _ = try connection.barrier()
                    if random.below(2) == 0 { agent.kill() } else { agent.terminate() }
                    agent = try AgentProcess(place)
                    connection = try agent.connect()
                }
                let values = try connection.snapshot(of: domain).values
                let expected = model.values.mapValues { PropertyListValue.integer(Int64($0)) }
                try #require(values == expected, "Seed \(seed), step \(step)")
            }
            #expect(model.entries.contains { $0.kind == .redo })
            #expect(RawFile.exists(try String(place.log().dropLast(4)) + ".archive"))
        }
    }

    @Test(
        "An undo since some point restores the values from then, and what could be undone then can be undone again",
        arguments: 1...6 as ClosedRange<UInt64>)
    func since(seed: UInt64) throws {
        var random = PseudoRandom(seed: seed)
        try AgentProcess.withPlace { place in
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            let connection = try agent.connect()
            let domain = Domain(try DomainName("org.example.model"))
            func plan(_ subject: UndoSearch.Subject, _ isWanted: (UndoSearch.Found, Int) -> Bool) throws -> UndoPlan {
                var plan = try UndoPlan(
                    connection, of: SubscriptionFilter(domains: [.exactly("\(domain.name)")]), finding: subject)
                var count = 0
                while let found = try plan.next(), isWanted(found, count) {
                    try plan.take(found)
                    count += 1
                }
                return plan
            }
            func values() throws -> DomainValues { try connection.snapshot(of: domain).values }
            func head() throws -> Revision { try connection.barrier().cursor.revision }
            /// Returns the changes that an undo would make, and the keys that it would leave alone.
            func undo() throws -> [String: KeyChange?] {
                var result: [String: KeyChange?] = [:]
                for outcome in try plan(.changes, { _, count in count < 2 }).outcomes {
                    for key in outcome.kept.keys { result[key] = .some(nil) }
                    for change in outcome.changes { result[change.key] = change }
                }
                return result
            }
            /// The values after each record, and the undo that was possible then.
            var past: [(values: DomainValues, undo: [String: KeyChange?])] = []
            for step in 0..<120 {
                while try past.count <= head() {
                    past.append((try values(), try undo()))
                }
                switch random.below(10) {
                case 0..<4:
                    var edits: Difference = [:]
                    for _ in 0..<(1 + random.below(2)) {
                        let value = random.oneIn(4) ? nil : PropertyListValue.integer(Int64(random.below(3)))
                        edits["key\(random.below(3))"] = .some(value)
                    }
                    try connection.edit(domain, with: edits, replacesAll: false)
                case 4..<8:
                    let most = 1 + random.below(3)
                    var made = try plan(random.oneIn(2) ? .undos : .changes) { _, count in count < most }
                    _ = try made.commit(domain)
                default:
                    let (now, before) = (try head(), try values())
                    let point = random.below(Int(now) + 1)
                    var made = try plan(.all) { found, _ in found.element.record.revision > point }
                    let outcome = try made.commit(domain)
                    try #require(outcome.kept.isEmpty, "Seed \(seed), step \(step)")
                    try #require(try values() == past[point].values, "Seed \(seed), step \(step), since \(point)")
                    if outcome.changes.isEmpty { continue }
                    try #require(try undo() == past[point].undo, "Seed \(seed), step \(step), since \(point)")
                    if random.oneIn(2) { continue }
                    past.append((try values(), try undo()))
                    var redo = try plan(.undos) { _, count in count < 1 }
                    _ = try redo.commit(domain)
                    try #require(try values() == before, "Seed \(seed), step \(step), redo since \(point)")
                    try #require(try undo() == past[Int(now)].undo, "Seed \(seed), step \(step), redo since \(point)")
                }
            }
        }
    }

    @Test("While the archive is thinned, an undo changes only keys that hold the values that it reverses")
    func thinned() throws {
        var random = PseudoRandom(seed: 7)
        try AgentProcess.withPlace { place in
            let settings: DomainValues = [
                "LogRecords": 8, "LogBytes": 1_024, "HistoryBytes": 2_048, "HistoryDays": 0, "HistoryChanges": 3,
            ]
            try RawFile.replace(
                place.path("org.defaultsd.agent"), with: try PropertyListValue.dictionary(settings).write(as: .xml))
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            let connection = try agent.connect()
            let domain = Domain(try DomainName("org.example.model"))
            var values: DomainValues = [:]
            for step in 0..<400 {
                if random.below(4) > 0 {
                    let (key, value) = ("key\(random.below(4))", PropertyListValue.integer(Int64(step)))
                    values[key] = value
                    try connection.edit(domain, with: [key: value], replacesAll: false)
                    if step % 20 == 0 { _ = try connection.barrier() }
                    continue
                }
                var plan = try UndoPlan(
                    connection, of: SubscriptionFilter(domains: [GlobPattern.exactly("org.example.model")]))
                for _ in 0..<(1 + random.below(3)) { if let found = try plan.next() { try plan.take(found) } }
                for change in try plan.commit(domain).changes {
                    try #require(values[change.key] == change.old, "step \(step)")
                    values[change.key] = change.new
                }
                try #require(try connection.snapshot(of: domain).values == values, "step \(step)")
            }
            // Thinning happens after a save, on a thread of its own.
            let archive = String(try place.log().dropLast(4)) + ".archive"
            let isThin = try eventually {
                try connection.edit(domain, with: ["last": .integer(Int64(random.below(1_000)))], replacesAll: false)
                _ = try connection.barrier()
                return try RawFile.read(archive).count < 8_192
            }
            #expect(isThin)
        }
    }
}
