import Glibc
import Linux
import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The first reading of all files")
struct StartTests {
    /// Enough files for several threads.
    private let count = 700

    private func name(_ number: Int) -> String { "org.example.app\(number)" }

    /// Writes files of all formats, each with its number as a value.
    private func writeFiles(in directory: String) throws {
        for number in 0..<count {
            let format = [PropertyListFormat.binary, .xml, .oldStyle][number % 3]
            let value = PropertyListValue.dictionary(["number": .string("\(number)")])
            try RawFile.write(value.write(as: format), to: "\(directory)/\(name(number)).plist")
        }
    }

    private func domainsInUse(_ store: Store) -> [Domain] { store.state.withLock { Array($0.domains.inUse.keys) } }

    @Test("A store that starts knows every file's values, whether or not it resumes a log", arguments: [false, true])
    func allFiles(isResumed: Bool) throws {
        try withStoreFixture { fixture in
            try writeFiles(in: fixture.directory)
            if isResumed { _ = try fixture.storeWithLog() }
            let store = isResumed ? try fixture.resumedStore() : try fixture.storeWithLog()
            #expect(domainsInUse(store).isEmpty)
            #expect(store.domains().count == count)
            for number in 0..<count {
                let domain = Domain(try DomainName(name(number)))
                #expect(store.snapshot(of: domain).values == ["number": .string("\(number)")])
            }
            // Reading doesn't keep anything, so that memory doesn't depend on who has ever read what.
            #expect(domainsInUse(store).isEmpty)
            #expect(store.events.isEmpty)
        }
    }

    @Test("Each damaged file among many is reported at the start, and again by a store that resumes the log")
    func damagedFiles() throws {
        try withStoreFixture { fixture in
            try writeFiles(in: fixture.directory)
            let damaged = try [3, 130, 131, 500, 699].map { try Domain(DomainName(name($0))) }.sorted()
            let files = PreferencesDirectory(path: fixture.directory)
            for (domain, text) in zip(damaged, ["", "{ a = ", "bplist00", "<plist><dict>", "( a )"]) {
                try RawFile.write(text, to: files.path(of: domain))
            }
            for store in [try fixture.storeWithLog(), try fixture.resumedStore()] {
                #expect(store.failures().map(\.domain) == damaged)
                let reported = store.records.filter { if case .damaged = $0.event { true } else { false } }
                #expect(reported.map(\.domain).suffix(damaged.count) == damaged)
                #expect(domainsInUse(store).sorted() == damaged)
            }
        }
    }

    @Test("A change to the file of an unused domain has the old and the new value")
    func oldValue() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; b = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            #expect(domainsInUse(store).isEmpty)
            try RawFile.write("{ a = 2; b = 1; }", to: fixture.path)
            fixture.look(store)
            guard case .change(let changeSet)? = store.records.last?.event else {
                Issue.record("The change wasn't published.")
                return
            }
            #expect(changeSet.changes == [KeyChange(key: "a", old: "1", new: "2")])
            #expect(domainsInUse(store) == [fixture.domain])
        }
    }

    @Test("The first edit of an unused domain changes only its own bytes in the file")
    func firstEdit() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ // a comment\n  a = 1;\n  b = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            fixture.edit(store, ["b": "2"])
            #expect(fixture.values(store) == ["a": "1", "b": "2"])
            try store.save(fixture.domain)
            #expect(try RawFile.read(fixture.path) == Array("{ // a comment\n  a = 1;\n  b = 2; }".utf8))
        }
    }

    @Test("The values of a large file are parsed once, at the start")
    func largeFile() throws {
        try withStoreFixture { fixture in
            let text = String(repeating: "x", count: 1 << 16)
            try RawFile.write("{ a = \(text); }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            #expect(domainsInUse(store) == [fixture.domain])
            #expect(fixture.values(store) == ["a": .string(text)])
        }
    }

    @Test("A domain is back at rest after its file was touched, and in use after its file changed")
    func touched() throws {
        try withStoreFixture { fixture in
            try RawFile.write("{ a = 1; }", to: fixture.path)
            let store = fixture.store()
            _ = try store.start(resuming: nil)
            #expect(utimes(fixture.path, nil) == 0)
            fixture.look(store)
            #expect(domainsInUse(store).isEmpty)
            let status = try RawFile.status(fixture.path)
            #expect(store.state.withLock { $0.domains[fixture.domain]?.file?.identity } == FileIdentity(status))
            #expect(store.state.withLock { $0.domains.domains(named: fixture.domain.name) } == [fixture.domain])
        }
    }
}

