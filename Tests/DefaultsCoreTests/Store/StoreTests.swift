import Glibc
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The store, on real files")
struct StoreTests {
    @Test("Of the domains that are asked for, those are pending that have edits")
    func pendingAmong() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            let (other, unknown) = (try Domain("org.example.other"), try Domain("org.example.unknown"))
            fixture.edit(store, ["a": 1])
            store.edit(EditRequest(domain: other, values: ["a": 1], writer: .testApp))
            #expect(store.pending(among: [fixture.domain, unknown]) == [fixture.domain])
            #expect(store.pending(among: [other, fixture.domain]) == [fixture.domain, other])
            try store.publish(other)
            #expect(store.pending(among: [other, unknown]) == [])
        }
    }

    @Test("An edit is in force at once, pending until published, and then in the file")
    func editAndPublish() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            #expect(fixture.edit(store, ["a": 1, "b": "x"]) == 1)
            #expect(fixture.values(store) == ["a": 1, "b": "x"])
            #expect(store.pending().map(\.edits) == [2])
            #expect(!RawFile.exists(fixture.path))
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": "x"])
            #expect(try RawFile.read(fixture.path).starts(with: "<?xml".utf8))
            #expect(store.pending().isEmpty)
            #expect(fixture.edit(store, ["a": 1]) == 1)
            #expect(store.pending().isEmpty)
            fixture.look(store)
            #expect(store.events == ["app: a b"])
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("The last key's removal removes the file, and what replaces all removes the rest")
    func removals() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 2])
            try store.publish(fixture.domain)
            store.edit(EditRequest(domain: fixture.domain, values: ["c": 3], replacesAll: true, writer: .testApp))
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["c": 3])
            fixture.edit(store, ["c": nil])
            try store.publish(fixture.domain)
            #expect(!store.examineDisplaced())
            #expect(namesOfFiles(in: fixture.directory) == [])
            #expect(store.domains() == [])
            #expect(store.events == ["app: a b", "app: a b c", "app: c"])
        }
    }

    @Test("A file's format is kept", arguments: [PropertyListFormat.xml, .binary])
    func format(format: PropertyListFormat) throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["a": 1]).write(as: format), to: fixture.path)
            let store = fixture.store()
            _ = try store.lookAtAll(isBaseline: true)
            fixture.edit(store, ["b": 2])
            try store.publish(fixture.domain)
            #expect(PropertyListFormat.detect(try RawFile.read(fixture.path)) == format)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": 2])
        }
    }

    @Test("A string that XML can't hold makes the file binary, and isn't lost")
    func controlCharacters() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": "one"])
            try store.publish(fixture.domain)
            fixture.edit(store, ["b": "two\u{1}\u{1B}[0m"])
            try store.publish(fixture.domain)
            #expect(PropertyListFormat.detect(try RawFile.read(fixture.path)) == .binary)
            #expect(try DomainValues.read(fixture.path) == ["a": "one", "b": "two\u{1}\u{1B}[0m"])
        }
    }

    @Test("Two stores on one directory, as two processes have, lose none of 200 interleaved edits")
    func twoStores() throws {
        try withStoreFixture { fixture in
            let stores = [fixture.store(), fixture.store()]
            var random = PseudoRandom(seed: 5)
            for number in 0..<Int64(200) {
                let store = random.pick(stores)
                fixture.edit(store, ["key \(number)": .integer(number)])
                if random.oneIn(3) { try store.publish(fixture.domain) }
            }
            for store in stores { try store.publish(fixture.domain) }
            for store in stores { fixture.look(store) }
            let expected = DomainValues(uniqueKeysWithValues: (0..<Int64(200)).map { ("key \($0)", .integer($0)) })
            #expect(try DomainValues.read(fixture.path) == expected)
            #expect(stores.allSatisfy { fixture.values($0) == expected && $0.pending().isEmpty })
            // Each passes over what the other still has in hand.
            let isDone = eventually { stores.map { $0.examineDisplaced() } == [false, false] }
            #expect(isDone)
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("Two stores that publish at once lose nothing either")
    func concurrentStores() throws {
        try withStoreFixture { fixture in
            @Sendable func publishMany(_ name: String) {
                let store = fixture.store()
                for number in 0..<Int64(60) {
                    fixture.edit(store, ["\(name) \(number)": .integer(number)])
                    #expect(throws: Never.self) { try store.publish(fixture.domain) }
                }
            }
            withBackgroundThread { _ in
                publishMany("a")
            } while: {
                publishMany("b")
            }
            let values = try DomainValues.read(fixture.path)
            #expect(values.count == 120)
        }
    }

    @Test(
        "A foreign writer between an edit and its publication is merged",
        .enabled(if: ForeignProcess.hasPython), arguments: ["truncates", "replaces"])
    func foreignWriter(way: String) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["mine": 0, "both": 0])
            try store.publish(fixture.domain)
            let other = try ForeignProcess(
                python: """
                    import os, plistlib, sys
                    path, way = sys.argv[1:]
                    for line in sys.stdin:
                        with open(path, "rb") as f: values = plistlib.load(f)
                        values["theirs " + line.strip()] = int(line)
                        values["both"] = int(line)
                        if way == "truncates":
                            with open(path, "wb") as f: plistlib.dump(values, f)
                        else:
                            with open(path + ".new", "wb") as f: plistlib.dump(values, f)
                            os.replace(path + ".new", path)
                        print("done", flush=True)
                    """, [fixture.path, way])
            var expected: DomainValues = [:]
            for number in Int64(1)...20 {
                fixture.edit(store, ["mine \(number)": .integer(number)])
                try other.send("\(number)")
                #expect(other.line() == "done")
                try store.publish(fixture.domain)
                expected["mine \(number)"] = .integer(number)
                expected["theirs \(number)"] = .integer(number)
            }
            try other.remainder()
            expected["mine"] = 0
            expected["both"] = 20
            #expect(try DomainValues.read(fixture.path) == expected)
            #expect(fixture.values(store) == expected)
            _ = store.examineDisplaced()
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test(
        "An uncooperative writer at full speed loses no update to us, and we none to it",
        .enabled(if: ForeignProcess.hasPython))
    func uncooperativeWriter() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["start": 0])
            try store.publish(fixture.domain)
            // It reads and replaces without a lock, so it may itself undo what came between its read and its write; each
            // of its own keys must survive, and so must ours, since a stale writer hasn't removed them.
            let other = try ForeignProcess(
                python: """
                    import os, plistlib, sys
                    path = sys.argv[1]
                    own = {}
                    for n in range(150):
                        with open(path, "rb") as f: values = plistlib.load(f)
                        own["theirs %d" % n] = n
                        values.update(own)
                        with open(path + ".new", "wb") as f: plistlib.dump(values, f)
                        os.replace(path + ".new", path)
                    print("done", flush=True)
                    """, [fixture.path])
            var expected: DomainValues = ["start": 0]
            for number in Int64(0)..<150 { expected["theirs \(number)"] = .integer(number) }
            var number = Int64(0)
            while number < 150 {
                fixture.edit(store, ["mine \(number)": .integer(number)])
                expected["mine \(number)"] = .integer(number)
                number += 1
                do throws(DefaultsError) {
                    try store.publish(fixture.domain)
                } catch {
                    // It is so quick that we never come between: then all stays pending.
                    #expect(error.code == .notSaved)
                }
            }
            try other.remainder()
            fixture.look(store)
            try store.publish(fixture.domain)
            _ = store.examineDisplaced()
            try store.publish(fixture.domain)
            #expect(fixture.values(store) == expected)
            #expect(try DomainValues.read(fixture.path) == expected)
        }
    }

    @Test("Publishing ends, with success, though another thread goes on editing", .timeLimit(.minutes(1)))
    func endlessEdits() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["mine": 1])
            try withBackgroundThread { mayGoOn in
                var number = Int64(0)
                while mayGoOn() {
                    number += 1
                    fixture.edit(store, ["counter": .integer(number)])
                }
            } while: {
                try store.publish(fixture.domain)
            }
            #expect(try DomainValues.read(fixture.path)["mine"] == 1)
            try store.publish(fixture.domain)
            #expect(store.pending().isEmpty)
        }
    }

    @Test(
        "What is set once more to the value in force is saved, though the file was removed, changed or damaged unseen",
        arguments: [nil, "{ b = 1; }", "{ a = 2; b = 1; }", "no property list {"])
    func sameValue(file: String?) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 1])
            try store.publish(fixture.domain)
            if let file { try RawFile.write(file, to: fixture.path) } else { unlink(fixture.path) }
            _ = try store.submit(EditRequest(domain: fixture.domain, values: ["a": 1], writer: .testApp))
            #expect(store.pending().map(\.domain) == [fixture.domain])
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path)["a"] == 1)
        }
    }

    @Test("What is set once more to the value in force is not saved again while the file is as it was")
    func sameValueOfKnownFile() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            try store.publish(fixture.domain)
            _ = try store.submit(EditRequest(domain: fixture.domain, values: ["a": 1, "b": nil], writer: .testApp))
            #expect(store.pending().isEmpty)
        }
    }

    @Test("A version that is written late, after it was replaced, is merged when it is examined again")
    func displaced() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 1, "c": 1])
            try store.publish(fixture.domain)
            let late = open(fixture.path, O_RDONLY)
            defer { close(late) }
            fixture.edit(store, ["a": 2])
            try store.publish(fixture.domain)
            let writer = open("/proc/self/fd/\(late)", O_WRONLY | O_TRUNC)
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 5, "c": 1]).write(as: .xml), to: writer)
            #expect(store.examineDisplaced())
            close(writer)
            #expect(store.examineDisplaced(), "The disk has its change nowhere else.")
            #expect(fixture.values(store) == ["a": 2, "b": 5, "c": 1])
            #expect(store.pending().map(\.edits) == [1])
            #expect(store.events.last == "file: b")
            try store.publish(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 5, "c": 1])
            _ = store.examineDisplaced()
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("The observer is told of records and of what is to be published, and may call the store")
    func observer() throws {
        final class Observer: StoreObserver {
            let store: Store
            let told = Mutex<[String]>([])
            init(_ store: Store) { self.store = store }
            func storePosted(in domain: Domain) {
                told.withLock { $0.append("posted \(domain) \(store.cursor.revision)") }
            }
            func storeNeedsPublishing(_ domain: Domain, _ urgency: StoreUrgency) {
                told.withLock { $0.append("\(domain) \(urgency) \(store.pending().count)") }
            }
            func storeTold(_ event: LogRecord.Event) { told.withLock { $0.append("\(event)") } }
            func storeLostLog(_ error: DefaultsError) { told.withLock { $0.append("\(error)") } }
            func storeKept(_ copy: String) { told.withLock { $0.append("kept \(copy)") } }
        }
        try withStoreFixture { fixture in
            let store = fixture.store()
            let observer = Observer(store)
            store.observe(with: observer)
            fixture.edit(store, ["a": 1])
            fixture.edit(store, ["a": 1])
            try store.publish(fixture.domain)
            #expect(observer.told.withLock { $0 } == ["posted org.example.app 1", "org.example.app soon 1"])
        }
    }

    @Test("An edit is taken while a subscriber's filter looks at a long key", arguments: ["snapshot", "records"])
    func slowFilter(start: String) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            let beginning = store.cursor
            fixture.edit(store, [String(repeating: "a", count: 200_000): 1, "k": 1])
            let pattern = GlobPattern("*" + String(repeating: "a", count: 1_000) + "b*")
            let filter = SubscriptionFilter(keys: Array(repeating: pattern, count: 6))
            var subscription = store.subscribe(
                start == "snapshot" ? .snapshot : .after(beginning), filter: filter, mode: .everything)
            let edits = Mutex(0)
            withBackgroundThread { mayGoOn in
                while mayGoOn() {
                    // No change, and so no record.
                    fixture.edit(store, ["k": 1])
                    edits.withLock { $0 += 1 }
                }
            } while: {
                #expect(eventually { edits.withLock { $0 } > 0 })
                let before = edits.withLock { $0 }
                _ = store.next(for: &subscription)
                // One may have been under way at each end.
                #expect(edits.withLock { $0 } > before + 2)
            }
        }
    }

    @Test("A subscriber gets large records a few at a time")
    func largeRecords() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            var subscription = store.subscribe(.after(store.cursor), filter: SubscriptionFilter(), mode: .everything)
            for number in 0..<20 {
                fixture.edit(store, ["k": .string("\(number)" + String(repeating: "a", count: 50_000))])
            }
            var portions: [Int] = []
            while store.lag(of: subscription) > 0 {
                portions.append(store.next(for: &subscription).events.count { $0.summary.hasPrefix("record") })
            }
            #expect(portions.reduce(0, +) == 20)
            // Each record has the value before, too.
            #expect(portions.allSatisfy { (1...6).contains($0) }, "\(portions)")
        }
    }

    @Test("A subscriber's snapshot and the records after it lead to the values in force")
    func snapshotThenStream() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 1])
            let filter = SubscriptionFilter(keys: [GlobPattern("a")])
            var subscription = store.subscribe(.snapshot, filter: filter, mode: .everything)
            let (events, snapshots) = store.next(for: &subscription)
            #expect(events.map(\.summary) == ["snapshot 1"])
            #expect(snapshots.map(\.values) == [["a": 1]])
            #expect(snapshots.map(\.cursor.revision) == [1])
            fixture.edit(store, ["a": 2, "b": 2])
            #expect(store.lag(of: subscription) == 1)
            #expect(store.next(for: &subscription).events.map(\.summary) == ["record 2", "bookmark 2"])
        }
    }
}
