import Testing

@testable import DirectoryWatcher

/// The pure part: events in, dirty names and wishes out.
@Suite struct WatcherStateTests {
    private let identity = DirectoryIdentity(device: 1, inode: 2, mount: 3)
    private let another = DirectoryIdentity(device: 1, inode: 9, mount: 3)

    /// A state that watches the directory as 2, `ByHost` as 3, and the directory above as 1.
    private func makeState() -> WatcherState {
        var state = WatcherState(subdirectories: ["ByHost"], isRelevant: isDomain)
        state.awaitedName = "preferences"
        _ = state.armed(.ancestor, identity: another, watch: 1)
        _ = state.armed(.directory, identity: identity, watch: 2)
        _ = state.armed(.subdirectory("ByHost"), identity: .init(device: 1, inode: 4, mount: 3), watch: 3)
        _ = state.takeDirty()
        state.beginCheck()
        return state
    }

    private func event(_ watch: Int32, _ mask: InotifyMask, _ name: String? = nil) -> InotifyEvent {
        InotifyEvent(watch: watch, mask: mask, name: name.map { .name($0) } ?? .none)
    }

    @Test(
        "Everything but a write makes a name changed",
        arguments: [InotifyMask.closeWrite, .movedTo, .movedFrom, .delete, .create, .attributes])
    func changes(_ mask: InotifyMask) {
        var state = makeState()
        state.receive(event(2, mask, "a.plist"))
        state.receive(event(3, mask, "b.plist"))
        #expect(state.takeDirty() == DirtyNames(changed: ["a.plist", "ByHost/b.plist"]))
        #expect(state.takeDirty().isEmpty)
        #expect(!state.checkIsDue)
    }

    @Test("A write alone makes a name being written; what else happens to it, before or after, makes it changed")
    func writes() {
        var state = makeState()
        state.receive(event(2, .modify, "a.plist"))
        #expect(state.takeDirty() == DirtyNames(beingWritten: ["a.plist"]))
        state.receive(event(2, .modify, "a.plist"))
        state.receive(event(2, .closeWrite, "a.plist"))
        #expect(state.takeDirty() == DirtyNames(changed: ["a.plist"]))
        state.receive(event(2, .closeWrite, "a.plist"))
        state.receive(event(2, .modify, "a.plist"))
        #expect(state.takeDirty() == DirtyNames(changed: ["a.plist"]))
    }

    @Test("Merging what was gathered later keeps the first reason, and moves what is changed out of what is written")
    func merging() {
        var dirty = DirtyNames(changed: ["c"], beingWritten: ["a", "b"], rescan: .overflow)
        dirty.merge(DirtyNames(changed: ["a"], beingWritten: ["c", "d"], rescan: .requested))
        #expect(dirty == DirtyNames(changed: ["a", "c"], beingWritten: ["b", "d"], rescan: .overflow))
    }

    @Test("An overflow rescans, and distrusts every watch until it is set again")
    func overflow() {
        var state = makeState()
        #expect(!state.needsWatch(.directory, identity: identity))
        state.receive(event(-1, .overflow))
        #expect(state.takeDirty() == DirtyNames(rescan: .overflow))
        #expect(state.overflows == 1)
        #expect(state.checkIsDue)
        #expect(state.needsWatch(.directory, identity: identity))
        // The kernel gives the same number: the watch had lived on, and nothing more is to be done.
        #expect(state.armed(.directory, identity: identity, watch: 2) == nil)
        #expect(!state.needsWatch(.directory, identity: identity))
        #expect(state.takeDirty().isEmpty)
    }

    @Test("A watch that the kernel has ended is never ended again, even where the new directory has the same inode")
    func ignored() {
        var state = makeState()
        state.receive(event(2, .ignored))
        #expect(state.checkIsDue)
        #expect(state.takeDirty().rescan == .replaced)
        #expect(state.needsWatch(.directory, identity: identity))
        #expect(state.armed(.directory, identity: identity, watch: 4) == nil)
        #expect(state.takeDirty().rescan == .replaced)
        #expect(state.rearms == 1)
    }

    @Test("A directory that was replaced gets a new watch, and the old one is ended")
    func replaced() {
        var state = makeState()
        #expect(state.needsWatch(.directory, identity: another))
        #expect(state.armed(.directory, identity: another, watch: 4) == 2)
        #expect(state.takeDirty() == DirtyNames(rescan: .replaced))
        state.receive(event(2, .closeWrite, "a.plist"))
        #expect(state.takeDirty().isEmpty, "an event of the old watch")
    }

    @Test("A directory that is gone rescans once")
    func lost() {
        var state = makeState()
        #expect(state.lost(.directory) == 2)
        #expect(state.takeDirty().rescan == .replaced)
        #expect(state.lost(.directory) == nil)
        #expect(state.takeDirty().isEmpty)
    }

    @Test("Two places that are one directory share its watch, and its events count for both")
    func shared() {
        var state = makeState()
        #expect(state.armed(.subdirectory("ByHost"), identity: identity, watch: 2) == 3)
        #expect(state.watchCount == 2)
        _ = state.takeDirty()
        state.receive(event(2, .closeWrite, "a.plist"))
        #expect(state.takeDirty().changed == ["a.plist", "ByHost/a.plist"])
        #expect(state.lost(.subdirectory("ByHost")) == nil)
        #expect(state.lost(.directory) == 2)
    }

    @Test("Of the directory above, only the awaited name matters, and only for a look at the paths")
    func ancestor() {
        var state = makeState()
        state.receive(event(1, .create, "a.plist"))
        #expect(!state.checkIsDue)
        state.receive(event(1, .create, "preferences"))
        #expect(state.checkIsDue)
        #expect(state.takeDirty().isEmpty)
    }

    @Test("The coming of a subdirectory asks for a look at the paths, and so does a change of permissions")
    func subdirectory() {
        var state = makeState()
        state.receive(event(2, .create, "ByHost"))
        #expect(state.checkIsDue)
        state.beginCheck()
        state.receive(event(2, .attributes))
        #expect(state.checkIsDue)
        #expect(state.takeDirty().isEmpty)
    }
}
