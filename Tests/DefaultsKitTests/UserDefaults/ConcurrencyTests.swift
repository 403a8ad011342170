import DefaultsCore
import Dispatch
import ProgramSupport
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var number: Self { Self("number", default: 0) }
}

@Suite("UserDefaults, used by many,", .serialized, .timeLimit(.minutes(2)))
struct ConcurrencyTests {
    /// Runs a body on several threads at once.
    private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    private func exercise(_ defaults: UserDefaults, rounds: Int) {
        onThreads(8) { thread in
            for round in 0..<rounds {
                defaults.set(round, forKey: "own \(thread)")
                #expect(defaults.integer(forKey: "own \(thread)") == round)
                defaults.transaction { values in
                    values.set(.integer(Int64(round)), forKey: "first")
                    values.set(.integer(Int64(round)), forKey: "second")
                }
                let pair = defaults.values(forKeys: ["first", "second"])
                #expect(pair[0] == pair[1])
                switch round % 8 {
                case 0: defaults.addSuite(named: "suite \(thread)")
                case 1: defaults.register(defaults: ["registered": round])
                case 2: _ = defaults.dictionaryRepresentation()
                case 3: defaults.removeObject(forKey: "other \(thread)")
                case 4: defaults.removeSuite(named: "suite \(thread)")
                case 5: _ = defaults.explain("first")
                case 6: defaults.setVolatileDomain(["v": round], forName: "volatile \(thread)")
                default: defaults.set("x", forKey: "other \(thread)")
                }
            }
        }
        #expect(defaults.synchronize())
        for thread in 0..<8 { #expect(defaults.integer(forKey: "own \(thread)") == rounds - 1) }
    }

    @Test("keeps each thread's last value, in memory")
    func inMemory() {
        exercise(UserDefaults(inMemory: [:]), rounds: 200)
    }

    @Test("keeps each thread's last value, in files")
    func inFiles() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: live))
            exercise(defaults, rounds: 100)
            let stored = try place.read("\(place.preferences)/app.plist")
            #expect(stored == defaults.persistentDomain(forName: "app").map { UserDefaults.stored($0) })
        }
    }

    @Test("lets go of instances and of all that they held")
    func release() throws {
        final class Weak {
            weak var list: SearchList?
            init(_ list: SearchList) { self.list = list }
        }
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            var held: [Weak] = []
            for number in 0..<500 {
                let defaults = try #require(UserDefaults(suiteName: "app", in: live))
                defaults.addSuite(named: "suite \(number % 5)")
                defaults.set(number, forKey: "key")
                _ = defaults[.number]
                _ = defaults.updates(of: .number).makeAsyncIterator()
                _ = defaults.changes(in: .searchList).makeAsyncIterator()
                held.append(Weak(defaults.list))
            }
            #expect(eventually { held.allSatisfy { $0.list == nil } })
            #expect(live.isObserved == false)
        }
    }

    @Test("may be dropped while others read, and as the last one of a stream")
    func dropping() throws {
        try ScratchPlace.with { place in
            let live = try place.live()
            defer { live.close() }
            onThreads(8) { thread in
                for round in 0..<100 {
                    let defaults = UserDefaults(suiteName: "app \(round % 3)", in: live)
                    defaults?.set(round, forKey: "key \(thread)")
                    #expect(defaults?.integer(forKey: "key \(thread)") == round)
                }
            }
        }
    }

    @Test("tells of problems where nothing is waited for: who is told may read, set and synchronize")
    func problemHandler() throws {
        let told = DispatchSemaphore(value: 0)
        let other = LiveDomains(.failure(DefaultsError(.directory, "There is no directory for this test.")))
        defer { other.close() }
        let defaults = try #require(UserDefaults(suiteName: "app", in: other))
        UserDefaults.onProblem { problem in
            guard problem.description.hasPrefix("There is no directory for this test. Until") else { return }
            // The second suite isn't here yet: the library's thread must be free to fetch it.
            defaults.addSuite(named: "not used before")
            defaults.set(1, forKey: "key")
            told.signal()
        }
        defer { UserDefaults.onProblem(nil) }
        defaults.set("x", forKey: "a")
        #expect(told.wait(timeout: .now() + 20) == .success)
        #expect(defaults.string(forKey: "a") == "x")
        #expect(defaults.integer(forKey: "key") == 1)
        #expect(defaults.synchronize() == false)
    }

    @Test("tells of a value that can't be stored on the thread that set it")
    func refusedValue() {
        struct Mine {}
        let problems = Mutex<[DefaultsProblem]>([])
        let defaults = UserDefaults(inMemory: [:])
        UserDefaults.onProblem { problem in
            defaults.set("told", forKey: "told")
            problems.withLock { $0.append(problem) }
        }
        defer { UserDefaults.onProblem(nil) }
        defaults.set(["a": [Mine()]], forKey: "refused key")
        #expect(defaults.string(forKey: "told") == "told")
        let own = problems.withLock { $0 }.filter { $0.description.contains("refused key") }
        #expect(own.map(\.matter) == [.value])
    }
}
