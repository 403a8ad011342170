import Dispatch
import Glibc
import Linux
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

import class Foundation.Thread

@testable import DefaultsClient
@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var count: Self { Self("count", default: 0) }
    fileprivate static var total: Self { Self("total", default: 0) }
}

extension DefaultsKey where Value == [Int] {
    fileprivate static var numbers: Self { Self("numbers", default: []) }
}

/// An error thrown by a test's body.
private struct Stop: Error {}

/// Runs a body on a new thread, and waits for its end.
private func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        body()
        done.signal()
    }
    done.wait()
}

@Suite("Updates based on the current value")
struct UpdatingTests {
    /// Runs a body a thousand times on each of eight threads, with defaults in memory and in files.
    private func eightThreads(_ rounds: Int = 1_000, _ body: @escaping @Sendable (UserDefaults) -> Void) throws {
        let inMemory = UserDefaults(inMemory: [:])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in for _ in 0..<rounds { body(inMemory) } }
        #expect(inMemory[.count] == 8 * rounds)
        try ScratchPlace.withClient { place, client in
            let inFiles = try #require(UserDefaults(suiteName: "app", in: client))
            DispatchQueue.concurrentPerform(iterations: 8) { _ in for _ in 0..<rounds { body(inFiles) } }
            #expect(inFiles[.count] == 8 * rounds)
            #expect(inFiles.synchronize())
            #expect(try place.read(place.preferences + "/app.plist") == ["count": .integer(Int64(8 * rounds))])
        }
    }

    @Test("Eight threads that increment a key lose nothing")
    func threads() throws {
        try eightThreads { $0[.count] += 1 }
    }

    @Test("Eight threads that increment a stored property lose nothing")
    func storedProperty() throws {
        try eightThreads { defaults in
            let stored = DefaultsStored(.count, store: defaults)
            stored.wrappedValue += 1
        }
    }

    @Test("Eight threads that read and set a key in transactions lose nothing")
    func transactions() throws {
        try eightThreads(50) { defaults in defaults.withTransaction { $0[.count] += 1 } }
    }

    @Test("Eight threads that update a key lose nothing")
    func updates() throws {
        try eightThreads(50) { defaults in
            #expect(throws: Never.self) { try defaults.update(.count) { $0 += 1 } }
        }
    }

    @Test("A change to one key inside the change to another works")
    func nested() {
        let defaults = UserDefaults(inMemory: [:])
        func addBoth(_ count: inout Int) {
            count += 1
            defaults[.total] += 1
        }
        addBoth(&defaults[.count])
        #expect(defaults[.count] == 1 && defaults[.total] == 1)
    }

    @Test("A change in place that throws keeps its result and releases the lock")
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

    @Test("An update returns its body's result after the file has been saved")
    func result() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
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

    @Test("An update's body runs again if another program has changed the key in the meantime")
    func changedMeanwhile() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
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

    @Test("An update finds a file that another program has created since the last read")
    func newFile() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            #expect(defaults[.count] == 0)
            try place.write(["count": 41], to: place.preferences + "/app.plist")
            try defaults.update(.count) { $0 += 1 }
            #expect(defaults[.count] == 42)
            #expect(try place.read(place.preferences + "/app.plist") == ["count": 42])
        }
    }

    @Test("A transaction's body runs again if another program has changed a key that it read")
    func changedTransaction() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            defaults[.count] = 1
            #expect(defaults.synchronize())
            var seen: [Int] = []
            try defaults.withTransaction { values in
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

    @Test("A transaction that only sets keys doesn't run again after other changes to them")
    func onlySetting() throws {
        try ScratchPlace.withClient { _, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            var times = 0
            defaults.withTransaction { values in
                times += 1
                values[.count] = 1
                onOtherThread { defaults[.count] = 5 }
                #expect(values[.count] == 1)
            }
            #expect(times == 1)
            #expect(defaults[.count] == 1)
        }
    }

    @Test("An update of a key from another layer sets it in the application's domain")
    func otherLayer() throws {
        let defaults = UserDefaults(inMemory: [:])
        defaults.register(defaults: ["count": 7])
        try defaults.update(.count) { $0 += 1 }
        #expect(defaults[.count] == 8)
        #expect(defaults.layers(holding: "count").count == 2)
    }

    @Test("Threads that mix += and update on one key lose nothing")
    func mixed() throws {
        try eightThreads(40) { defaults in
            if defaults[.count] % 2 == 0 {
                defaults[.count] += 1
            } else {
                #expect(throws: Never.self) { try defaults.update(.count) { $0 += 1 } }
            }
        }
    }

    @Test("An observer may wait for another thread that changes a value")
    func observer() async {
        await #expect(processExitsWith: .success) {
            let defaults = UserDefaults(inMemory: ["total": "no number"])
            @Sendable func addElsewhere() { onOtherThread { defaults[.total] += 1 } }
            OwnChanges.observe { edit in if edit.keys == ["count"] { addElsewhere() } }
            UserDefaults.setProblemHandler { _ in addElsewhere() }
            defaults[.count] += 1
            try defaults.update(.count) { $0 += 1 }
            // One increment comes from the handler, which was called for the text in "total".
            #expect(defaults[.total] == 3)
        }
    }

    @Test("A thread that updates continuously doesn't block other threads")
    func fairness() throws {
        let defaults = UserDefaults(inMemory: [:])
        try withBackgroundThread { mayGoOn in
            while mayGoOn() { _ = try? defaults.update(.count) { $0 += 1 } }
        } while: {
            for _ in 0..<1_000 { try defaults.update(.total) { $0 += 1 } }
        }
        #expect(defaults[.total] == 1_000)
    }

    // MARK: Edits in the body

    @Test("A transaction in the body of another becomes part of it, and both are made as one change set")
    func nestedTransaction() async throws {
        let defaults = UserDefaults(inMemory: ["count": 1])
        var changes = defaults.changes(in: .application).makeAsyncIterator()
        var runs = 0
        try defaults.withTransaction { (values) throws(Stop) in
            runs += 1
            if runs > 3 { throw Stop() }
            values[.count] += 1
            defaults.withTransaction { $0[.total] = $0[.count] * 10 }
            #expect(values[.total] == 20)
            // Nothing is set before the outer transaction ends.
            #expect(defaults.object(forKey: "total") == nil && defaults[.count] == 1)
            try? defaults.update(.count) { $0 += 5 }
            values[.count] += 1
        }
        #expect(runs == 1)
        #expect(defaults[.count] == 8 && defaults[.total] == 20)
        guard case .change(let change)? = try await changes.next() else {
            Issue.record("The transaction is no change.")
            return
        }
        #expect(change.changes.map(\.key) == ["count", "total"])
    }

    @Test("A transaction that throws in the body of another sets nothing, and the other goes on")
    func throwingInnerTransaction() {
        let defaults = UserDefaults(inMemory: [:])
        defaults.withTransaction { values in
            values[.count] = 1
            #expect(throws: Stop.self) {
                try defaults.withTransaction { (inner) throws(Stop) in
                    inner[.count] = 2
                    inner[.total] = 2
                    throw Stop()
                }
            }
            #expect(values[.count] == 1 && values[.total] == 0)
        }
        #expect(defaults[.count] == 1 && defaults.object(forKey: "total") == nil)
    }

    @Test("A transaction in the body of one on another store is made on its own")
    func transactionsOnTwoStores() {
        let (first, second) = (UserDefaults(inMemory: [:]), UserDefaults(inMemory: [:]))
        first.withTransaction { outer in
            outer[.count] += 1
            second.withTransaction { inner in
                inner[.count] += 10
                // This one belongs to the outermost transaction.
                first.withTransaction { $0[.count] += 1 }
            }
            #expect(second[.count] == 10)
        }
        #expect(first[.count] == 2)
    }

    /// A call that changes the key "count" without the transaction or update whose body makes the call.
    enum OutsideEdit: CaseIterable {
        case set, assign, increment, remove, reset, resetAll, replaceDomain, singleDomain

        func callAsFunction(_ defaults: UserDefaults) throws {
            switch self {
            case .set: defaults.set(100, forKey: "count")
            case .assign: defaults[.count] = defaults[.count] + 100
            case .increment: defaults[.count] += 100
            case .remove: defaults.removeObject(forKey: "count")
            case .reset: defaults.reset(.count)
            case .resetAll: defaults.resetAll()
            case .replaceDomain:
                defaults.setPersistentDomain(["count": 100], forName: UserDefaults.applicationIdentifier)
            case .singleDomain:
                try defaults.domain(UserDefaults.applicationIdentifier).set(100, forKey: "count")
            }
        }
    }

    @Test(
        "A key that a transaction has read or set can't be changed around it by its body",
        arguments: OutsideEdit.allCases)
    func outsideEdit(_ edit: OutsideEdit) throws {
        let defaults = UserDefaults(inMemory: ["count": 1, "other": 1])
        for reads in [true, false] {
            var runs = 0
            try defaults.withTransaction { values in
                runs += 1
                if runs > 3 { throw Stop() }
                if reads { _ = values[.count] } else { values[.count] = 1 }
                try edit(defaults)
                #expect(defaults[.count] == 1)
                values[.count] += 1
                values[.count] -= 1
            }
            #expect(runs == 1)
            #expect(defaults[.count] == 1)
        }
        // Afterwards, the same call is an ordinary edit.
        try edit(defaults)
        #expect(defaults[.count] != 1)
    }

    @Test("A key can't be changed around its own update by the update's body", arguments: OutsideEdit.allCases)
    func editInUpdate(_ edit: OutsideEdit) throws {
        let defaults = UserDefaults(inMemory: ["count": 1])
        var runs = 0
        try defaults.update(.count) { count in
            runs += 1
            if runs > 3 { throw Stop() }
            try edit(defaults)
            count += 1
        }
        #expect(runs == 1)
        #expect(defaults[.count] == 2)
    }

    @Test("An update of a key in the body of the key's own update throws immediately")
    func updateInUpdate() throws {
        let defaults = UserDefaults(inMemory: [:])
        var runs = 0
        try defaults.update(.count) { count in
            runs += 1
            if runs > 3 { throw Stop() }
            #expect(throws: DefaultsProblem.self) { try defaults.update(.count) { $0 += 10 } }
            try defaults.update(.total) { $0 += 10 }
            count += 1
        }
        #expect(runs == 1)
        #expect(defaults[.count] == 1 && defaults[.total] == 10)
    }

    @Test("A transaction's body may change other keys, which are set immediately")
    func otherKeys() {
        let defaults = UserDefaults(inMemory: [:])
        defaults.withTransaction { values in
            values[.count] += 1
            defaults[.total] += 1
            #expect(defaults[.total] == 1)
        }
        #expect(defaults[.count] == 1 && defaults[.total] == 1)
    }

    @Test("What an observer, a handler or a default edits in a transaction's body isn't part of the transaction")
    func observersInTheBody() async {
        await #expect(processExitsWith: .success) {
            let defaults = UserDefaults(inMemory: ["note": [1]])
            let refused = ForkSafeMutex(0)
            @Sendable func count(_ key: DefaultsKey<Int>) {
                do { try defaults.update(key) { $0 += 1 } } catch { refused.withLock { $0 += 1 } }
            }
            OwnChanges.observe { edit in
                if edit.keys == ["log"] { count(.count) }
                if edit.keys == ["log"] { count(.total) }
                if edit.keys == ["log"] { defaults.withTransaction { _ in defaults.set(50, forKey: "total") } }
            }
            UserDefaults.setProblemHandler { _ in count(DefaultsKey("handled", default: 0)) }
            let computed = DefaultsKey(
                "computed",
                default: {
                    count(DefaultsKey("read", default: 0))
                    return 1
                }())
            #expect(throws: Stop.self) {
                try defaults.withTransaction { values throws(Stop) in
                    values[.total] = 5
                    defaults.set("a text", forKey: "log")
                    _ = values[DefaultsKey("note", default: "")]
                    _ = values[computed]
                    throw Stop()
                }
            }
            // One problem is the text's type, and the other is the refused edit.
            #expect(defaults[.count] == 1 && defaults.integer(forKey: "handled") == 2)
            #expect(defaults.integer(forKey: "read") == 1)
            // The transaction had set this key.
            #expect(defaults.object(forKey: "total") == nil && refused.withLock { $0 } == 1)
        }
    }

    @Test("A handler's own problem goes to standard error instead of to the handler")
    func handlersProblem() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let calls = ForkSafeMutex(0)
            let defaults = UserDefaults(inMemory: [:])
            UserDefaults.setProblemHandler { _ in
                calls.withLock { $0 += 1 }
                defaults.set(Double.nan, forKey: "x\0y")
                defaults.set(Stop(), forKey: "own")
            }
            defaults.set(Stop(), forKey: "first")
            defaults.set(Stop(), forKey: "second")
            #expect(calls.withLock { $0 } == 2)
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors.contains("\"own\"") && !errors.contains("\"first\""))
    }

    @Test("If the system refuses a thread, an update throws, an edit is reported, and both succeed later")
    func refusedThread() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            try ScratchPlace.withClient { place, client in
                if getuid() == 0 {
                    // The limit doesn't apply to root.
                    for path in [place.root, place.preferences, place.preferences + "/ByHost"] {
                        #expect(chown(path, 65_534, 65_534) == 0)
                    }
                    #expect(setgid(65_534) == 0 && setuid(65_534) == 0)
                }
                let defaults = try #require(UserDefaults(suiteName: "org.example.app", in: client))
                let resource = __rlimit_resource_t(__RLIMIT_NPROC.rawValue)
                var limits = rlimit()
                #expect(getrlimit(resource, &limits) == 0)
                let most = limits.rlim_cur
                limits.rlim_cur = 0
                #expect(setrlimit(resource, &limits) == 0)
                defaults[.total] = 5
                #expect(throws: DefaultsProblem.self) { try defaults.update(.count) { $0 += 1 } }
                limits.rlim_cur = most
                #expect(setrlimit(resource, &limits) == 0)
                try defaults.update(.count) { $0 += 1 }
                try defaults.save()
                #expect(try place.read(place.preferences + "/org.example.app.plist") == ["count": 1, "total": 5])
            }
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors.contains("No thread could be started"))
    }

    @Test("A key that a transaction has removed reads as the value in another domain")
    func removedInTheBody() throws {
        let defaults = UserDefaults(inMemory: ["count": 1])
        defaults.register(defaults: ["count": 42])
        try defaults.withTransaction { values throws(any Error) in
            values.removeObject(forKey: "count")
            #expect(values[.count] == 42 && values.propertyListValue(forKey: "count") == 42)
            try defaults.update(.count) { $0 += 1 }
        }
        #expect(defaults[.count] == 43)
    }

    @Test("A change around a transaction is reported with the key and the remedy")
    func reportedEdit() async {
        await #expect(processExitsWith: .success) {
            let problems = ForkSafeMutex<[String]>([])
            UserDefaults.setProblemHandler { problem in problems.withLock { $0.append(problem.description) } }
            let defaults = UserDefaults(inMemory: [:])
            defaults.withTransaction { values in
                _ = values[.count]
                defaults.set(1, forKey: "count")
            }
            let reported = problems.withLock { $0 }
            #expect(reported.count == 1)
            #expect(reported.first?.contains("\"count\"") == true && reported.first?.contains("argument") == true)
        }
    }

    // MARK: Several stores

    @Test("Threads that change keys of two stores in opposite orders don't wait for each other forever")
    func twoStores() async {
        // A deadlock must end this test, so it runs in a process of its own.
        await #expect(processExitsWith: .success) {
            alarm(60)
            let (first, second) = (UserDefaults(inMemory: ["count": 1]), UserDefaults(inMemory: ["count": 2]))
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                for _ in 0..<2_000 {
                    switch thread {
                    case 0: swap(&first[.count], &second[.count])
                    case 1: swap(&second[.count], &first[.count])
                    case 2: _ = try? first.update(.total) { _ in try second.update(.total) { $0 += 1 } }
                    default: _ = try? second.update(.total) { _ in try first.update(.total) { $0 += 1 } }
                    }
                }
            }
            #expect([first[.count], second[.count]].sorted() == [1, 2])
        }
    }

    @Test("While one store saves a change, changes to another store may begin, but not to the same one")
    func savingStore() {
        let lock = ModificationLock()
        final class Store: Sendable {}
        let (first, second) = (Store(), Store())
        let order = ForkSafeMutex<[String]>([])
        let hasChangedFirst = DispatchSemaphore(value: 0)
        lock.lock(for: first)
        lock.unlock(for: first) {
            Thread.detachNewThread {
                lock.lock(for: first)
                order.withLock { $0.append("first") }
                lock.unlock()
                hasChangedFirst.signal()
            }
            onOtherThread {
                lock.lock(for: second)
                order.withLock { $0.append("second") }
                lock.unlock()
            }
            order.withLock { $0.append("saved") }
        }
        hasChangedFirst.wait()
        #expect(order.withLock { $0 } == ["second", "saved", "first"])
    }

    @Test("A change that isn't saved overtakes one of the same store that is being saved and can be repeated")
    func overtaking() {
        let lock = ModificationLock()
        final class Store: Sendable {}
        let store = Store()
        lock.lock(for: store)
        lock.unlock(for: store, isOvertakable: true) {
            onOtherThread {
                #expect(lock.lock(for: store, overtakingAfter: 1))
                // Its holder may begin any other change.
                lock.lock(for: store)
                lock.unlock()
                lock.unlock()
            }
        }
        let isSaved = ForkSafeMutex(false)
        lock.lock(for: store)
        lock.unlock(for: store) {
            let hasStarted = DetachedThread.start {
                #expect(!lock.lock(for: store, overtakingAfter: 1))
                #expect(isSaved.withLock { $0 })
                lock.unlock()
            }
            #expect(hasStarted && eventually { lock.state.withLock { $0.waiting.contains(where: \.isOvertaking) } })
            isSaved.withLock { $0 = true }
        }
        // The lock is fair.
        #expect(!lock.lock(for: store, overtakingAfter: 1))
        lock.unlock()
    }

    @Test("Threads that mix += and transactions on one key lose nothing")
    func mixedTransactions() throws {
        try eightThreads(40) { defaults in
            if defaults[.count] % 2 == 0 {
                defaults[.count] += 1
            } else {
                defaults.withTransaction { $0[.count] += 1 }
            }
        }
    }
}
