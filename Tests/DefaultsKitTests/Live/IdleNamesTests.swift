import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsKit

@Suite("Names that nobody uses any more")
struct IdleNamesTests {
    private static let time = Timestamp(nanoseconds: 1)

    private func cursor(_ revision: Revision) -> Cursor { Cursor(epoch: Epoch(value: 1), revision: revision) }

    /// Has a list of a name searched, and released.
    private func use(_ name: DomainName, _ values: DomainValues, in state: inout LiveState) {
        let list = SearchList()
        state.add(list, name)
        state.load(name, Latch())
        #expect(state.takeRequests().names == [name])
        let snapshot = DomainSnapshot(domain: Domain(name), values: values, cursor: cursor(1))
        for event in [StreamEvent.initial(snapshot), .bookmark(cursor(1))] { _ = state.take(event, of: name) }
        state.remove(list)
    }

    @Test("The last of them are kept, and the others go with all that is known of them")
    func excess() throws {
        var state = LiveState(system: .none, volatile: [:])
        let names = try (0..<100).map { try DomainName("a.n\($0)") }
        var gone: [DomainName] = []
        for name in names {
            use(name, ["k": 1], in: &state)
            gone += state.takeUnused()
        }
        #expect(gone == Array(names.prefix(100 - IdleNames.capacity)))
        #expect(state.names.count == IdleNames.capacity && state.users.isEmpty)
        #expect(state.values(of: Domain(names[0])) == [:] && !state.isLoaded(names[0]))
        #expect(state.values(of: Domain(names[99])) == ["k": 1])
        // What comes of one that has gone is no news.
        let changeSet = ChangeSet(
            domain: Domain(names[0]), source: .file, changes: [KeyChange(key: "k", old: 1, new: 2)])
        let record = LogRecord(revision: 2, time: Self.time, event: .change(changeSet))
        _ = state.take(.record(record, cursor: cursor(2)), of: names[0])
        #expect(state.values(of: Domain(names[0])) == [:] && state.domainsWithValues.count == IdleNames.capacity)
    }

    @Test("One with edits that aren't saved stays until they are, and one that is used again stays as well")
    func needed() throws {
        var state = LiveState(system: .none, volatile: [:])
        let (edited, used) = (try DomainName("a.edited"), try DomainName("a.used"))
        use(edited, ["k": 1], in: &state)
        use(used, ["k": 1], in: &state)
        _ = state.edit(Domain(edited), ["k": 2], at: Self.time)
        state.hold(used)
        func useOthers(_ prefix: String) throws -> Set<DomainName> {
            var gone: Set<DomainName> = []
            for number in 0..<100 {
                use(try DomainName("\(prefix)\(number)"), [:], in: &state)
                gone.formUnion(state.takeUnused())
            }
            return gone
        }
        let first = try useOthers("b")
        #expect(first.count > 50 && first.isDisjoint(with: [edited, used]))
        #expect(state.values(of: Domain(edited)) == ["k": 2] && state.values(of: Domain(used)) == ["k": 1])
        _ = state.takeRequests()
        _ = state.accept(1)
        state.save(Domain(edited), upTo: 1)
        state.letGo(used)
        #expect(try useOthers("c").isSuperset(of: [edited, used]))
    }

    @Test("Where the agent refuses to tell a name's changes, an edit that it has made stays in force")
    func unfollowed() throws {
        let name = try DomainName("a.b")
        var state = LiveState(system: .none, volatile: [:])
        state.hold(name)
        state.load(name, Latch())
        _ = state.takeRequests()
        state.noteUnfollowed(name)
        let snapshot = DomainSnapshot(domain: Domain(name), values: ["k": 0], cursor: cursor(1))
        for event in [StreamEvent.initial(snapshot), .bookmark(cursor(1))] { _ = state.take(event, of: name) }
        _ = state.edit(Domain(name), ["k": 1], at: Self.time)
        _ = state.takeRequests()
        _ = state.accept(1)
        #expect(state.values(of: Domain(name)) == ["k": 1])
        // The next session is asked for it anew.
        #expect(state.begin(system: .none, continues: true).start.followed == [name])
    }
}
