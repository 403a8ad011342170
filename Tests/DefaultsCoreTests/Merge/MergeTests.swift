import PropertyList
import TestSupport
import Testing

@testable import DefaultsCore

@Suite("Three-way merge")
struct MergeTests {
    private let before = Timestamp(nanoseconds: 100)
    private let now = Timestamp(nanoseconds: 200)
    private let after = Timestamp(nanoseconds: 300)

    private func edit(_ value: PropertyListValue?, at time: Timestamp) -> Edit {
        Edit(value: value, time: time, writer: .testApp, sequence: 1)
    }

    @Test("A foreign writer's change is reported, and the keys that it left unchanged are not")
    func reload() {
        var merge = Merge(base: ["a": 1, "b": 2])
        let result = merge.reload(["a": 1, "b": 3, "c": 4], format: .binary, changedAt: now)
        #expect(Set(result.changes) == [KeyChange(key: "b", old: 2, new: 3), KeyChange(key: "c", old: nil, new: 4)])
        #expect(result.overruled == [])
        #expect(merge.current == ["a": 1, "b": 3, "c": 4])
        #expect(merge.pending.isEmpty)
    }

    @Test("A removal in the file is reported like any other change")
    func removal() {
        var merge = Merge(base: ["a": 1, "b": 2])
        #expect(merge.reload(["b": 2], format: .xml, changedAt: now).changes == [KeyChange(key: "a", old: 1, new: nil)])
        #expect(merge.current == ["b": 2])
    }

    @Test("A file written after an edit wins, and the overruled edit is reported")
    func fileIsLater() {
        var merge = Merge(base: ["a": 1], pending: ["a": edit(2, at: before)])
        let result = merge.reload(["a": 3], format: .binary, changedAt: now)
        #expect(result.changes == [KeyChange(key: "a", old: 2, new: 3)])
        #expect(result.overruled == [Overruled(key: "a", value: 2, writer: .testApp)])
        #expect(merge.current == ["a": 3])
        #expect(merge.pending.isEmpty)
    }

    @Test(
        "An old value in a file that is newer because of another key loses to a later edit", arguments: [true, false])
    func newerBecauseOfAnotherKey(isListed: Bool) {
        var merge = Merge(base: ["k": 0])
        _ = merge.edit(["k": 2], time: now, writer: .testApp, sequence: 1)
        let key = ContentHash(Array((isListed ? "k" : "other").utf8))
        let times = KeyTimes(newest: after, others: before, listed: [key: isListed ? before : after])
        let result = merge.reload(
            ["k": 1, "other": 1], format: .xml, changedAt: after, keysAt: times, by: WriterEvidence(written: after),
            isWhole: true)
        #expect(result.changes == [KeyChange(key: "other", old: nil, new: 1)])
        #expect(merge.current == ["k": 2, "other": 1])
    }

    @Test("An edit made after or at the same time as the file's change wins", arguments: [200, 300] as [Int64])
    func editIsLater(time: Int64) {
        let pending = edit(2, at: Timestamp(nanoseconds: time))
        var merge = Merge(base: ["a": 1], pending: ["a": pending])
        let result = merge.reload(["a": 3], format: .binary, changedAt: now)
        #expect(result.changes == [])
        #expect(result.overruled == [Overruled(key: "a", value: 3, writer: .file)])
        #expect(merge.current == ["a": 2])
        #expect(merge.pending == ["a": pending])
        #expect(merge.base == ["a": 3])
    }

    @Test("A removal and an edit are compared by time like two edits")
    func removalAgainstEdit() {
        var removed = Merge(base: ["a": 1], pending: ["a": edit(2, at: before)])
        #expect(removed.reload([:], format: .xml, changedAt: now).changes == [KeyChange(key: "a", old: 2, new: nil)])
        #expect(removed.current == [:])

        var kept = Merge(base: ["a": 1], pending: ["a": edit(2, at: after)])
        #expect(
            kept.reload([:], format: .xml, changedAt: now).overruled == [Overruled(key: "a", value: nil, writer: .file)]
        )
        #expect(kept.current == ["a": 2])

