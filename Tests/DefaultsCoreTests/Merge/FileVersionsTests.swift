import PropertyList
import Testing

@testable import DefaultsCore

@Suite("Recent versions")
struct FileVersionsTests {
    private let time = Timestamp(nanoseconds: 1)

    @Test("Old versions are dropped a few at a time, and the newest are kept")
    func capacity() {
        var versions = FileVersions()
        for number in 0..<Int64(3 * FileVersions.capacity) {
            versions.append(back: ["a": .some(.integer(number))], at: time)
            #expect(versions.count <= FileVersions.capacity)
            if number > FileVersions.capacity { #expect(versions.count >= FileVersions.capacity * 7 / 8 - 1) }
        }
        // The newest version is the nearest to a file that differs from it in one key.
        let changed = versions.keysChanged(
            by: ["a": -1], differing: ["a"], WriterEvidence(written: time, isUnread: true), readFrom: .xml)
        #expect(changed.changed == ["a"])
    }

    @Test("Versions with large differences are dropped sooner")
    func keyCapacity() {
        var versions = FileVersions()
        let keys = 1_000
        for number in 0..<Int64(200) {
            let step = (0..<keys).map { ("\($0)", PropertyListValue?.some(.integer(number))) }
            versions.append(back: Difference(uniqueKeysWithValues: step), at: time)
            #expect(versions.count <= FileVersions.keyCapacity / keys + 1)
        }
        #expect(versions.count > FileVersions.keyCapacity / keys / 2)
    }

    @Test("The version before the newest is kept regardless of the number of changed keys")
    func giantStep() {
        let values = DomainValues(uniqueKeysWithValues: (0..<FileVersions.keyCapacity + 10).map { ("\($0)", 1) })
        var merge = Merge(base: ["a": 1])
        _ = merge.edit(values.mapValues { .some($0) }, time: time, writer: .testApp, sequence: 1)
        let loaded = merge.versions.total
        merge.markSaved(merge.pending, at: time)
        // In between, a writer saved its changes to the version before.
        let result = merge.displace(["a": 2], format: .xml, changedAt: Timestamp(nanoseconds: 2), loadedBefore: loaded)
        #expect(result.changes == [KeyChange(key: "a", old: 1, new: 2)])
        #expect(merge.current.count == values.count + 1)
    }

    @Test("An empty difference adds no version")
    func emptyStep() {
        var versions = FileVersions()
        versions.append(back: [:], at: time, writtenAt: time)
        #expect(versions.count == 0)
    }

    // MARK: Restores

    private let hashes = (0..<4).map { ContentHash(value: UInt64($0) + 1) }

    /// Versions of `{theme, size}`, each with its hash; the newer two are unread.
    private var unreadVersions: FileVersions {
        var versions = FileVersions()
        versions.newestHash = hashes[0]
        versions.append(back: ["theme": "light"], at: time, replacesUnread: true, hash: hashes[1])
        versions.append(back: ["size": 10], at: time, replacesUnread: true, hash: hashes[2])
        return versions
    }

    @Test("A file with the very bytes of an older version is a restore, even if that seemed to be unread")
    func sameBytes() {
        for isSame in [true, false] {
            let inference = unreadVersions.keysChanged(
                by: ["theme": "light", "size": 10], hashed: isSame ? hashes[0] : hashes[3],
                differing: ["theme", "size"], WriterEvidence(written: time, isUnread: true), readFrom: .xml)
            #expect(inference.changed == (isSame ? ["theme", "size"] : []))
        }
    }

    /// A file in which a program sets its own changes back, while the edits saved since are unread.
    @Test(
        "A setting that is switched back takes no unread edit with it",
        arguments: [(1, 1), (1, 3), (2, 1), (2, 3)], [true, false])
    func switchedBack(steps: (foreign: Int, edits: Int), isUnread: Bool) {
        let (foreignSteps, edits) = steps
        var versions = FileVersions()
        versions.newestHash = hashes[0]
        for number in 0..<foreignSteps {
            versions.append(back: ["on\(number)": nil], at: time, writtenAt: time, hash: nil)
        }
        for number in 0..<edits {
            versions.append(back: ["k\(number)": nil], at: time, replacesUnread: number > 0, hash: nil)
        }
        let own = Set((0..<foreignSteps).map { "on\($0)" })
        let others = Set((0..<edits).map { "k\($0)" })
        for hash in [hashes[0], hashes[3]] {
            let inference = versions.keysChanged(
                by: ["x": 1], hashed: hash, differing: own.union(others),
                WriterEvidence(written: time, isUnread: isUnread), readFrom: .xml)
            #expect(inference.changed == (isUnread ? own : own.union(others)))
        }
    }

    @Test("A version before an edit that has been read, or before another store's, is restored as a whole")
    func restoredBefore() {
        for isSavedBefore in [false, true] {
            var versions = FileVersions()
            if isSavedBefore { versions.append(back: ["old": 1], at: time) }
            versions.append(back: ["on": nil], at: time, writtenAt: time)
            versions.append(back: ["k": nil], at: time)
            versions.append(back: ["m": nil], at: time, replacesUnread: isSavedBefore)
            let disk: DomainValues = isSavedBefore ? ["old": 1] : [:]
            let differing: Set<String> = isSavedBefore ? ["on", "k", "m", "old"] : ["on", "k", "m"]
            let inference = versions.keysChanged(
                by: disk, differing: differing, WriterEvidence(written: time, isUnread: true), readFrom: .xml)
            #expect(inference.changed == differing)
        }
    }

    @Test("A key with an unknown former value isn't taken for changed, and its version is recognized only by its bytes")
    func unknownValues() {
        var versions = FileVersions()
        versions.newestHash = hashes[0]
        let excluded = [ExcludedKeys(["password"], salt: 5)]
        versions.append(back: [:], at: time, hash: hashes[1], excluded: excluded)
        func changed(_ disk: DomainValues, _ hash: ContentHash, _ differing: Set<String>) -> Set<String> {
            versions.keysChanged(
                by: disk, hashed: hash, differing: differing, WriterEvidence(written: time, isUnread: true),
                readFrom: .xml
            ).changed
        }
        #expect(changed(["password": "p0", "x": 2], hashes[3], ["password", "x"]) == ["x"])
        #expect(changed(["password": "p0"], hashes[3], ["password"]) == [])
        #expect(changed(["password": "p0"], hashes[0], ["password"]) == ["password"])
        #expect(versions.timeOfExcludedChange(to: "password") == time)
        #expect(versions.timeOfExcludedChange(to: "x") == nil)
    }
}
