import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Read-only layers of the store")
struct LayerTests {
    /// A user's directory, two system directories and a managed one, with a domain in each.
    private struct Fixture {
        let root: String
        let store: Store
        let own: Domain
        let first: Domain
        let second: Domain
        let managed: Domain

        init(_ root: String) throws {
            self.root = root
            for name in ["own", "first", "second", "managed"] { try RawFile.makeDirectory("\(root)/\(name)") }
            store = Store(
                directory: PreferencesDirectory(path: root + "/own"),
                system: SystemDirectories(
                    anyUser: [root + "/first", root + "/own", root + "/second"], managed: root + "/managed"))
            own = try Domain("a.b")
            first = Domain(own.name, user: .any(directory: root + "/first"))
            second = Domain(own.name, user: .any(directory: root + "/second"))
            managed = Domain(own.name, user: .managed)
        }

        func path(_ layer: String) -> String { "\(root)/\(layer)/a.b.plist" }

        func write(_ text: String, to layer: String) throws { try RawFile.write(text, to: path(layer)) }

        func values(_ domain: Domain) -> DomainValues { store.snapshot(of: domain).values }

        /// Reloads all files and confirms losses immediately.
        func look() throws { _ = try store.reloadAll(losses: .believe) }
    }

    private func withFixture(_ body: (Fixture) throws -> Void) throws {
        try withTemporaryDirectory { try body(Fixture($0)) }
    }

    static let isRoot = geteuid() == 0

