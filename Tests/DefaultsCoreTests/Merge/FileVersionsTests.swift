import DefaultsCore
import PropertyList
import Testing

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
}