@Suite("Domains at rest")
struct DomainAtRestTests {
    /// The state of a domain whose file has just been read for the first time.
    private func readState(keepsBytes: Bool) throws -> DomainState {
        try withTemporaryDirectory { directory in
            try RawFile.write("{ a = 1; }", to: directory + "/file.plist")
            let reading = DomainFile(path: directory + "/file.plist").read(known: nil, keepsBytes: keepsBytes)
            guard case .contents(let contents) = reading else { throw TestSystemError("read") }
            var state = DomainState()
            state.merge = Merge(base: contents.stored, baseTime: contents.time)
            state.setFile(contents.version)
            state.format = contents.format
            return state
        }
    }

    @Test("The small form gives back the state")
    func roundTrip() throws {
        let state = try readState(keepsBytes: true)
        let copy = try #require(DomainAtRest(state)).state
        #expect(copy.merge.base == ["a": "1"])
        #expect(copy.merge.baseTime == state.merge.baseTime)
        #expect(copy.file == state.file)
        #expect(copy.format == .oldStyle)
        #expect(try DomainAtRest(readState(keepsBytes: false)) == nil)
    }

    @Test(
        "A state with anything beside its file has no small form",
        arguments: [
            { $0.merge.versions.append(back: [:], at: Timestamp(nanoseconds: 1), writtenAt: .now()) },
            { $0.merge.pending["a"] = Edit(value: 1, time: Timestamp(nanoseconds: 1), writer: .agent, sequence: 1) },
            { $0.merge.keyTimes["a"] = Timestamp(nanoseconds: 1) },
            { $0.merge.base["a"] = 2 },
            { $0.setFile(nil) }, { $0.setUnseen(ContentHash(value: 1)) },
            { $0.missingSince = Timestamp(nanoseconds: 1) }, { $0.earlierVersions = [ContentHash(value: 1): 1] },
            { $0.setDamage(FileDamage(error: DefaultsError(.damaged, "damaged"))) },
            { $0.equivalentKeys = ContentHash(value: 1) }, { $0.backedUp = ContentHash(value: 1) },
            { $0.intent = (FileMark(domain: Domain(.global), hash: nil, revision: 0), [:]) },
            { $0.failure = DefaultsError(.notSaved, "not saved") }, { $0.isTroubled = true },
            { $0.lostChangeSets = [1] }, { $0.complete = 1 }, { $0.unread = ContentHash(value: 1) },
        ] as [@Sendable (inout DomainState) -> Void])
    func others(change: @Sendable (inout DomainState) -> Void) throws {
        var state = try readState(keepsBytes: true)
        change(&state)
        #expect(DomainAtRest(state) == nil)
    }

    @Test("The small form takes every property of a state into account")
    func properties() {
        // If this fails, add the new property to `DomainAtRest`, to the test above, and to this number.
        #expect(Mirror(reflecting: DomainState()).children.count == 13)
        #expect(Mirror(reflecting: Merge()).children.count == 5)
    }
}

@Suite("Values that stay bytes")
struct FileValuesTests {
    @Test("Values are the same before and after they are parsed, and can be changed")
    func values() throws {
        let expected: DomainValues = ["a": 1, "b": ["x": [true]]]
        let bytes = try PropertyListValue.dictionary(expected).write(as: .binary)
        var values = FileValues(bytes: bytes, parsedAs: expected)
        #expect(values.areBytes)
        #expect(!values.isEmpty)
        #expect(values.moved().values == expected)
        #expect(values.values == expected)
        #expect(values.areBytes)
        #expect(values == FileValues(expected))
        values.values["a"] = nil
        #expect(!values.areBytes)
        #expect(values.values == ["b": ["x": [true]]])
        #expect(FileValues(bytes: Array("{}".utf8), parsedAs: [:]).isEmpty)
    }
}
