import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsClient

@Suite("Unused domain names")
struct IdleNamesTests {
    private static let time = Timestamp(nanoseconds: 1)

    private func cursor(_ revision: Revision) -> Cursor { Cursor(epoch: Epoch(value: 1), revision: revision) }

    /// Loads the values of a name for a search list, and releases the list.
    private func use(_ name: DomainName, _ values: DomainValues, in state: inout ClientState) {
        let list = SearchList()
        state.add(list, for: name)
        state.load(name, opening: Latch())
        #expect(state.dequeueRequests().names == [name])
        let snapshot = DomainSnapshot(domain: Domain(name), values: values, cursor: cursor(1))
        for event in [StreamEvent.initial(snapshot), .bookmark(cursor(1))] { _ = state.apply(event, of: name) }
        state.remove(list)
    }

    @Test("The most recently used names are kept, and the others are removed with their values")
    func excess() throws {
        var state = ClientState(system: .none, volatile: [:])
        let names = try (0..<100).map { try DomainName("a.n\($0)") }
        var gone: [DomainName] = []
        for name in names {
            use(name, ["k": 1], in: &state)
            gone += state.removeUnusedNames()
        }
        #expect(gone == Array(names.prefix(100 - IdleNames.capacity)))
        #expect(state.names.count == IdleNames.capacity && state.users.isEmpty)
        #expect(state.values(of: Domain(names[0])) == [:] && !state.isLoaded(names[0]))
        #expect(state.values(of: Domain(names[99])) == ["k": 1])
        // A late event for a removed name is ignored.
        let changeSet = ChangeSet(
            domain: Domain(names[0]), source: .file, changes: [KeyChange(key: "k", old: 1, new: 2)])
        let record = LogRecord(revision: 2, time: Self.time, event: .change(changeSet))
        _ = state.apply(.record(record, cursor: cursor(2)), of: names[0])
        #expect(state.values(of: Domain(names[0])) == [:] && state.domainsWithValues.count == IdleNames.capacity)
    }

    @Test("A name with unsaved edits or a user stays until the edits are saved and the user releases it")
    func needed() throws {
        var state = ClientState(system: .none, volatile: [:])
        let (edited, used) = (try DomainName("a.edited"), try DomainName("a.used"))
        use(edited, ["k": 1], in: &state)
        use(used, ["k": 1], in: &state)
        _ = state.edit(Domain(edited), with: ["k": 2], at: Self.time)
        state.hold(used)
        func useOthers(_ prefix: String) throws -> Set<DomainName> {
            var gone: Set<DomainName> = []
            for number in 0..<100 {
                use(try DomainName("\(prefix)\(number)"), [:], in: &state)
                gone.formUnion(state.removeUnusedNames())
            }
            return gone
        }
        let first = try useOthers("b")
        #expect(first.count > 50 && first.isDisjoint(with: [edited, used]))
        #expect(state.values(of: Domain(edited)) == ["k": 2] && state.values(of: Domain(used)) == ["k": 1])
        _ = state.dequeueRequests()
        _ = state.accept(1)
        state.markSaved(Domain(edited), upTo: 1)
        state.release(used)
        #expect(try useOthers("c").isSuperset(of: [edited, used]))
    }

    @Test("An accepted edit stays in effect if the agent refuses to report the name's changes")
    func unfollowed() throws {
        let name = try DomainName("a.b")
        var state = ClientState(system: .none, volatile: [:])
        state.hold(name)
        state.load(name, opening: Latch())
        _ = state.dequeueRequests()
        state.markUnfollowed(name)
        let snapshot = DomainSnapshot(domain: Domain(name), values: ["k": 0], cursor: cursor(1))
        for event in [StreamEvent.initial(snapshot), .bookmark(cursor(1))] { _ = state.apply(event, of: name) }
        _ = state.edit(Domain(name), with: ["k": 1], at: Self.time)
        _ = state.dequeueRequests()
        _ = state.accept(1)
        #expect(state.values(of: Domain(name)) == ["k": 1])
        // The next session asks for the name again.
        #expect(state.begin(system: .none, continues: true).start.followed == [name])
    }
}
