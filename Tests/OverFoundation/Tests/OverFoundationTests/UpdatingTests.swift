import DefaultsKit
import Dispatch
import Foundation
import Testing

@Suite("Updates of a value over Foundation's class", .timeLimit(.minutes(1)))
struct UpdatingTests {
    private struct Failure: Error {}

    private let suite: TemporarySuite
    private var defaults: UserDefaults { suite.defaults }

    init() throws {
        suite = try TemporarySuite()
    }

    /// Runs a closure 100 times on each of eight threads, each with an instance of its own.
    private func onManyThreads(_ body: @Sendable @escaping (UserDefaults) -> Void) {
        let name = suite.name
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            guard let defaults = UserDefaults(suiteName: name) else { return }
            for _ in 0..<100 { body(defaults) }
        }
    }

    @Test("Threads that update a value, change it in place and use transactions lose no change")
    func threads() {
        onManyThreads { defaults in
            _ = try? defaults.update(.width) { $0 += 1 }
            defaults[.width] += 1
            defaults.withTransaction { $0[.width] += 1 }
        }
        #expect(defaults[.width] == 2_401)
    }

    @Test("A key with a domain is read and set there, whatever instance it is used with, also in a transaction")
    func keyDomains() throws {
        let key = DefaultsKey("routed", default: 0, domain: suite.name)
        let other = UserDefaults.standard
        other[key] = 1
        other[key] += 1
        try other.update(key) { $0 += 1 }
        try other.store(other[key] + 1, for: key)
        other.withTransaction { values in values[key] += 1 }
        #expect(other[key] == 5 && defaults.integer(forKey: "routed") == 5 && other.object(forKey: "routed") == nil)
        other.reset(key)
        #expect(defaults.object(forKey: "routed") == nil)
    }

    @Test("A value outside a key's range isn't set, and makes a call that can throw do so")
    func ranges() {
        let key = DefaultsKey("ranged", default: 12, in: 6...72)
        defaults[key] = 99
        #expect(throws: DefaultsProblem.self) { try defaults.store(5, for: key) }
        #expect(throws: DefaultsProblem.self) { try defaults.update(key) { $0 = 5 } }
        #expect(defaults[key] == 12)
    }

    @Test("An update returns the body's result, and sets nothing if the body throws")
    func outcome() throws {
        let before = try defaults.update(.width) { width in
            defer { width += 4 }
            return width
        }
        #expect(before == 1)
        #expect(throws: Failure.self) {
            try defaults.update(.width) {
                $0 = 9
                throw Failure()
            }
        }
        #expect(defaults[.width] == 5)
        try defaults.update(.name) { $0 = "Ada" }
        try defaults.update(.name) { $0 = nil }
        #expect(defaults.object(forKey: "name") == nil)
    }

    @Test("A transaction sets its values at the end, and none if the body throws")
    func transaction() {
        defaults[.name] = "Ada"
        let seen = defaults.withTransaction { values in
            values[.width] = 5
            values[.name] = nil
            values.set(["a": 1], forKey: "tree")
            values.removeObject(forKey: "other")
            #expect(defaults[.width] == 1)
            #expect(values[.name] == nil)
            #expect(values.propertyListValue(forKey: "name") == nil)
            return values[.width]
        }
        #expect(seen == 5)
        #expect(defaults[.width] == 5)
        #expect(defaults[.name] == nil)
        #expect(defaults.propertyListValue(forKey: "tree") == ["a": 1])
        #expect(throws: Failure.self) {
            try defaults.withTransaction { values throws(Failure) in
                values[.width] = 9
                throw Failure()
            }
        }
        #expect(defaults[.width] == 5)
    }

    @Test("An observer of the notification may change values during an update")
    func observer() throws {
        let token = NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification, object: defaults, queue: nil
        ) { notification in
            guard let defaults = notification.object as? UserDefaults, defaults[.height] == 2 else { return }
            defaults[.height] = 7
        }
        try defaults.update(.width) { $0 = 3 }
        NotificationCenter.default.removeObserver(token)
        #expect(defaults[.width] == 3)
        #expect(defaults[.height] == 7)
    }

    @Test("An observer may wait for another thread's change", arguments: 0..<4)
    func observerElsewhere(change: Int) throws {
        let queue = OperationQueue()
        let token = NotificationCenter.default.addObserver(
            forName: UserDefaults.didChangeNotification, object: defaults, queue: queue
        ) { notification in
            guard let defaults = notification.object as? UserDefaults, defaults[.height] == 2 else { return }
            defaults[.height] += 1
        }
        switch change {
        case 0: defaults[.width] = 3
        case 1: defaults[.width] += 2
        case 2: try defaults.update(.width) { $0 = 3 }
        default: defaults.withTransaction { $0[.width] = 3 }
        }
        NotificationCenter.default.removeObserver(token)
        #expect(defaults[.width] == 3)
        #expect(defaults[.height] == 3)
    }
}
