import Testing

@testable import DirectoryWatcher

/// Tests of the pure state machine: events go in, and dirty names and requests come out.
@Suite("The watcher's state") struct WatcherStateTests {
    private let identity = DirectoryIdentity(device: 1, inode: 2, mount: 3)
    private let another = DirectoryIdentity(device: 1, inode: 9, mount: 3)

    /// Returns a state that watches the directory as 2, `ByHost` as 3, and the directory above as 1.
    private func makeState() -> WatcherState {
        var state = WatcherState(subdirectories: ["ByHost"], isRelevant: isDomain)
        state.awaitedName = "preferences"
        _ = state.armed(.ancestor, identity: another, watch: 1)
        _ = state.armed(.directory, identity: identity, watch: 2)
        _ = state.armed(.subdirectory("ByHost"), identity: .init(device: 1, inode: 4, mount: 3), watch: 3)
        _ = state.dequeueDirtyNames()
        state.beginCheck()
        return state
    }

    private func event(_ watch: Int32, _ mask: InotifyMask, _ name: String? = nil) -> InotifyEvent {
        InotifyEvent(watch: watch, mask: mask, name: name.map { .name($0) } ?? .none)
    }

    @Test(
        "Any event except a write marks a name as changed",
        arguments: [InotifyMask.closeWrite, .movedTo, .movedFrom, .delete, .create, .attributes])
    func changes(_ mask: InotifyMask) {
        var state = makeState()
        state.receive(event(2, mask, "a.plist"))
        state.receive(event(3, mask, "b.plist"))
        #expect(state.dequeueDirtyNames() == DirtyNames(changed: ["a.plist", "ByHost/b.plist"]))
        #expect(state.dequeueDirtyNames().isEmpty)
        #expect(!state.checkIsDue)
    }

    @Test("A write alone marks a name as being written, and any other event before or after it as changed")
    func writes() {
        var state = makeState()
        state.receive(event(2, .modify, "a.plist"))
        #expect(state.dequeueDirtyNames() == DirtyNames(beingWritten: ["a.plist"]))
        state.receive(event(2, .modify, "a.plist"))
        state.receive(event(2, .closeWrite, "a.plist"))
        #expect(state.dequeueDirtyNames() == DirtyNames(changed: ["a.plist"]))
        state.receive(event(2, .closeWrite, "a.plist"))
        state.receive(event(2, .modify, "a.plist"))
        #expect(state.dequeueDirtyNames() == DirtyNames(changed: ["a.plist"]))
    }

    @Test("An overflow requests a rescan and marks every watch stale")
    func overflow() {
        var state = makeState()
        #expect(!state.needsWatch(.directory, identity: identity))
        state.receive(event(-1, .overflow))
        #expect(state.dequeueDirtyNames() == DirtyNames(rescan: .overflow))
        #expect(state.overflows == 1)
        #expect(state.checkIsDue)
        #expect(state.needsWatch(.directory, identity: identity))
        // The kernel returns the same number: the watch was still alive, and nothing else has to be done.
        #expect(state.armed(.directory, identity: identity, watch: 2) == nil)
        #expect(!state.needsWatch(.directory, identity: identity))
        #expect(state.dequeueDirtyNames().isEmpty)
    }

    @Test("A watch that the kernel has ended isn't ended again, even if the new directory has the same inode")
    func ignored() {
        var state = makeState()
        state.receive(event(2, .ignored))
        #expect(state.checkIsDue)
        #expect(state.dequeueDirtyNames().rescan == .replaced)
        #expect(state.needsWatch(.directory, identity: identity))
        #expect(state.armed(.directory, identity: identity, watch: 4) == nil)
        #expect(state.dequeueDirtyNames().rescan == .replaced)
        #expect(state.rearms == 1)
    }

    @Test("A replaced directory gets a new watch, and its old watch is ended")
    func replaced() {
        var state = makeState()
        #expect(state.needsWatch(.directory, identity: another))
        #expect(state.armed(.directory, identity: another, watch: 4) == 2)
        #expect(state.dequeueDirtyNames() == DirtyNames(rescan: .replaced))
        state.receive(event(2, .closeWrite, "a.plist"))
        #expect(state.dequeueDirtyNames().isEmpty, "an event of the old watch")
    }

    @Test("A removed directory marks a single rescan")
    func lost() {
        var state = makeState()
        #expect(state.lost(.directory) == 2)
        #expect(state.dequeueDirtyNames().rescan == .replaced)
        #expect(state.lost(.directory) == nil)
        #expect(state.dequeueDirtyNames().isEmpty)
    }

    @Test("Two roles on one directory share a watch and its events")
    func shared() {
        var state = makeState()
        #expect(state.armed(.subdirectory("ByHost"), identity: identity, watch: 2) == 3)
        #expect(state.watchCount == 2)
        _ = state.dequeueDirtyNames()
        state.receive(event(2, .closeWrite, "a.plist"))
        #expect(state.dequeueDirtyNames().changed == ["a.plist", "ByHost/a.plist"])
        #expect(state.lost(.subdirectory("ByHost")) == nil)
        #expect(state.lost(.directory) == 2)
    }

    @Test("An event of the directory above requests a check only if it concerns the awaited name")
    func ancestor() {
        var state = makeState()
        state.receive(event(1, .create, "a.plist"))
        #expect(!state.checkIsDue)
        state.receive(event(1, .create, "preferences"))
        #expect(state.checkIsDue)
        #expect(state.dequeueDirtyNames().isEmpty)
    }

    @Test("A new subdirectory requests a check of the paths, and so does a change of permissions")
    func subdirectory() {
        var state = makeState()
        state.receive(event(2, .create, "ByHost"))
        #expect(state.checkIsDue)
        state.beginCheck()
        state.receive(event(2, .attributes))
        #expect(state.checkIsDue)
        #expect(state.dequeueDirtyNames().isEmpty)
    }
}
