import Dispatch
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

import class Foundation.Thread

@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var count: Self { Self("count", default: 0) }
    fileprivate static var total: Self { Self("total", default: 0) }
}

extension DefaultsKey where Value == [Int] {
    fileprivate static var numbers: Self { Self("numbers", default: []) }
}

/// A failure that a test's body throws.
private struct Stop: Error {}

@Suite("Updates based on the current value")
struct UpdatingTests {
    /// Runs a body a thousand times on each of eight threads, with defaults in memory and in files.
    private func eightThreads(_ rounds: Int = 1_000, _ body: @escaping @Sendable (UserDefaults) -> Void) throws {
        let inMemory = UserDefaults(inMemory: [:])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in for _ in 0..<rounds { body(inMemory) } }
        #expect(inMemory[.count] == 8 * rounds)
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let inFiles = try #require(UserDefaults(suiteName: "app", in: live))
            DispatchQueue.concurrentPerform(iterations: 8) { _ in for _ in 0..<rounds { body(inFiles) } }
            #expect(inFiles[.count] == 8 * rounds)
            #expect(inFiles.synchronize())
            #expect(try place.read(place.preferences + "/app.plist") == ["count": .integer(Int64(8 * rounds))])
        }
    }

    @Test("Eight threads that add to a key lose nothing")
    func threads() throws {
        try eightThreads { $0[.count] += 1 }
    }

    @Test("Eight threads that add to a stored property lose nothing")
    func storedProperty() throws {
        try eightThreads { defaults in
            let stored = Stored(.count, store: defaults)
            stored.wrappedValue += 1
        }
    }

    @Test("Eight threads that read and set in a transaction lose nothing")
    func transactions() throws {
        try eightThreads(50) { defaults in defaults.transaction { $0[.count] += 1 } }
    }

    @Test("Eight threads that update a key lose nothing")
    func updates() throws {
        try eightThreads(50) { defaults in
            #expect(throws: Never.self) { try defaults.update(.count) { $0 += 1 } }
        }
    }

    @Test("A change of one key inside the change of another goes through")
    func nested() {
        let defaults = UserDefaults(inMemory: [:])
        func addBoth(_ count: inout Int) {
            count += 1
            defaults[.total] += 1
        }
        addBoth(&defaults[.count])
        #expect(defaults[.count] == 1 && defaults[.total] == 1)
    }

    @Test("A change in place that throws keeps what it has changed and releases the lock")
    func throwingChange() {
        func change(_ count: inout Int) throws {
            count = 5
            throw Stop()
        }
        let defaults = UserDefaults(inMemory: [:])
        #expect(throws: Stop.self) { try change(&defaults[.count]) }
        #expect(defaults[.count] == 5)
        DispatchQueue.concurrentPerform(iterations: 2) { _ in defaults[.count] += 1 }
        #expect(defaults[.count] == 7)
    }

    @Test("An update whose body throws sets nothing")
    func throwingUpdate() {
        let defaults = UserDefaults(inMemory: [:])
        #expect(throws: Stop.self) {
            try defaults.update(.count) { count in
                count = 5
                throw Stop()
            }
        }
        #expect(defaults.object(forKey: "count") == nil)
    }

    @Test("An update returns what its body returns, and is in the file by then")
    func result() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            defaults[.numbers] = [1]
            let count = try defaults.update(.numbers) { numbers in
                numbers.append(2)
                return numbers.count
            }
            #expect(count == 2)
            #expect(defaults[.numbers] == [1, 2])
            #expect(try place.read(place.preferences + "/app.plist") == ["numbers": [1, 2]])
        }
    }

    @Test("The body of an update runs again when another program has changed the key meanwhile")
    func changedMeanwhile() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            defaults[.count] = 1
            #expect(defaults.synchronize())
            var seen: [Int] = []
            try defaults.update(.count) { count in
                seen.append(count)
                if seen.count == 1 { try place.write(["count": 10], to: place.preferences + "/app.plist") }
                count += 1
            }
            #expect(seen == [1, 10])
            #expect(try place.read(place.preferences + "/app.plist") == ["count": 11])
        }
    }

    @Test("An update finds a file that another program has made since it was looked for")
    func newFile() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            #expect(defaults[.count] == 0)
            try place.write(["count": 41], to: place.preferences + "/app.plist")
            try defaults.update(.count) { $0 += 1 }
            #expect(defaults[.count] == 42)
            #expect(try place.read(place.preferences + "/app.plist") == ["count": 42])
        }
    }

    @Test("The body of a transaction runs again when another program has changed a key that it read")
    func changedTransaction() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            defaults[.count] = 1
            #expect(defaults.synchronize())
            var seen: [Int] = []
            try defaults.transaction { values in
                seen.append(values[.count])
                if seen.count == 1 {
                    try place.write(["count": 10, "total": 3], to: place.preferences + "/app.plist")
                }
                values[.total] = values[.count] + values[.total]
            }
            #expect(seen == [1, 10])
            #expect(try place.read(place.preferences + "/app.plist") == ["count": 10, "total": 13])
        }
    }

    @Test("A transaction that only sets does not wait for others' changes of its keys")
    func onlySetting() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            var times = 0
            defaults.transaction { values in
                times += 1
                values[.count] = 1
                defaults[.count] = 5
                #expect(values[.count] == 1)
            }
            #expect(times == 1)
            #expect(defaults[.count] == 1)
        }
    }

    @Test("An update of a key from another layer sets it in its own domain")
    func otherLayer() throws {
        let defaults = UserDefaults(inMemory: [:])
        defaults.register(defaults: ["count": 7])
        try defaults.update(.count) { $0 += 1 }
        #expect(defaults[.count] == 8)
        #expect(defaults.explain("count").count == 2)
    }

    @Test("Threads that use += and update on one key lose nothing")
    func mixed() throws {
        try eightThreads(40) { defaults in
            if defaults[.count] % 2 == 0 {
                defaults[.count] += 1
            } else {
                #expect(throws: Never.self) { try defaults.update(.count) { $0 += 1 } }
            }
        }
    }

    @Test("An observer may wait for another thread that changes a value, too")
    func observer() async {
        await #expect(processExitsWith: .success) {
            let defaults = UserDefaults(inMemory: ["total": "no number"])
            @Sendable func addElsewhere() {
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    defaults[.total] += 1
                    done.signal()
                }
                done.wait()
            }
            LocalEdits.observe { edit in if edit.keys == ["count"] { addElsewhere() } }
            UserDefaults.onProblem { _ in addElsewhere() }
            defaults[.count] += 1
            try defaults.update(.count) { $0 += 1 }
            // Once more for the text that it had, which is reported.
            #expect(defaults[.total] == 3)
        }
    }

    @Test("A thread that updates all the time keeps no other waiting")
    func fairness() throws {
        let defaults = UserDefaults(inMemory: [:])
        try withBackgroundThread { mayGoOn in
            while mayGoOn() { _ = try? defaults.update(.count) { $0 += 1 } }
        } while: {
            for _ in 0..<1_000 { try defaults.update(.total) { $0 += 1 } }
        }
        #expect(defaults[.total] == 1_000)
    }
}