    @Test("Each directory has its own domains, apart from the user's")
    func layers() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "own")
            try fixture.write("{ a = 2; }", to: "first")
            try fixture.write("{ a = 3; b = 3; }", to: "second")
            try RawFile.makeDirectory(fixture.root + "/second/ByHost")
            try RawFile.write("{ a = 4; }", to: fixture.root + "/second/ByHost/c.d.HOST.plist")
            _ = try fixture.store.start(resuming: nil)
            #expect(fixture.values(fixture.own) == ["a": "1"])
            #expect(fixture.values(fixture.first) == ["a": "2"])
            #expect(fixture.values(fixture.second) == ["a": "3", "b": "3"])
            let ofHost = Domain(try DomainName("c.d"), host: .only("HOST"), user: fixture.second.user)
            #expect(fixture.values(ofHost) == ["a": "4"])
            #expect(fixture.store.domains() == [fixture.own])
            let all = fixture.store.state.withLock { $0.snapshots() }
            #expect(all.map(\.domain) == [fixture.own, fixture.first, fixture.second, ofHost])
            #expect(fixture.store.events == [])

            try fixture.write("{ a = 5; }", to: "first")
            try fixture.look()
            #expect(fixture.store.records.map(\.domain) == [fixture.first])
            unlink(fixture.path("first"))
            try fixture.look()
            #expect(fixture.store.events == ["file: a", "file: a"])
            #expect(fixture.values(fixture.first) == [:])
        }
    }

    @Test("A directory that isn't one of the store's isn't read")
    func elsewhere() throws {
        try withFixture { fixture in
            try RawFile.makeDirectory(fixture.root + "/other")
            try fixture.write("{ a = 1; }", to: "other")
            let domain = Domain(fixture.own.name, user: .any(directory: fixture.root + "/other"))
            #expect(fixture.store.reload([domain], losses: .believe).isEmpty)
            #expect(fixture.values(domain) == [:])
            let alone = Store(directory: PreferencesDirectory(path: fixture.root + "/own"))
            #expect(alone.reload([fixture.managed], losses: .believe).isEmpty)
            #expect(alone.snapshot(of: fixture.managed).damage == nil)
        }
    }

    @Test("Edits to a read-only domain change neither the values in memory nor the file")
    func edits() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "first")
            _ = try fixture.store.start(resuming: nil)
            for domain in [fixture.first, fixture.second, fixture.managed] {
                let before = fixture.values(domain)
                for replacesAll in [true, false] {
                    let request = EditRequest(
                        domain: domain, values: ["a": 2], replacesAll: replacesAll, writer: .testApp)
                    let error = #expect(throws: DefaultsError.self) { try fixture.store.submit(request) }
                    #expect(error?.code == .readOnly)
                }
                try fixture.store.save(domain)
                #expect(fixture.values(domain) == before)
            }
            #expect(fixture.store.events == [] && fixture.store.pending().isEmpty)
            #expect(try RawFile.read(fixture.path("first")) == Array("{ a = 1; }".utf8))
            #expect(namesOfFiles(in: fixture.root + "/second") == [])
        }
    }

    @Test("A file in a system directory replaces all values even if its writer had loaded an older version")
    func takenAsItIs() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "first")
            _ = try fixture.store.start(resuming: nil)
            try fixture.write("{ a = 1; b = 2; c = 3; }", to: "first")
            try fixture.look()
            // In the user's own directory, b and c would be kept and saved to the file again.
            try fixture.write("{ a = 1; d = 4; }", to: "first")
            try fixture.look()
            #expect(fixture.values(fixture.first) == ["a": "1", "d": "4"])
            #expect(fixture.store.pending().isEmpty)
        }
    }

    @Test("Files in system directories don't prevent the creation of the user's default directory")
    func firstRun() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "first")
            let usual = fixture.root + "/usual"
            let store = Store(
                directory: PreferencesDirectory(path: usual, isExplicit: false), system: fixture.store.system)
            _ = try store.start(resuming: nil)
            store.edit(EditRequest(domain: fixture.own, values: ["a": 2], writer: .testApp))
            try store.save(fixture.own)
            #expect(try DomainValues.read(usual + "/a.b.plist") == ["a": 2])
        }
    }

    @Test("A missing system directory has no values, even while the user's own directory is missing")
    func missing() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "own")
            try fixture.write("{ a = 2; }", to: "first")
            _ = try fixture.store.start(resuming: nil)
            removeTree(fixture.root + "/own")
            removeTree(fixture.root + "/first")
            let error = #expect(throws: DefaultsError.self) { try fixture.look() }
            #expect(error?.code == .directory)
            #expect(fixture.store.reloadSystem().unconfirmed == [fixture.first])
            #expect(fixture.store.reloadSystem(losses: .believe).isEmpty)
            #expect(fixture.values(fixture.first) == [:])
            #expect(fixture.values(fixture.own) == ["a": "1"])
            #expect(fixture.store.system.problems == [])
        }
    }

    @Test(
        "An unreadable system directory keeps its last values and is reported",
        arguments: ["first", "first/ByHost"], [0o000, 0o444, 0o311] as [mode_t])
    func unreadable(place: String, mode: mode_t) throws {
        try withFixture { fixture in
            try RawFile.makeDirectory(fixture.root + "/first/ByHost")
            try fixture.write("{ a = 1; }", to: "first")
            try RawFile.write("{ a = 2; }", to: fixture.root + "/first/ByHost/a.b.HOST.plist")
            for name in ["", "/own", "/second", "/managed"] { chmod(fixture.root + name, 0o755) }
            _ = try fixture.store.start(resuming: nil)
            let directory = "\(fixture.root)/\(place)"
            chmod(directory, mode)
            let ofHost = Domain(fixture.own.name, host: .only("HOST"), user: fixture.first.user)
            let (outcome, problems) = asUnprivileged {
                (fixture.store.reloadSystem(losses: .believe), fixture.store.system.problems.map(\.description))
            }
            chmod(directory, 0o755)
            #expect(outcome.unconfirmed.isEmpty && outcome.beingWritten.isEmpty)
            #expect(problems.contains { $0.hasPrefix("The directory \(directory) is gone or can't be read") })
            #expect(fixture.values(fixture.first) == ["a": "1"])
            #expect(fixture.values(ofHost) == ["a": "2"])
            #expect(fixture.store.events == [])
            #expect(fixture.store.system.problems == [])
        }
    }

    /// A way in which a path isn't writable by root alone, and its remedy.
    struct Distrust: CustomTestStringConvertible {
        let testDescription: String
        /// The path to change, relative to the managed directory.
        let place: String
        let spoil: @Sendable (String) -> Int32
        let repair: @Sendable (String) -> Int32
        let remedy: String

        static let all = ["a.b.plist", "."].flatMap { place in
            [
                Distrust(
                    testDescription: "\(place) belongs to another user", place: place, spoil: { chown($0, 65_534, 0) },
                    repair: { chown($0, 0, 0) }, remedy: "chown root"),
                Distrust(
                    testDescription: "\(place) is writable by the group", place: place, spoil: { chmod($0, 0o775) },
                    repair: { chmod($0, 0o755) }, remedy: "chmod go-w"),
                Distrust(
                    testDescription: "\(place) is writable by everyone", place: place, spoil: { chmod($0, 0o757) },
                    repair: { chmod($0, 0o755) }, remedy: "chmod go-w"),
            ]
        }
    }

    @Test(
        "A managed file that others can write is ignored and reported once, with the remedy",
        .enabled(if: isRoot), arguments: Distrust.all)
    func managed(distrust: Distrust) throws {
        try withFixture { fixture in
            let path = fixture.path("managed")
            let place = distrust.place == "." ? Path.directory(of: path) : path
            try fixture.write("{ a = 1; }", to: "managed")
            _ = try fixture.store.start(resuming: nil)
            #expect(fixture.values(fixture.managed) == ["a": "1"])

            #expect(distrust.spoil(place) == 0)
            for _ in 0..<3 { try fixture.look() }
            #expect(fixture.values(fixture.managed) == [:])
            #expect(fixture.store.events == ["file: a", "damaged"])
            let error = try #require(fixture.store.failures().first?.error)
            #expect(error.code == .untrusted)
            #expect(error.description.hasPrefix("\(path) is ignored, because "))
            #expect(error.description.hasSuffix("`\(distrust.remedy) \(place)`."))
            #expect(fixture.store.snapshot(of: fixture.managed).damage == error.description)
            try fixture.write("{ a = 2; }", to: "managed")
            try fixture.look()
            #expect(fixture.values(fixture.managed) == [:])

            #expect(distrust.repair(place) == 0)
            try fixture.look()
            #expect(fixture.values(fixture.managed) == ["a": "2"])
            #expect(fixture.store.events == ["file: a", "damaged", "file: a", "recovered"])
            #expect(fixture.store.failures().isEmpty)
        }
    }

    @Test("A managed file that was writable by others from the start has no values", .enabled(if: isRoot))
    func neverManaged() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "managed")
            chmod(fixture.path("managed"), 0o666)
            for _ in 0..<2 { _ = try fixture.store.start(resuming: nil) }
            try fixture.look()
            #expect(fixture.store.events == ["damaged"])
            #expect(fixture.values(fixture.managed) == [:])
        }
    }

    @Test("A FIFO of another user in a managed file's place removes the file's values", .enabled(if: isRoot))
    func replacedByFifo() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "managed")
            _ = try fixture.store.start(resuming: nil)
            unlink(fixture.path("managed"))
            mkfifo(fixture.path("managed"), 0o644)
            chown(fixture.path("managed"), 65_534, 65_534)
            try fixture.look()
            #expect(fixture.values(fixture.managed) == [:])
            #expect(fixture.store.failures().map(\.error.code) == [.untrusted])
        }
    }

    @Test("A managed file in ByHost is ignored unless root owns that directory and its parent", .enabled(if: isRoot))
    func managedByHost() throws {
        try withFixture { fixture in
            let directory = fixture.root + "/managed/ByHost"
            try RawFile.makeDirectory(directory)
            try RawFile.write("{ a = 1; }", to: directory + "/a.b.HOST.plist")
            let domain = Domain(fixture.own.name, host: .only("HOST"), user: .managed)
            _ = try fixture.store.start(resuming: nil)
            #expect(fixture.values(domain) == ["a": "1"])
            for place in [directory, fixture.root + "/managed"] {
                chown(place, 65_534, 65_534)
                try fixture.look()
                #expect(fixture.values(domain) == [:])
                #expect(fixture.store.failures().first?.error.description.contains("`chown root \(place)`") == true)
                chown(place, 0, 0)
                try fixture.look()
                #expect(fixture.values(domain) == ["a": "1"])
            }
        }
    }

    @Test("A damaged managed file is reported, and its last good values stay", .enabled(if: isRoot))
    func damagedManaged() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "managed")
            _ = try fixture.store.start(resuming: nil)
            try fixture.write("{ a = ", to: "managed")
            try fixture.look()
            #expect(fixture.store.events == ["damaged"])
            #expect(fixture.values(fixture.managed) == ["a": "1"])
        }
    }

    @Test("A change in a layer while no agent was running is reported like any other change", .enabled(if: isRoot))
    func resumed() throws {
        try withFixture { fixture in
            let log = fixture.root + "/h.log"
            try fixture.write("{ a = 1; }", to: "first")
            try fixture.write("{ a = 1; }", to: "managed")
            let first = Store(
                directory: fixture.store.directory, system: fixture.store.system,
                journal: Journal(at: LogLocation(log: log)))
            first.beginJournal()
            _ = try first.start(resuming: nil)
            try fixture.write("{ a = 2; }", to: "first")
            try fixture.write("{ b = 1; }", to: "second")
            let recovered = try #require(try intactLog(from: log, limits: PropertyListLimits()))
            #expect(Set(recovered.marks.keys) == [fixture.first, fixture.managed])
            let store = Store(
                directory: fixture.store.directory, system: fixture.store.system,
                log: ChangeLog(epoch: recovered.epoch, head: recovered.head, records: recovered.records))
            _ = try store.start(resuming: recovered)
            #expect(store.records.map(\.domain) == [fixture.first, fixture.second])
            #expect(store.events == ["unknown", "file: b"])
            #expect(store.snapshot(of: fixture.managed).values == ["a": "1"])
            #expect(store.pending().isEmpty)
        }
    }
}
