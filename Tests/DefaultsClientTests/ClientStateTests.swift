import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsClient

@Suite("State of a client")
struct ClientStateTests {
    private static let time = Timestamp(nanoseconds: 1)

    @Test("Accepted edits are joined by key and keep the value that the first of them replaced")
    func joining() throws {
        var unsaved = UnsavedEdits()
        let domain = Domain(try DomainName("a.b"))
        for number in 1...10_000 {
            let edit = UnsavedEdit(
                domain: domain, values: ["k": .integer(Int64(number))], replacing: ["k": .integer(Int64(number - 1))],
                time: Self.time)
            let given = unsaved.add(edit)
            #expect(given == UInt64(number))
            _ = unsaved.dequeueUnsent(session: 1)
            _ = unsaved.accept(given)
        }
        let left = unsaved.beginSession()
        #expect(left.count < 1_000)
        #expect(left.first?.replacing == ["k": 0])
        #expect(
            left.flatMap { $0.since["k", default: []] + [$0.values["k"] ?? nil] } == (1...10_000).map { .integer($0) })
        #expect(left.last?.values == ["k": 10_000])
        let again = unsaved.dequeueUnsent(session: 1)
        #expect(again.count == left.count)
        #expect(again.allSatisfy { $0.replacing != nil })
        unsaved.removeSaved(of: domain, upTo: 10_000)
        #expect(unsaved.isEmpty)
    }

    @Test("Edits beyond the backlog are joined by domain unless the joined edit would become large")
    func absorbing() throws {
        var unsaved = UnsavedEdits()
        let (first, second) = (Domain(try DomainName("a.b")), Domain(try DomainName("a.c")))
        func add(_ domain: Domain, _ key: String, _ value: PropertyListValue, replacing: DomainValues = [:]) -> UInt64 {
            unsaved.add(UnsavedEdit(domain: domain, values: [key: value], replacing: replacing, time: Self.time))
        }
        for number in 1...UInt64(UnsavedEdits.backlog) { #expect(add(first, "k", 1) == number) }
        let last = UInt64(UnsavedEdits.backlog)
        #expect(add(first, "k", 2, replacing: ["k": 1]) == last && add(first, "l", 3) == last)
        #expect(add(second, "k", 4) == last + 1)
        #expect(unsaved.seal() == last + 1)
        #expect(add(second, "k", 5) == last + 2)
        let large = PropertyListValue.data([UInt8](repeating: 0, count: 2_000))
        #expect(add(second, "large", large) == last + 3)
        #expect(add(second, "large", large) == last + 3)
        let requests = unsaved.dequeueUnsent(session: 1)
        #expect(requests.count == Int(last) + 3 && unsaved.unaccepted == requests.count)
        #expect(requests[Int(last) - 1].values == ["k": 2, "l": 3])
        #expect(add(second, "large", 1) == last + 4, "An edit that was already requested may be saved.")
    }

    @Test("An edit after a conditional one whose outcome is unknown replaces that one's value, too, until it is saved")
    func undecided() throws {
        var unsaved = UnsavedEdits()
        let domain = Domain(try DomainName("a.b"))
        func former(afterSetting value: PropertyListValue) -> [[PropertyListValue?]] {
            _ = unsaved.add(
                UnsavedEdit(domain: domain, values: ["k": value], replacing: ["k": 1], time: Self.time))
            return unsaved.beginSession().map { $0.former("k") }
        }
        #expect(former(afterSetting: 2) == [[1]])
        #expect(former(afterSetting: 3) == [[1], [1]])
        // It was sent between the two edits.
        unsaved.recordUndecided(["k": 10, "l": 11], of: domain, after: 1)
        #expect(former(afterSetting: 4) == [[1], [1, 10], [1, 10]])
        unsaved.removeSaved(of: domain, upTo: 3)
        #expect(former(afterSetting: 5) == [[1]])
    }

    @Test("Refusing an edit doesn't affect earlier edits")
    func refusing() throws {
        let name = try DomainName("a.b")
        var state = ClientState(system: .none, volatile: [:])
        _ = state.edit(Domain(name), with: ["k": 1], at: Self.time)
        _ = state.edit(Domain(name), with: ["l": 1], at: Self.time)
        _ = state.dequeueRequests()
        #expect(!state.refuse(2, after: DefaultsError(.invalidValue, "")).isSentAgain)
        #expect(state.unsaved.unaccepted == 1 && state.values(of: Domain(name)) == ["k": 1])
        _ = state.accept(1)
        #expect(state.unsaved.unaccepted == 0)
    }

    @Test("Of several values that a session refuses together, each is sent again alone")
    func dividing() throws {
        let domain = Domain(try DomainName("a.b"))
        var state = ClientState(system: .none, volatile: [:])
        _ = state.edit(domain, with: ["k": 1, "l": 1, "m": 1], at: Self.time)
        _ = state.dequeueRequests()
        _ = state.edit(domain, with: ["m": 2], at: Self.time)
        #expect(state.refuse(1, after: DefaultsError(.invalidValue, "")).isSentAgain)
        #expect(state.values(of: domain) == ["k": 1, "l": 1, "m": 2])
        let sent = state.dequeueRequests().edits.map(\.values)
        #expect(Set(sent) == [["k": 1], ["l": 1], ["m": 2]] && sent.count == 3)
        let refused = try #require(sent.firstIndex(of: ["k": 1]))
        #expect(!state.refuse(UInt64(refused) + 2, after: DefaultsError(.invalidValue, "")).isSentAgain)
        #expect(state.values(of: domain) == ["l": 1, "m": 2])
    }

    @Test("The reason of a refusal reaches each barrier that waits for the edit, or else the next one, once")
    func refusalsOfBarriers() throws {
        let domain = Domain(try DomainName("a.b"))
        var state = ClientState(system: .none, volatile: [:])
        func refuse(_ number: UInt64, _ reason: String) {
            _ = state.refuse(number, after: DefaultsError(.readOnly, reason))
        }
        func reasons(_ barrier: Barrier) -> [String] {
            barrier.finish()
            return barrier.wait()?.refusals.map(\.description) ?? []
        }
        _ = state.edit(domain, with: ["k": 1], at: Self.time)
        let (first, second) = (state.beginBarrier(), state.beginBarrier())
        _ = state.edit(domain, with: ["k": 2], at: Self.time)
        let third = state.beginBarrier()
        _ = state.dequeueRequests()
        refuse(1, "one")
        refuse(2, "two")
        #expect(reasons(first) == ["one"] && reasons(second) == ["one"] && reasons(third) == ["one", "two"])
        _ = state.edit(domain, with: ["k": 3], at: Self.time)
        _ = state.dequeueRequests()
        refuse(3, "three")
        let canceled = state.beginBarrier()
        _ = state.edit(domain, with: ["k": 4], at: Self.time)
        let later = state.beginBarrier()
        _ = state.dequeueRequests()
        state.leave(canceled)
        refuse(4, "four")
        #expect(reasons(later) == ["four"])
        #expect(reasons(state.beginBarrier()) == ["three"] && reasons(state.beginBarrier()) == [])
    }

    @Test("If one value of a transaction is refused, none is set, and the transaction isn't joined with other edits")
    func wholeEdits() throws {
        let domain = Domain(try DomainName("a.b"))
        var state = ClientState(system: .none, volatile: [:])
        for number in 1...UnsavedEdits.backlog {
            _ = state.edit(domain, with: ["other": .integer(Int64(number))], at: Self.time)
        }
        _ = state.edit(domain, with: ["k": 1, "l": 1], asWhole: true, at: Self.time)
        _ = state.edit(domain, with: ["k": 2, "l": 2], asWhole: true, at: Self.time)
        _ = state.edit(domain, with: ["other": 0], at: Self.time)
        let sent = state.dequeueRequests().edits
        #expect(sent.suffix(3).map(\.values) == [["k": 1, "l": 1], ["k": 2, "l": 2], ["other": 0]])
        let number = try #require(sent.dropLast().last?.identity?.number)
        #expect(!state.refuse(number, after: DefaultsError(.invalidValue, "")).isSentAgain)
        #expect(state.values(of: domain) == ["other": 0])
    }

    @Test("A barrier waits for the parts of an edit that was refused and sent again")
    func barriersOfParts() throws {
        let domain = Domain(try DomainName("a.b"))
        var state = ClientState(system: .none, volatile: [:])
        _ = state.edit(domain, with: ["k": 1, "l": 1], at: Self.time)
        let barrier = state.beginBarrier()
        _ = state.dequeueRequests()
        #expect(!state.unsaved.hasSentAgain(upTo: barrier.last))
        #expect(state.refuse(1, after: DefaultsError(.invalidValue, "")).isSentAgain)
        #expect(state.unsaved.hasSentAgain(upTo: barrier.last) && !state.unsaved.hasSentAgain(upTo: 0))
        let parts = state.dequeueRequests().edits.compactMap { $0.identity?.number }
        #expect(!state.refuse(parts[0], after: DefaultsError(.invalidValue, "A number.")).isSentAgain)
        #expect(state.unsaved.hasSentAgain(upTo: barrier.last))
        _ = state.accept(parts[1])
        state.markSaved(domain, upTo: parts[1])
        #expect(!state.unsaved.hasSentAgain(upTo: barrier.last))
        barrier.finish()
        #expect(barrier.wait()?.refusals.map(\.description) == ["A number."])
    }

    @Test("An edit stays in effect if its stream restarts before its record arrives", arguments: [true, false])
    func acceptedMeanwhile(isUnknown: Bool) throws {
        let name = try DomainName("a.b")
        let domain = Domain(name)
        func cursor(_ revision: Revision) -> Cursor { Cursor(epoch: Epoch(value: 1), revision: revision) }
        var state = ClientState(system: .none, volatile: [:])
        state.load(name, opening: Latch())
        _ = state.dequeueRequests()
        _ = state.apply(.initial(DomainSnapshot(domain: domain, values: ["k": 0], cursor: cursor(1))), of: name)
        _ = state.apply(.bookmark(cursor(1)), of: name)
        _ = state.edit(domain, with: ["k": 1], at: Self.time)
        _ = state.dequeueRequests()
        let unknown = LogRecord(revision: 2, time: Self.time, event: .unknown(domain))
        #expect(state.apply(isUnknown ? .record(unknown, cursor: cursor(2)) : .ended, of: name).mustRestart)
        _ = state.accept(1)
        #expect(state.values(of: domain) == ["k": 1])
        _ = state.apply(.initial(DomainSnapshot(domain: domain, values: ["k": 2], cursor: cursor(4))), of: name)
        _ = state.apply(.bookmark(cursor(4)), of: name)
        #expect(state.values(of: domain) == ["k": 2])
    }

    @Test("An edit is sent again without the keys that another writer has changed since")
    func overruling() throws {
        var unsaved = UnsavedEdits()
        let domain = Domain(try DomainName("a.b"))
        _ = unsaved.add(UnsavedEdit(domain: domain, values: ["k": 1, "l": 1], replacing: [:], time: Self.time))
        _ = unsaved.add(UnsavedEdit(domain: domain, values: ["k": 2], replacing: ["k": 1], time: Self.time))
        _ = unsaved.dequeueUnsent(session: 1)
        _ = unsaved.accept(1)
        unsaved.overrule(["k"], of: domain)
        #expect(unsaved.beginSession().map(\.values) == [["l": 1], ["k": 2]])
    }

    @Test(
        "An edit isn't sent again if another writer changed its key before the agent's answer",
        arguments: [true, false])
    func overruledBeforeTheAnswer(hasRecord: Bool) throws {
        let name = try DomainName("a.b")
        let domain = Domain(name)
        func cursor(_ revision: Revision) -> Cursor { Cursor(epoch: Epoch(value: 1), revision: revision) }
        func change(_ revision: Revision, _ value: PropertyListValue, _ edit: EditIdentity? = nil) -> StreamEvent {
            let changes = [KeyChange(key: "k", old: nil, new: value)]
            let changeSet = ChangeSet(
                domain: domain, source: edit == nil ? .file : .app(.current), changes: changes, edit: edit)
            return .record(
                LogRecord(revision: revision, time: Self.time, event: .change(changeSet)), cursor: cursor(revision))
        }
        var state = ClientState(system: .none, volatile: [:])
        state.load(name, opening: Latch())
        _ = state.dequeueRequests()
        _ = state.apply(.initial(DomainSnapshot(domain: domain, values: ["k": 0], cursor: cursor(1))), of: name)
        _ = state.apply(.bookmark(cursor(1)), of: name)
        _ = state.edit(domain, with: ["k": 1], at: Self.time)
        _ = state.dequeueRequests()
        // The edit's own record arrives, unless the edit changed nothing. Then another writer restores the old value,
        // and the answer arrives last.
        if hasRecord { _ = state.apply(change(2, 1, EditIdentity(session: state.session, number: 1)), of: name) }
        _ = state.apply(change(3, 0), of: name)
        _ = state.accept(1)
        #expect(state.values(of: domain)["k"] == 0)
        _ = state.begin(system: .none, continues: true)
        #expect(state.dequeueRequests().edits == [])
    }

    @Test("A change that arrives before the values of a new session comes to followers as a part of the gap")
    func changeBeforeGap() throws {
        let name = try DomainName("a.b")
        let domain = Domain(name)
        func cursor(_ revision: Revision) -> Cursor { Cursor(epoch: Epoch(value: 1), revision: revision) }
        func change(_ revision: Revision, from old: PropertyListValue, to new: PropertyListValue) -> StreamEvent {
            let changeSet = ChangeSet(domain: domain, source: .file, changes: [KeyChange(key: "k", old: old, new: new)])
            return .record(
                LogRecord(revision: revision, time: Self.time, event: .change(changeSet)), cursor: cursor(revision))
        }
        func snapshot(_ value: PropertyListValue, _ revision: Revision) -> StreamEvent {
            .initial(DomainSnapshot(domain: domain, values: ["k": value], cursor: cursor(revision)))
        }
        var state = ClientState(system: .none, volatile: [:])
        let follower = ChangeFollower(names: [name])
        /// The changes' old values, and `nil` for a gap.
        func received() -> [PropertyListValue??] {
            follower.dequeue().map { item in
                guard case .record(let record, _, _) = item, let change = record.changeSet?.changes.first else {
                    return nil
                }
                return .some(change.old)
            }
        }
        state.load(name, opening: Latch())
        _ = state.dequeueRequests()
        for event in [snapshot(0, 1), .bookmark(cursor(1))] { _ = state.apply(event, of: name) }
        state.add(follower)
        _ = state.apply(change(2, from: 0, to: 1), of: name)
        #expect(received() == [.some(0)])
        _ = state.begin(system: .none, continues: false)
        _ = state.apply(snapshot(5, 9), of: name)
        _ = state.apply(change(10, from: 5, to: 6), of: name)
        #expect(received() == [])
        _ = state.apply(.bookmark(cursor(10)), of: name)
        #expect(received() == [nil])
        #expect(state.values(of: domain) == ["k": 6])
        _ = state.apply(change(11, from: 6, to: 7), of: name)
        #expect(received() == [.some(6)])
    }

    @Test("A forked child starts with its parent's pending edits, except for overruled ones")
    func forking() throws {
        let (name, time) = (try DomainName("a.b"), Self.time)
        let domain = Domain(name)
        let cursor = Cursor(epoch: Epoch(value: 1), revision: 1)
        func snapshot(_ values: DomainValues) -> StreamEvent {
            .initial(DomainSnapshot(domain: domain, values: values, cursor: cursor))
        }
        var state = ClientState(system: .none, volatile: [:])
        state.load(name, opening: Latch())
        _ = state.dequeueRequests()
        for event in [snapshot(["k": 0, "l": 0, "m": 0]), .bookmark(cursor)] { _ = state.apply(event, of: name) }
        _ = state.edit(domain, with: ["k": 1, "l": 1, "m": nil], at: time)
        _ = state.edit(domain, with: ["k": 2], at: time)
        let session = state.session
        #expect(state.startOver().isEmpty)
        #expect(state.session != session)
        #expect(!state.mustHandOver && !state.isLoaded(name))
        #expect(state.values(of: domain) == ["k": 2, "l": 1])
        let requests = state.dequeueRequests()
        #expect(requests.names == [name] && requests.edits.isEmpty)
        for event in [snapshot(["k": 1, "l": 3, "m": 0]), .bookmark(cursor)] { _ = state.apply(event, of: name) }
        #expect(state.values(of: domain) == ["k": 2, "l": 3])
    }

    @Test("A late edit is sent again with the values that it replaces, except for keys set since")
    func late() throws {
        let name = try DomainName("a.b")
        var state = ClientState(system: .none, volatile: [:])
        _ = state.edit(Domain(name), with: ["k": 1, "l": 1], at: Self.time)
        _ = state.edit(Domain(name), with: ["k": 2], at: Self.time)
        #expect(state.dequeueRequests().edits.map(\.replacing) == [nil, nil])
        _ = state.compare(1)
        let again = state.dequeueRequests().edits
        #expect(again.map(\.values) == [["l": 1]])
        #expect(again.map(\.replacing) == [["l": [nil]]])
        #expect(again.first?.identity?.number == 3)
        #expect(state.values(of: Domain(name)) == ["k": 2, "l": 1])
    }

    @Test("A search list that was never used isn't searched when a session brings other system directories")
    func otherDirectories() throws {
        let name = try DomainName("a.b")
        var state = ClientState(system: .none, volatile: [:])
        let unsearched = SearchList()
        let searched = SearchList()
        state.add(unsearched, for: name)
        state.add(searched, for: name)
        _ = state.fill(searched)
        let directories = SystemDirectories(anyUser: ["/nowhere/defaults"], managed: nil)
        _ = state.begin(system: directories, continues: false)
        #expect(!unsearched.hasSearched)
        let domain = try #require(Domain.ofAnyUser(name, in: directories).first)
        #expect(searched.layers.contains(.persistent(domain)))
    }

    @Test("A language's values are kept while a search list uses or needs the language")
    func languages() throws {
        let name = try DomainName("a.b")
        var state = ClientState(system: .none, volatile: [:], inMemory: [:])
        let list = SearchList()
        let waiting = SearchList()
        state.add(list, for: name)
        state.add(waiting, for: try DomainName("a.c"))
        _ = state.useLanguages(else: ["de"])
        #expect(state.fill(list).languages == ["de", "en"])
        _ = state.add(["de": ["k": "de"], "en": ["k": "en"]])
        _ = state.fill(list)
        #expect(list.languages == ["de", "en"])
        for language in ["fr", "ja", "fr"] {
            let asked = state.edit(Domain(name), with: [Languages.key: .string(language)], at: Self.time)
            #expect(asked.languages == [language])
            // The list keeps its languages until the new values arrive.
            #expect(list.languages.count == 2)
            _ = state.add([language: ["k": .string(language)]])
            #expect(list.languages == [language, "en"])
            let held = ["de", "en", "fr", "ja"].filter { state.volatileValues($0) != nil }
            // The other list hasn't been searched yet, but will need German.
            #expect(held == ["de", "en", language])
        }
        state.remove(waiting)
        _ = state.edit(Domain(name), with: [Languages.key: "ja"], at: Self.time)
        _ = state.add(["ja": [:]])
        #expect(state.volatileValues("de") == nil)
        #expect(state.volatileValues("fr") == nil)
    }

    @Test("A conditional edit is overtaken by a change to a key of its own that was read before it was made")
    func overtaken() throws {
        var state = ClientState(system: .none, volatile: [:])
        let domain = Domain(try DomainName("a.b"))
        let commit = Commit(domain: domain, values: ["k": 2, "removed": nil], expected: ["k": 1])
        state.begin(commit)
        state.overtakeCommits(of: "other", in: domain)
        state.overtakeCommits(of: "k", in: Domain(.global))
        #expect(!state.isOvertaken(commit))
        let changes: [(String, PropertyListValue?)] = [("k", 2), ("removed", nil)]
        for (key, value) in changes {
            state.overtakeCommits(of: key, in: domain)
            #expect(state.isOvertaken(commit))
            state.followCommits(of: key, in: domain, having: value)
            #expect(!state.isOvertaken(commit))
        }
        state.overtakeCommits(of: "k", in: domain)
        state.followCommits(of: "k", in: domain, having: 1)
        #expect(state.isOvertaken(commit))
        state.end(commit)
        #expect(!state.isOvertaken(commit))
    }
}
