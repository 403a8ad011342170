import Glibc
import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("The store's layers that can only be read")
struct LayerTests {
    /// A user's directory, two system directories and a managed one, and a domain in each.
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

        /// Looks at all files, and believes bad news at once.
        func look() throws { _ = try store.lookAtAll(haste: .settle) }
    }

    private func withFixture(_ body: (Fixture) throws -> Void) throws {
        try withTemporaryDirectory { try body(Fixture($0)) }
    }

    static let isRoot = geteuid() == 0

    @Test("Each directory's values are a domain's of its own, and none of the user's")
    func layers() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "own")
            try fixture.write("{ a = 2; }", to: "first")
            try fixture.write("{ a = 3; b = 3; }", to: "second")
            try RawFile.makeDirectory(fixture.root + "/second/ByHost")
            try RawFile.write("{ a = 4; }", to: fixture.root + "/second/ByHost/c.d.HOST.plist")
            _ = try fixture.store.lookAtAll(isBaseline: true)
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

    @Test("A directory that isn't one of the store's is not read")
    func elsewhere() throws {
        try withFixture { fixture in
            try RawFile.makeDirectory(fixture.root + "/other")
            try fixture.write("{ a = 1; }", to: "other")
            let domain = Domain(fixture.own.name, user: .any(directory: fixture.root + "/other"))
            #expect(fixture.store.look(at: [domain], haste: .settle).isEmpty)
            #expect(fixture.values(domain) == [:])
            let alone = Store(directory: PreferencesDirectory(path: fixture.root + "/own"))
            #expect(alone.look(at: [fixture.managed], haste: .settle).isEmpty)
            #expect(alone.snapshot(of: fixture.managed).damage == nil)
        }
    }

    @Test("Edits change nothing, in memory or in the file")
    func edits() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "first")
            _ = try fixture.store.lookAtAll(isBaseline: true)
            for domain in [fixture.first, fixture.second, fixture.managed] {
                let before = fixture.values(domain)
                for replacesAll in [true, false] {
                    fixture.store.edit(
                        EditRequest(
                            domain: domain, values: ["a": 2], replacesAll: replacesAll, writer: .testApp))
                }
                try fixture.store.publish(domain)
                #expect(fixture.values(domain) == before)
            }
            #expect(fixture.store.events == [] && fixture.store.pending().isEmpty)
            #expect(try RawFile.read(fixture.path("first")) == Array("{ a = 1; }".utf8))
            #expect(namesOfFiles(in: fixture.root + "/second") == [])
        }
    }

    @Test("A file is taken as it is, though its writer had loaded an older version")
    func takenAsItIs() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "first")
            _ = try fixture.store.lookAtAll(isBaseline: true)
            try fixture.write("{ a = 1; b = 2; c = 3; }", to: "first")
            try fixture.look()
            // In the user's own directory b and c would be kept, and written to the file once more.
            try fixture.write("{ a = 1; d = 4; }", to: "first")
            try fixture.look()
            #expect(fixture.values(fixture.first) == ["a": "1", "d": "4"])
            #expect(fixture.store.pending().isEmpty)
        }
    }

    @Test("Files in the system's directories don't keep the user's usual one from being made")
    func firstRun() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "first")
            let usual = fixture.root + "/usual"
            let store = Store(
                directory: PreferencesDirectory(path: usual, isExplicit: false), system: fixture.store.system)
            _ = try store.lookAtAll(isBaseline: true)
            store.edit(EditRequest(domain: fixture.own, values: ["a": 2], writer: .testApp))
            try store.publish(fixture.own)
            #expect(try DomainValues.read(usual + "/a.b.plist") == ["a": 2])
        }
    }

    @Test("A directory that is gone has no values, whatever has become of the user's own")
    func missing() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "own")
            try fixture.write("{ a = 2; }", to: "first")
            _ = try fixture.store.lookAtAll(isBaseline: true)
            removeTree(fixture.root + "/own")
            removeTree(fixture.root + "/first")
            let error = #expect(throws: DefaultsError.self) { try fixture.look() }
            #expect(error?.code == .directory)
            #expect(fixture.store.lookAtSystem().doubtful == [fixture.first])
            #expect(fixture.store.lookAtSystem(haste: .settle).isEmpty)
            #expect(fixture.values(fixture.first) == [:])
            #expect(fixture.values(fixture.own) == ["a": "1"])
            #expect(fixture.store.system.problems == [])
        }
    }

    @Test(
        "While a directory can't be read its last values stay, and it is told",
        arguments: ["first", "first/ByHost"], [0o000, 0o444, 0o311] as [mode_t])
    func unreadable(place: String, mode: mode_t) throws {
        try withFixture { fixture in
            try RawFile.makeDirectory(fixture.root + "/first/ByHost")
            try fixture.write("{ a = 1; }", to: "first")
            try RawFile.write("{ a = 2; }", to: fixture.root + "/first/ByHost/a.b.HOST.plist")
            for name in ["", "/own", "/second", "/managed"] { chmod(fixture.root + name, 0o755) }
            _ = try fixture.store.lookAtAll(isBaseline: true)
            let directory = "\(fixture.root)/\(place)"
            chmod(directory, mode)
            let ofHost = Domain(fixture.own.name, host: .only("HOST"), user: fixture.first.user)
            let (unsettled, problems) = asUnprivileged {
                (fixture.store.lookAtSystem(haste: .settle), fixture.store.system.problems.map(\.description))
            }
            chmod(directory, 0o755)
            #expect(unsettled.doubtful.isEmpty && unsettled.beingWritten.isEmpty)
            #expect(problems.contains { $0.hasPrefix("The directory \(directory) is gone or can't be read") })
            #expect(fixture.values(fixture.first) == ["a": "1"])
            #expect(fixture.values(ofHost) == ["a": "2"])
            #expect(fixture.store.events == [])
            #expect(fixture.store.system.problems == [])
        }
    }

    /// A way not to be root's alone, undone by its remedy.
    struct Distrust: CustomTestStringConvertible {
        let testDescription: String
        /// What is changed; the file, if it isn't a directory.
        let place: String
        let spoil: @Sendable (String) -> Int32
        let repair: @Sendable (String) -> Int32
        let remedy: String

        static let all = ["a.b.plist", "."].flatMap { place in
            [
                Distrust(
                    testDescription: "\(place) is another's", place: place, spoil: { chown($0, 65_534, 0) },
                    repair: { chown($0, 0, 0) }, remedy: "chown root"),
                Distrust(
                    testDescription: "\(place) is the group's to write", place: place, spoil: { chmod($0, 0o775) },
                    repair: { chmod($0, 0o755) }, remedy: "chmod go-w"),
                Distrust(
                    testDescription: "\(place) is everyone's to write", place: place, spoil: { chmod($0, 0o757) },
                    repair: { chmod($0, 0o755) }, remedy: "chmod go-w"),
            ]
        }
    }

    @Test(
        "A managed file counts only where root alone can have written it; else it is told once, with the remedy",
        .enabled(if: isRoot), arguments: Distrust.all)
    func managed(distrust: Distrust) throws {
        try withFixture { fixture in
            let path = fixture.path("managed")
            let place = distrust.place == "." ? Path.directory(of: path) : path
            try fixture.write("{ a = 1; }", to: "managed")
            _ = try fixture.store.lookAtAll(isBaseline: true)
            #expect(fixture.values(fixture.managed) == ["a": "1"])

            #expect(distrust.spoil(place) == 0)
            for _ in 0..<3 { try fixture.look() }
            #expect(fixture.values(fixture.managed) == [:])
            #expect(fixture.store.events == ["file: a", "damaged"])
            let error = try #require(fixture.store.failures().first?.error)
            #expect(error.code == .untrusted)
            #expect(error.description.hasPrefix("\(path) is not honoured, since "))
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

    @Test("A managed file that isn't root's alone from the start has never had values", .enabled(if: isRoot))
    func neverManaged() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "managed")
            chmod(fixture.path("managed"), 0o666)
            for _ in 0..<2 { _ = try fixture.store.lookAtAll(isBaseline: true) }
            try fixture.look()
            #expect(fixture.store.events == ["damaged"])
            #expect(fixture.values(fixture.managed) == [:])
        }
    }

    @Test("What isn't root's takes a managed file's values away, be it no file at all", .enabled(if: isRoot))
    func replacedByFifo() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "managed")
            _ = try fixture.store.lookAtAll(isBaseline: true)
            unlink(fixture.path("managed"))
            mkfifo(fixture.path("managed"), 0o644)
            chown(fixture.path("managed"), 65_534, 65_534)
            try fixture.look()
            #expect(fixture.values(fixture.managed) == [:])
            #expect(fixture.store.failures().map(\.error.code) == [.untrusted])
        }
    }

    @Test("Of a managed file in ByHost that directory is root's alone, too", .enabled(if: isRoot))
    func managedByHost() throws {
        try withFixture { fixture in
            let directory = fixture.root + "/managed/ByHost"
            try RawFile.makeDirectory(directory)
            try RawFile.write("{ a = 1; }", to: directory + "/a.b.HOST.plist")
            let domain = Domain(fixture.own.name, host: .only("HOST"), user: .managed)
            _ = try fixture.store.lookAtAll(isBaseline: true)
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

    @Test("A managed file that doesn't parse is told, and its last good values stay", .enabled(if: isRoot))
    func damagedManaged() throws {
        try withFixture { fixture in
            try fixture.write("{ a = 1; }", to: "managed")
            _ = try fixture.store.lookAtAll(isBaseline: true)
            try fixture.write("{ a = ", to: "managed")
            try fixture.look()
            #expect(fixture.store.events == ["damaged"])
            #expect(fixture.values(fixture.managed) == ["a": "1"])
        }
    }

    @Test("What changed in a layer while no agent ran is told like any other change", .enabled(if: isRoot))
    func resumed() throws {
        try withFixture { fixture in
            let log = fixture.root + "/log"
            try fixture.write("{ a = 1; }", to: "first")
            try fixture.write("{ a = 1; }", to: "managed")
            try fixture.store.keepLog(at: log)
            _ = try fixture.store.lookAtAll(isBaseline: true)
            try fixture.write("{ a = 2; }", to: "first")
            try fixture.write("{ b = 1; }", to: "second")
            let recovered = try #require(ChangeLogFile.recover(from: log, limits: PropertyListLimits()))
            #expect(Set(recovered.marks.keys) == [fixture.first, fixture.managed])
            let store = Store(
                directory: fixture.store.directory, system: fixture.store.system,
                log: ChangeLog(epoch: recovered.epoch, head: recovered.head, records: recovered.records))
            _ = try store.resume(recovered)
            #expect(store.records.map(\.domain) == [fixture.first, fixture.second])
            #expect(store.events == ["unknown", "file: b"])
            #expect(store.snapshot(of: fixture.managed).values == ["a": "1"])
            #expect(store.pending().isEmpty)
        }
    }
}
