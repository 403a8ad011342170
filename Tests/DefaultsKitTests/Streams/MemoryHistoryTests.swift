import DefaultsCore
import PropertyList
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

@Suite("The history in memory", .timeLimit(.minutes(1)))
struct MemoryHistoryTests {
    private let defaults = UserDefaults(inMemory: ["size": 1])
    private let size = DefaultsKey("size", default: 0)

    private func changes() async throws -> [DefaultsChange] {
        var changes: [DefaultsChange] = []
        for try await change in defaults.history(of: .application) { changes.append(change) }
        return changes
    }

    @Test("The history has the changes, newest first, and ends with them")
    func history() async throws {
        #expect(try await changes().isEmpty)
        defaults[size] = 5
        defaults.set("blue", forKey: "color")
        let changes = try await changes().map(\.changes)
        #expect(changes.map { $0.map(\.key) } == [["color"], ["size"]])
        #expect(changes[1][0].oldValue == 1 && changes[1][0].newValue == 5)
    }

    @Test("A change is undone and redone, and what was changed later stays")
    func undo() async throws {
        defaults.withTransaction { values in
            values[size] = 5
            values.set("blue", forKey: "color")
        }
        let change = try #require(try await changes().first)
        defaults[size] = 6
        let result = try await defaults.undo(change)
        #expect(result.changes.map(\.key) == ["color"] && result.keptKeys == ["size"])
        #expect(defaults[size] == 6 && defaults.string(forKey: "color") == nil)
        let undo = try #require(try await changes().first)
        #expect(undo.origin?.purpose?.name == "undo")
        try await defaults.undo(undo)
        #expect(defaults.string(forKey: "color") == "blue")
    }

    @Test("An edit that replaces a whole domain removes its other keys, as one change set")
    func replacement() async throws {
        let history = try #require(MemoryHistory(defaults.client))
        defaults.set("blue", forKey: "color")
        try history.edit(defaults.domain, with: ["size": 2], replacesAll: true)
        #expect(defaults.values() == ["size": 2])
        #expect(try await changes().first?.changes.map(\.key).sorted() == ["color", "size"])
    }

    @Test("A change that a stream delivered is undone, of any domain")
    func ofStream() async throws {
        var stream = defaults.changes(in: .domain("other")).makeAsyncIterator()
        defaults.setPersistentDomain(["a": 1], forName: "other")
        guard case .change(let change)? = try await stream.next() else {
            Issue.record("The stream has delivered no change.")
            return
        }
        try await defaults.undo(change)
        #expect(defaults.persistentDomain(forName: "other") == nil)
    }
}
