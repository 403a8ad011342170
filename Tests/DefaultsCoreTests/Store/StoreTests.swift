import Glibc
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Store with real files")
struct StoreTests {
    @Test("Only requested domains with unsaved edits are returned as pending")
    func pendingAmong() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            let (other, unknown) = (try Domain("org.example.other"), try Domain("org.example.unknown"))
            fixture.edit(store, ["a": 1])
            store.edit(EditRequest(domain: other, values: ["a": 1], writer: .testApp))
            #expect(store.pending(among: [fixture.domain, unknown]) == [fixture.domain])
            #expect(store.pending(among: [other, fixture.domain]) == [fixture.domain, other])
            try store.save(other)
            #expect(store.pending(among: [other, unknown]) == [])
        }
    }

    @Test("An edit is in effect immediately, pending until saved, and then in the file")
    func editAndPublish() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            #expect(fixture.edit(store, ["a": 1, "b": "x"]) == 1)
            #expect(fixture.values(store) == ["a": 1, "b": "x"])
            #expect(store.pending().map(\.edits) == [2])
            #expect(!RawFile.exists(fixture.path))
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": "x"])
            #expect(try RawFile.read(fixture.path).starts(with: "<?xml".utf8))
            #expect(store.pending().isEmpty)
            #expect(fixture.edit(store, ["a": 1]) == 1)
            #expect(store.pending().isEmpty)
            fixture.look(store)
            #expect(store.events == ["app: a b"])
            #expect(namesOfFiles(in: fixture.directory) == [DirectoryLock.fileName, "org.example.app.plist"])
            _ = store.examineDisplaced()
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("Removing the last key removes the file, and an edit that replaces all values removes the other keys")
    func removals() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 2])
            try store.save(fixture.domain)
            store.edit(EditRequest(domain: fixture.domain, values: ["c": 3], replacesAll: true, writer: .testApp))
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["c": 3])
            fixture.edit(store, ["c": nil])
            try store.save(fixture.domain)
            #expect(!store.examineDisplaced())
            #expect(namesOfFiles(in: fixture.directory) == [])
            #expect(store.domains() == [])
            #expect(store.events == ["app: a b", "app: a b c", "app: c"])
        }
    }

    @Test("Saving keeps a file's format", arguments: [PropertyListFormat.xml, .binary])
    func format(format: PropertyListFormat) throws {
        try withStoreFixture { fixture in
            try RawFile.write(PropertyListValue.dictionary(["a": 1]).write(as: format), to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": 2])
            try store.save(fixture.domain)
            #expect(PropertyListFormat.detect(try RawFile.read(fixture.path)) == format)
            #expect(try DomainValues.read(fixture.path) == ["a": 1, "b": 2])
        }
    }

    @Test("A string that XML can't represent makes the file binary and isn't lost")
    func controlCharacters() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": "one"])
            try store.save(fixture.domain)
            fixture.edit(store, ["b": "two\u{1}\u{1B}[0m"])
            try store.save(fixture.domain)
            #expect(PropertyListFormat.detect(try RawFile.read(fixture.path)) == .binary)
            #expect(try DomainValues.read(fixture.path) == ["a": "one", "b": "two\u{1}\u{1B}[0m"])
        }
    }

    @Test("Two stores that share a directory, as two processes do, lose none of 200 interleaved edits")
    func twoStores() throws {
        try withStoreFixture { fixture in
            let stores = [fixture.store(), fixture.store()]
            var random = PseudoRandom(seed: 5)
            for number in 0..<Int64(200) {
                let store = random.pick(stores)
                fixture.edit(store, ["key \(number)": .integer(number)])
                if random.oneIn(3) { try store.save(fixture.domain) }
            }
            for store in stores { try store.save(fixture.domain) }
            for store in stores { fixture.look(store) }
            let expected = DomainValues(uniqueKeysWithValues: (0..<Int64(200)).map { ("key \($0)", .integer($0)) })
            #expect(try DomainValues.read(fixture.path) == expected)
            #expect(stores.allSatisfy { fixture.values($0) == expected && $0.pending().isEmpty })
            // Each store skips displaced files that the other still uses.
            let isDone = eventually { stores.map { $0.examineDisplaced() } == [false, false] }
            #expect(isDone)
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("Two stores that save concurrently lose no edits")
    func concurrentStores() throws {
        try withStoreFixture { fixture in
            @Sendable func publishMany(_ name: String) {
                let store = fixture.store()
                for number in 0..<Int64(60) {
                    fixture.edit(store, ["\(name) \(number)": .integer(number)])
                    #expect(throws: Never.self) { try store.save(fixture.domain) }
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
        "A foreign writer's change between an edit and its save is merged",
        .enabled(if: ForeignProcess.hasPython), arguments: ["truncates", "replaces"])
    func foreignWriter(way: String) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["mine": 0, "both": 0])
            try store.save(fixture.domain)
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
                try store.save(fixture.domain)
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
        "A fast foreign writer without locks loses no update, and neither does the store",
        .enabled(if: ForeignProcess.hasPython))
    func uncooperativeWriter() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["start": 0])
            try store.save(fixture.domain)
            // The writer reads and replaces the file without a lock, so it may undo changes between its read and its
            // write. Each of its own keys must survive, and so must ours, since a stale writer hasn't removed them.
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
                    try store.save(fixture.domain)
                } catch {
                    // The writer may be too fast for any of our saves. Then all edits stay pending.
                    #expect(error.code == .notSaved)
                }
            }
            try other.remainder()
            fixture.look(store)
            try store.save(fixture.domain)
            _ = store.examineDisplaced()
            try store.save(fixture.domain)
            #expect(fixture.values(store) == expected)
            #expect(try DomainValues.read(fixture.path) == expected)
        }
    }

    @Test("A save finishes successfully while another thread keeps editing", .timeLimit(.minutes(1)))
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
                try store.save(fixture.domain)
            }
            #expect(try DomainValues.read(fixture.path)["mine"] == 1)
            try store.save(fixture.domain)
            #expect(store.pending().isEmpty)
        }
    }

    @Test(
        "Setting a key to its current value saves it if the file was removed, changed or damaged unnoticed",
        arguments: [nil, "{ b = 1; }", "{ a = 2; b = 1; }", "no property list {"])
    func sameValue(file: String?) throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 1])
            try store.save(fixture.domain)
            if let file { try RawFile.write(file, to: fixture.path) } else { unlink(fixture.path) }
            _ = try store.submit(EditRequest(domain: fixture.domain, values: ["a": 1], writer: .testApp))
            #expect(store.pending().map(\.domain) == [fixture.domain])
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path)["a"] == 1)
        }
    }

    @Test("Setting a key to its current value saves nothing while the file is unchanged")
    func sameValueOfKnownFile() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            try store.save(fixture.domain)
            _ = try store.submit(EditRequest(domain: fixture.domain, values: ["a": 1, "b": nil], writer: .testApp))
            #expect(store.pending().isEmpty)
        }
    }

    @Test("A late write to a displaced file is merged when the file is examined again")
    func displaced() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 1, "c": 1])
            try store.save(fixture.domain)
            let late = open(fixture.path, O_RDONLY)
            defer { close(late) }
            fixture.edit(store, ["a": 2])
            try store.save(fixture.domain)
            let writer = open("/proc/self/fd/\(late)", O_WRONLY | O_TRUNC)
            try RawFile.write(PropertyListValue.dictionary(["a": 1, "b": 5, "c": 1]).write(as: .xml), to: writer)
            #expect(store.examineDisplaced())
            RawFile.close(writer)
            #expect(store.examineDisplaced(), "No other file holds this change yet.")
            #expect(fixture.values(store) == ["a": 2, "b": 5, "c": 1])
            #expect(store.pending().map(\.edits) == [1])
            #expect(store.events.last == "file: b")
            try store.save(fixture.domain)
            #expect(try DomainValues.read(fixture.path) == ["a": 2, "b": 5, "c": 1])
            _ = store.examineDisplaced()
            #expect(namesOfFiles(in: fixture.directory) == ["org.example.app.plist"])
        }
    }

    @Test("A displaced file counts as open from the moment at which its edits are no longer pending")
    func openDisplaced() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            try store.save(fixture.domain)
            let writer = open(fixture.path, O_WRONLY)
            fixture.edit(store, ["a": 2])
            withBackgroundThread { _ in
                #expect(throws: Never.self) { try store.save(fixture.domain, onObstacle: .override) }
            } while: {
                #expect(eventually { store.pending(among: [fixture.domain]).isEmpty })
                #expect(store.hasOpenDisplaced(among: [fixture.domain]))
                RawFile.close(writer)
            }
            #expect(!store.hasOpenDisplaced(among: nil))
        }
    }

    @Test("The observer is notified of records and necessary saves, and may call the store")
    func observer() throws {
        final class Observer: StoreObserver {
            let store: Store
            let told = Mutex<[String]>([])
            init(_ store: Store) { self.store = store }
            func storePublished(in domain: Domain) {
                told.withLock { $0.append("posted \(domain) \(store.cursor.revision)") }
            }
            func storeNeedsSaving(_ domain: Domain, urgency timing: SaveTiming) {
                told.withLock { $0.append("\(domain) \(timing) \(store.pending().count)") }
            }
            func storeReported(_ event: LogRecord.Event) { told.withLock { $0.append("\(event)") } }
            func storeNeedsMaintenance() {}
            func storeLostLog(_ error: DefaultsError) { told.withLock { $0.append("\(error)") } }
            func storeMadeCopy(_ copy: String) { told.withLock { $0.append("kept \(copy)") } }
        }
        try withStoreFixture { fixture in
            let store = fixture.store()
            let observer = Observer(store)
            store.observe(with: observer)
            fixture.edit(store, ["a": 1])
            fixture.edit(store, ["a": 1])
            try store.save(fixture.domain)
            #expect(observer.told.withLock { $0 } == ["posted org.example.app 1", "org.example.app delayed 1"])
        }
    }

    @Test("An edit isn't blocked while a subscriber's filter checks a long key", arguments: ["snapshot", "records"])
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
                    // This edit changes nothing, so it adds no record.
                    fixture.edit(store, ["k": 1])
                    edits.withLock { $0 += 1 }
                }
            } while: {
                #expect(eventually { edits.withLock { $0 } > 0 })
                let before = edits.withLock { $0 }
                _ = store.next(for: &subscription)
                // One edit may have been in progress at each end.
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
                portions.append(store.next(for: &subscription).count { $0.summary.hasPrefix("record") })
            }
            #expect(portions.reduce(0, +) == 20)
            // Each record also contains the old value.
            #expect(portions.allSatisfy { (1...6).contains($0) }, "\(portions)")
        }
    }

    @Test("A subscriber's snapshot and the records after it add up to the current values")
    func snapshotThenStream() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1, "b": 1])
            let filter = SubscriptionFilter(keys: [GlobPattern("a")])
            var subscription = store.subscribe(.snapshot, filter: filter, mode: .everything)
            let snapshot = DomainSnapshot(domain: fixture.domain, values: ["a": 1], cursor: store.cursor)
            #expect(store.next(for: &subscription) == [.initial(snapshot)])
            fixture.edit(store, ["a": 2, "b": 2])
            #expect(store.lag(of: subscription) == 1)
            #expect(store.next(for: &subscription).map(\.summary) == ["record 2", "bookmark 2"])
        }
    }

    @Test("A subscriber whose snapshot has no domains gets its bookmark immediately")
    func emptySnapshot() throws {
        try withStoreFixture { fixture in
            let store = fixture.store()
            fixture.edit(store, ["a": 1])
            let filter = SubscriptionFilter(keys: [GlobPattern("b")])
            var subscription = store.subscribe(.snapshot, filter: filter, mode: .everything)
            #expect(store.next(for: &subscription).map(\.summary) == ["bookmark 1"])
            #expect(store.next(for: &subscription) == [])
        }
    }
}