        var unset = Merge(base: ["a": 1], pending: ["a": edit(nil, at: after)])
        #expect(
            unset.reload(["a": 9], format: .xml, changedAt: now).overruled == [
                Overruled(key: "a", value: 9, writer: .file)
            ])
        #expect(unset.current == [:])
    }

    @Test("An edit and a file that agree cause no conflict and no change, and nothing is left to save")
    func agreement() {
        var merge = Merge(base: ["a": 1], pending: ["a": edit(2, at: before)])
        let result = merge.reload(["a": 2], format: .binary, changedAt: now)
        #expect(result.changes == [] && result.overruled == [])
        #expect(merge.pending.isEmpty)
        #expect(merge.current == ["a": 2])
    }

    @Test(
        "A writer that loaded an older version doesn't remove newer keys, which become pending again"
    )
    func staleWriter() {
        var merge = Merge(base: ["a": 1, "b": 1, "c": 1])
        merge.markSaved(["new": edit(5, at: before)], at: before)
        let result = merge.reload(["a": 2, "b": 1, "c": 1], format: .xml, changedAt: now)
        #expect(result.changes == [KeyChange(key: "a", old: 1, new: 2)])
        #expect(merge.current == ["a": 2, "b": 1, "c": 1, "new": 5])
        #expect(merge.pending.keys.elementsEqual(["new"]))
        #expect(merge.pending["new"]?.writer == .agent)
        #expect(merge.base == ["a": 2, "b": 1, "c": 1])
    }

    @Test("Keys that become pending again keep the times of their own changes")
    func timesOfRestoredKeys() {
        var merge = Merge(base: ["a": 1, "b": 1, "c": 1])
        merge.markSaved(["new": edit(5, at: before)], at: before)
        merge.markSaved(["newer": edit(6, at: now)], at: now)
        _ = merge.reload(["a": 2, "b": 1, "c": 1], format: .xml, changedAt: after)
        #expect(merge.pending.mapValues(\.time) == ["new": before, "newer": now])
    }

    @Test("The newest of several equally near parents is used")
    func tie() {
        var merge = Merge(base: ["a": 1])
        _ = merge.reload(["a": 2], format: .xml, changedAt: before)
        // Either version differs from the file in one key.
        let result = merge.reload(["a": 3], format: .xml, changedAt: now)
        #expect(result.changes == [KeyChange(key: "a", old: 2, new: 3)])
        #expect(merge.pending.isEmpty)
    }

    @Test("A file that equals an older version is a restore and replaces everything")
    func restore() {
        var merge = Merge(base: ["a": 1, "b": 1])
        _ = merge.reload(["a": 2, "b": 1, "c": 3], format: .xml, changedAt: before)
        _ = merge.reload(["a": 2, "b": 2, "c": 3], format: .xml, changedAt: before)
        let result = merge.reload(["a": 1, "b": 1], format: .xml, changedAt: now)
        #expect(Set(result.changes.map(\.key)) == ["a", "b", "c"])
        #expect(merge.current == ["a": 1, "b": 1])
        #expect(merge.pending.isEmpty)
    }

    /// Returns a domain with a saved edit of "a" by an app.
    ///
    /// A foreign writer that had loaded the version before it has set "f".
    private func overruledWriter() -> Merge {
        var merge = Merge(base: ["a": 1, "f": 1, "g": 1])
        _ = merge.edit(["a": 2], time: now, writer: .testApp, sequence: 1)
        let result = merge.reload(["a": 1, "f": 2, "g": 1], format: .xml, changedAt: now)
        #expect(result.changes == [KeyChange(key: "f", old: 1, new: 2)])
        merge.markSaved(merge.pending, at: now)
        return merge
    }

    @Test("A writer that reads back what it wrote, and writes it again, as Foundation does, reverts nothing")
    func writesAgain() {
        var merge = overruledWriter()
        // Another key was set in the meantime, too.
        _ = merge.edit(["b": 1], time: now, writer: .testApp, sequence: 2)
        merge.markSaved(merge.pending, at: now)
        let repeated: DomainValues = ["a": 1, "f": 2, "g": 1]
        let result = merge.reload(repeated, format: .xml, changedAt: after, isUnread: false, isInPlace: true)
        #expect(result.changes == [])
        #expect(Set(result.overruled.map(\.key)) == ["a", "b"])
        #expect(merge.current == ["a": 2, "b": 1, "f": 2, "g": 1])
    }

    @Test(
        "A file that holds what the last writer wrote is a restore if that writer can't have read it back",
        arguments: [(1, true, true), (1, false, false), (501, false, true)])
    func copiesAgain(milliseconds: Int64, isUnread: Bool, isInPlace: Bool) {
        var merge = overruledWriter()
        let time = Timestamp(nanoseconds: now.nanoseconds + milliseconds * 1_000_000)
        _ = merge.reload(
            ["a": 1, "f": 2, "g": 1], format: .xml, changedAt: time, isUnread: isUnread, isInPlace: isInPlace)
        #expect(merge.current == ["a": 1, "f": 2, "g": 1])
        #expect(merge.pending.isEmpty)
    }

    @Test("A stale writer that goes on from its own version, although it was overruled, reverts nothing")
    func goesOn() {
        var merge = overruledWriter()
        let result = merge.reload(["a": 1, "f": 2, "g": 2], format: .xml, changedAt: after)
        #expect(result.changes == [KeyChange(key: "g", old: 1, new: 2)])
        #expect(merge.current == ["a": 2, "f": 2, "g": 2])
    }

    @Test("A version written just before its file was replaced, and again afterwards, reverts nothing")
    func displacedAndWrittenAgain() {
        var merge = Merge(base: ["a": 1, "f": 1])
        _ = merge.edit(["a": 2], time: now, writer: .testApp, sequence: 1)
        let loaded = merge.versions.total
        merge.markSaved(merge.pending, at: now)
        let first = merge.displace(["a": 1, "f": 2], format: .xml, changedAt: now, loadedBefore: loaded)
        #expect(first.changes == [KeyChange(key: "f", old: 1, new: 2)])
        merge.markSaved(merge.pending, at: now)
        let again = merge.reload(
            ["a": 1, "f": 2], format: .xml, changedAt: after, isUnread: false, isInPlace: true)
        #expect(again.changes == [])
        #expect(merge.current == ["a": 2, "f": 2])
        // The result is the same if the second version is displaced, too.
        let before = merge.versions.total
        merge.markSaved(merge.pending, at: after)
        _ = merge.displace(["a": 1, "f": 2], format: .xml, changedAt: after, loadedBefore: before)
        #expect(merge.current == ["a": 2, "f": 2])
    }

    @Test("A change in a displaced file loses to anything set or written later", arguments: [true, false])
    func displacedBeforeLaterChange(isEdit: Bool) {
        var merge = Merge(base: ["a": 1, "f": 1])
        _ = merge.edit(["a": 2], time: before, writer: .testApp, sequence: 1)
        let loaded = merge.versions.total
        merge.markSaved(merge.pending, at: before)
        if isEdit {
            _ = merge.edit(["f": 3], time: after, writer: .testApp, sequence: 2)
            merge.markSaved(merge.pending, at: after)
        } else {
            _ = merge.reload(["a": 2, "f": 3], format: .xml, changedAt: after)
        }
        let result = merge.displace(["a": 1, "f": 2, "g": 1], format: .xml, changedAt: now, loadedBefore: loaded)
        #expect(result.changes == [KeyChange(key: "g", old: nil, new: 1)])
        #expect(result.overruled == [Overruled(key: "f", value: 2, writer: .file)])
        #expect(merge.current == ["a": 2, "f": 3, "g": 1])
    }

    @Test("A displaced file changes nothing that was written unseen after it, nor removes a key that may be new")
    func displacedBeforeUnseenChange() {
        var merge = Merge(base: ["a": 1, "unseen": 1, "new": 1])
        let loaded = merge.versions.total
        merge.versions.appendUnseen(writtenAt: now)
        // A version displaced later is by a writer that could know the new key.
        var later = merge
        _ = later.displace(
            ["a": 1, "unseen": 1], format: .xml, changedAt: after, loadedBefore: later.versions.total)
        #expect(later.current == ["a": 1, "unseen": 1])
        let result = merge.displace(
            ["a": 1, "unseen": 0, "late": 1], format: .xml, changedAt: before, loadedBefore: loaded)
        #expect(result.changes == [KeyChange(key: "late", old: nil, new: 1)])
        #expect(merge.current == ["a": 1, "unseen": 1, "new": 1, "late": 1])
    }

    @Test("A change in a displaced file loses to a later edit with the same value", arguments: [true, false])
    func displacedBeforeEqualEdit(isPending: Bool) {
        var merge = Merge(base: ["a": 1, "f": 1])
        _ = merge.edit(["a": 2], time: before, writer: .testApp, sequence: 1)
        let loaded = merge.versions.total
        merge.markSaved(merge.pending, at: before)
        if isPending { _ = merge.edit(["f": 3], time: before, writer: .testApp, sequence: 2) }
        let value = merge.current("f")
        #expect(merge.edit(["f": value], time: after, writer: .testApp, sequence: 3) == [])
        _ = merge.displace(["a": 1, "f": 2], format: .xml, changedAt: now, loadedBefore: loaded)
        #expect(merge.current == ["a": 2, "f": value])
    }

    @Test("An edit that is made again while it is being saved is saved once")
    func equalEditWhileSaving() {
        var merge = Merge(base: ["a": 1])
        _ = merge.edit(["a": 2], time: before, writer: .testApp, sequence: 1)
        let loaded = merge.versions.total
        let saved = merge.pending
        _ = merge.edit(["a": 2], time: after, writer: .testApp, sequence: 2)
        merge.markSaved(saved, at: before)
        #expect(merge.pending.isEmpty)
        _ = merge.displace(["a": 3], format: .xml, changedAt: now, loadedBefore: loaded)
        #expect(merge.current == ["a": 2])
    }

    @Test("A writer that repeats a change that is already merged doesn't undo an edit that it hasn't seen")
    func repeatedChange() {
        var merge = Merge(base: ["a": 1, "count": 1])
        merge.pending = ["a": edit(2, at: before), "count": edit(2, at: before)]
        merge.markSaved(merge.pending, at: before)
        // The writer had loaded the version before, since its own change of the count had been displaced.
        let result = merge.reload(["a": 1, "count": 2], format: .xml, changedAt: now, isUnread: true)
        #expect(merge.current == ["a": 2, "count": 2])
        #expect(result.overruled.map(\.key) == ["a"])
    }

    @Test(
        "An unread version isn't put back by a writer that makes the same change again",
        arguments: [true, false])
    func repeatedChangeOfSavedVersion(wasUnread: Bool) {
        var merge = Merge(base: ["a": 1, "count": 1])
        merge.pending = ["count": edit(2, at: before)]
        merge.markSaved(merge.pending, at: before)
        merge.pending = ["a": edit(2, at: before)]
        merge.markSaved(merge.pending, at: before, replacesUnread: wasUnread)
        _ = merge.reload(["a": 1, "count": 2], format: .xml, changedAt: now, isUnread: true)
        #expect(merge.current == ["a": wasUnread ? 2 : 1, "count": 2])
    }

    @Test("A removed file removes all keys except those set afterwards")
    func removedFile() {
        var merge = Merge(
            base: ["a": 1, "b": 1],
            pending: ["b": edit(2, at: after), "c": edit(3, at: before), "a": edit(nil, at: before)])
        let result = merge.removeFile(at: now)
        #expect(result.changes == [])
        #expect(result.overruled == [Overruled(key: "b", value: nil, writer: .file)])
        #expect(merge.current == ["b": 2, "c": 3])
        #expect(merge.base == [:])
    }

    @Test("A version displaced long ago and changed now reverts nothing that came since")
    func displacedLongAgo() {
        var merge = Merge(base: ["a": 1])
        let loaded = merge.versions.total
        for number in 2...4 {
            merge.pending = ["b\(number)": edit(.integer(Int64(number)), at: before)]
            merge.markSaved(merge.pending, at: now)
        }
        // The same values in another format, so the writer has changed nothing.
        let same = merge.displace(["a": 1], format: .xml, changedAt: now, loadedBefore: loaded)
        #expect(same == Merge.Result())
        #expect(merge.pending.isEmpty)
        let other = merge.displace(["a": 5], format: .xml, changedAt: now, loadedBefore: loaded)
        #expect(other.changes == [KeyChange(key: "a", old: 1, new: 5)])
        #expect(merge.current == ["a": 5, "b2": 2, "b3": 3, "b4": 4])
    }

    @Test("A writer that loaded nothing, since there was no file, deletes none of the earlier keys")
    func bothBegin() {
        var merge = Merge()
        let edits = ["a": edit(1, at: before), "b": edit(1, at: before)]
        merge.pending = edits
        merge.markSaved(edits, at: before)
        let result = merge.reload(["c": 1], format: .xml, changedAt: now)
        #expect(result.changes == [KeyChange(key: "c", old: nil, new: 1)])
        #expect(merge.current == ["a": 1, "b": 1, "c": 1])
    }

    /// Returns a domain whose keys were set one after the other, a while before `seconds(60)`.
    private func setLongAgo(_ edits: [(key: String, value: PropertyListValue)], on base: DomainValues = [:]) -> Merge {
        var merge = Merge(base: base)
        for (number, edit) in edits.enumerated() {
            let time = seconds(Int64(number))
            _ = merge.edit([edit.key: edit.value], time: time, writer: .testApp, sequence: UInt64(number))
            merge.markSaved(merge.pending, at: time)
        }
        return merge
    }

    private func seconds(_ count: Int64) -> Timestamp { Timestamp(nanoseconds: count * 1_000_000_000) }

    @Test("If the newest version has been read, everything that the next writer changes is meant")
    func laterWriterWins() {
        var renamed = setLongAgo([("fontSize", 12)])
        _ = renamed.reload(["textSize": 12], format: .xml, changedAt: seconds(1), isUnread: false)
        #expect(renamed.current == ["textSize": 12])
        #expect(renamed.pending.isEmpty)

        var popped = setLongAgo([("stay", 0), ("key", 1)])
        _ = popped.reload(["stay": 0, "other": 2], format: .xml, changedAt: seconds(2), isUnread: false)
        #expect(popped.current == ["stay": 0, "other": 2])

        // Reverting a key to its earlier value counts as much as a removal.
        var undone = setLongAgo([("width", 1), ("height", 1)], on: ["width": 0, "height": 0])
        let result = undone.reload(
            ["width": 1, "height": 0, "color": "red"], format: .xml, changedAt: seconds(2), isUnread: false)
        #expect(undone.current == ["width": 1, "height": 0, "color": "red"])
        #expect(result.overruled == [])
    }

    @Test("A writer that can't have read the newest version is stale however long it has held its values")
    func heldForLong() {
        for time in [seconds(2), seconds(11), seconds(3_600), Timestamp(nanoseconds: .max), seconds(-5)] {
            var merge = setLongAgo([("a", 1), ("b", 1)])
            _ = merge.reload(["a": 1, "c": 1], format: .xml, changedAt: time)
            #expect(merge.current == ["a": 1, "b": 1, "c": 1], "\(time)")
        }
    }

    @Test("A lone foreign writer's changes are accepted, including reverts and removals")
    func alone() {
        var merge = Merge()
        _ = merge.reload(["state": "idle", "n": 1], format: .xml, changedAt: seconds(1))
        _ = merge.reload(["state": "busy"], format: .xml, changedAt: seconds(2))
        _ = merge.reload(["state": "idle", "n": 2], format: .xml, changedAt: seconds(3))
        #expect(merge.current == ["state": "idle", "n": 2])
        _ = merge.reload(["tmp": 1], format: .xml, changedAt: seconds(4))
        _ = merge.reload(["result": 5], format: .xml, changedAt: seconds(5))
        #expect(merge.current == ["result": 5])
        #expect(merge.pending.isEmpty)
        // In between, an app sets its own key. The writer doesn't know of it in its first write, but in its second.
        _ = merge.edit(["app": 1], time: seconds(6), writer: .testApp, sequence: 1)
        merge.markSaved(merge.pending, at: seconds(6))
        _ = merge.reload(["result": 5, "tmp": 2], format: .xml, changedAt: seconds(7))
        #expect(merge.current == ["result": 5, "tmp": 2, "app": 1])
        merge.markSaved(merge.pending, at: seconds(7))
        _ = merge.reload(["result": 6, "app": 1], format: .xml, changedAt: seconds(8), isUnread: false)
        #expect(merge.current == ["result": 6, "app": 1])
    }

    @Test(
        "If nothing is known about reads, a writer is stale for five seconds, or two if it writes in place",
        arguments: [(6, false, true), (7, false, false), (3, true, true), (4, true, false)])
    func unknown(second: Int64, isInPlace: Bool, isStale: Bool) {
        var merge = setLongAgo([("a", 1), ("b", 1)])
        _ = merge.reload(
            ["a": 1, "c": 1], format: .xml, changedAt: seconds(second), isUnread: nil, isInPlace: isInPlace)
        #expect(merge.current == (isStale ? ["a": 1, "b": 1, "c": 1] : ["a": 1, "c": 1]))
    }

    @Test("A file written long before the newest version is a copy, and everything in it is meant")
    func oldCopy() {
        for (written, current) in [
            (seconds(-8), ["a": 1, "b": 1, "c": 1] as DomainValues), (seconds(-10), ["a": 1, "c": 1]),
            (Timestamp(nanoseconds: .min), ["a": 1, "c": 1]),
        ] {
            var merge = setLongAgo([("a", 1), ("b", 1)])
            _ = merge.reload(
                ["a": 1, "c": 1], format: .xml, changedAt: seconds(60),
                by: WriterEvidence(written: written, isUnread: true))
            #expect(merge.current == current, "\(written)")
        }
    }

    @Test("A clock that is set back hides no version from a writer that has loaded it")
    func clockSetBack() {
        var merge = setLongAgo([("a", 1)])
        let earlier = seconds(-3600)
        _ = merge.edit(["b": 1], time: earlier, writer: .testApp, sequence: 9)
        merge.markSaved(merge.pending, at: earlier)
        _ = merge.reload(["a": 1, "c": 1], format: .xml, changedAt: seconds(-3599))
        #expect(merge.current == ["a": 1, "b": 1, "c": 1])
    }

    @Test("A value that is put back, because a writer had loaded an older version, is reported")
    func putBack() {
        var merge = Merge(base: ["a": 1, "b": 1])
        let edits = ["a": edit(2, at: before)]
        merge.pending = edits
        merge.markSaved(edits, at: before)
        let result = merge.reload(["a": 1, "b": 5], format: .xml, changedAt: now)
        #expect(result.changes == [KeyChange(key: "b", old: 1, new: 5)])
        #expect(result.overruled == [Overruled(key: "a", value: 1, writer: .file, reason: .olderVersion(nil))])
        #expect(merge.current == ["a": 2, "b": 5])
    }

    @Test("A value that is put back is reported with the time of the version that its writer had loaded")
    func putBackFromVersion() {
        var merge = Merge(base: ["a": 0, "b": 1])
        for (value, time) in [(1, before), (2, now)] as [(PropertyListValue, Timestamp)] {
            merge.pending = ["a": edit(value, at: time)]
            merge.markSaved(merge.pending, at: time)
        }
        let result = merge.reload(["a": 1, "b": 5], format: .xml, changedAt: after)
        #expect(result.overruled == [Overruled(key: "a", value: 1, writer: .file, reason: .olderVersion(before))])
        // A program that writes the same file again means it.
        merge.markSaved(merge.pending, at: after)
        _ = merge.reload(["a": 1, "b": 5], format: .xml, changedAt: after)
        #expect(merge.current == ["a": 1, "b": 5])
    }

    @Test("If the clock is set back, a value that is put back isn't reported with a time in the future")
    func putBackFromFuture() {
        var merge = Merge(base: ["a": 0, "b": 1])
        for (value, time) in [(1, before), (2, now)] as [(PropertyListValue, Timestamp)] {
            merge.pending = ["a": edit(value, at: time)]
            merge.markSaved(merge.pending, at: time)
        }
        let earlier = seconds(-3600)
        merge.limitTimes(to: earlier)
        let result = merge.reload(["a": 1, "b": 5], format: .xml, changedAt: earlier)
        #expect(result.overruled == [Overruled(key: "a", value: 1, writer: .file, reason: .olderVersion(earlier))])
    }

    @Test("A change by a foreign writer just before its file was replaced is merged and becomes pending")
    func displaced() {
        var merge = Merge(base: ["a": 1, "b": 1, "c": 1])
        let edits = ["a": edit(2, at: before)]
        merge.pending = edits
        let loaded = merge.versions.total
        merge.markSaved(edits, at: now)
        #expect(merge.base["a"] == 2)
        // The writer had loaded the version before, in which "a" was 1.
        let result = merge.displace(["a": 1, "b": 5], format: .xml, changedAt: now, loadedBefore: loaded)
        #expect(Set(result.changes) == [KeyChange(key: "b", old: 1, new: 5), KeyChange(key: "c", old: 1, new: nil)])
        #expect(merge.current == ["a": 2, "b": 5])
        #expect(Set(merge.pending.keys) == ["b", "c"])
        #expect(merge.base == ["a": 2, "b": 1, "c": 1])
    }

    @Test(
        "An edit to the current value isn't a change",
        arguments: [PropertyListValue.real(.nan), 1, .date(.init(secondsSinceReferenceDate: .nan))])
    func emptyEdit(value: PropertyListValue) {
        var merge = Merge(base: ["a": value])
        #expect(merge.edit(["a": value, "b": nil], time: now, writer: .testApp, sequence: 1) == [])
        #expect(merge.pending.isEmpty)
        #expect(
            merge.edit(["a": nil], time: now, writer: .testApp, sequence: 2) == [
                KeyChange(key: "a", old: value, new: nil)
            ])
    }

    @Test("A number never equals a Boolean, and 0.0 doesn't equal -0.0")
    func types() {
        var merge = Merge(base: ["a": 1, "b": 0.0])
        let result = merge.reload(["a": true, "b": .real(-0.0)], format: .binary, changedAt: now)
        #expect(Set(result.changes.map(\.key)) == ["a", "b"])
    }

    static let precise: [PropertyListValue] = [
        .date(PropertyListDate(secondsSinceReferenceDate: 1.75)), .real32(0.1), .real(.nan), .real(-.nan),
        .unsigned(.max),
        .uid(7), [.date(PropertyListDate(secondsSinceReferenceDate: 0.5)), ["deep": .real32(.pi)]],
    ]

    @Test(
        "A value more precise than XML allows stays precise in memory when a foreign writer rewrites the file",
        arguments: precise)
    func precision(value: PropertyListValue) {
        var merge = Merge()
        _ = merge.edit(["a": value], time: before, writer: .testApp, sequence: 1)
        merge.markSaved(merge.pending, at: before)
        let result = merge.reload(["a": value.asStored(in: .xml), "b": 1], format: .xml, changedAt: now)
        #expect(result.changes == [KeyChange(key: "b", old: nil, new: 1)])
        #expect(merge.current == ["a": value, "b": 1])
    }

    @Test(
        "A value that the file holds as precisely as XML allows doesn't become less precise",
        arguments: precise)
    func precisionOfSettledEdits(value: PropertyListValue) {
        var merge = Merge(base: ["a": value.asStored(in: .xml)])
        let changes = merge.edit(["a": value], time: after, writer: .testApp, sequence: 1)
        let before = merge.current
        #expect(merge.reload(["a": value.asStored(in: .xml), "b": 1], format: .xml, changedAt: now).changes.count == 1)
        #expect(merge.current("a") == before["a"], "\(changes)")
    }
}
