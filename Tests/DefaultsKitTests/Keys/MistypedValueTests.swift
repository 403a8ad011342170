import DefaultsBindings
import DefaultsKit
import Linux
import PropertyList
import Synchronization
import Testing

private enum Theme: String, DefaultsValue { case light, dark }

extension DefaultsKey where Value == Theme {
    fileprivate static var theme: Self { Self("theme", default: .light) }
}

/// The problems reported in a separate process, since the handler belongs to the process.
private final class Told: Sendable {
    private let problems = ForkSafeMutex<[DefaultsProblem]>([])

    init() { UserDefaults.setProblemHandler { problem in self.problems.withLock { $0.append(problem) } } }

    var count: Int { problems.withLock(\.count) }
    var last: DefaultsProblem? { problems.withLock(\.last) }
}

@Suite("Stored values with the wrong type for their key", .timeLimit(.minutes(1)))
struct MistypedValueTests {
    @Test("A value of the wrong type is reported once, with its domain and kind, and reads as the default")
    func once() async {
        await #expect(processExitsWith: .success) {
            let told = Told()
            UserDefaults.applicationIdentifier = "org.example.mistyped"
            let defaults = UserDefaults(inMemory: ["theme": 5])
            for _ in 0..<3 { #expect(defaults[.theme] == .light) }
            #expect(told.count == 1)
            #expect(
                told.last?.description
                    == "\"theme\" of org.example.mistyped is a whole number that can't be read as Theme; "
                    + "the key's default is used. Set the key again, or remove it.")
            #expect(defaults.integer(forKey: "theme") == 5)
        }
    }

    @Test("A different value of the wrong type is reported again, and a valid one isn't")
    func again() async {
        await #expect(processExitsWith: .success) {
            let told = Told()
            let defaults = UserDefaults(inMemory: ["theme": "none"])
            #expect(defaults[.theme] == .light)
            defaults.set("dark", forKey: "theme")
            #expect(defaults[.theme] == .dark)
            defaults.removeObject(forKey: "theme")
            #expect(defaults[.theme] == .light)
            #expect(told.count == 1)
            defaults.set("other", forKey: "theme")
            #expect(defaults[.theme] == .light)
            #expect(told.count == 2)
        }
    }

    @Test("A value of the wrong type is reported once across streams, transactions and controllers")
    func everywhere() async {
        await #expect(processExitsWith: .success) {
            let told = Told()
            let defaults = UserDefaults(inMemory: ["theme": ["a"]])
            var updates = defaults.updates(of: .theme).makeAsyncIterator()
            #expect(await updates.next() == .light)
            #expect(told.count == 1)
            var both = defaults.updates(of: .theme, .theme).makeAsyncIterator()
            #expect(await both.next()?.0 == .light)
            defaults.withTransaction { values in #expect(values[.theme] == .light) }
            #expect(UserDefaultsController(defaults: defaults).values[.theme] == .light)
            #expect(told.count == 1)
        }
    }

    @Test("The problem handler may read the key of the reported problem")
    func reentrant() async {
        await #expect(processExitsWith: .success) {
            let defaults = UserDefaults(inMemory: ["theme": 5])
            let count = Atomic(0)
            UserDefaults.setProblemHandler { _ in
                count.add(1, ordering: .relaxed)
                #expect(defaults[.theme] == .light)
            }
            #expect(defaults[.theme] == .light)
            #expect(count.load(ordering: .relaxed) == 1)
        }
    }
}
