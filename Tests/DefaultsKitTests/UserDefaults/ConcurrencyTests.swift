import DefaultsCore
import Dispatch
import Linux
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var number: Self { Self("number", default: 0) }
}

@Suite("Concurrent use of UserDefaults", .serialized, .timeLimit(.minutes(2)))
struct ConcurrencyTests {
    /// Runs a body concurrently on several threads.
    private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    private func exercise(_ defaults: UserDefaults, rounds: Int) {
        onThreads(8) { thread in
            for round in 0..<rounds {
                defaults.set(round, forKey: "own \(thread)")
                #expect(defaults.integer(forKey: "own \(thread)") == round)
                defaults.withTransaction { values in
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
                case 5: _ = defaults.layers(holding: "first")
                case 6: defaults.setVolatileDomain(["v": round], forName: "volatile \(thread)")
                default: defaults.set("x", forKey: "other \(thread)")
                }
            }
        }
        #expect(defaults.synchronize())
        for thread in 0..<8 { #expect(defaults.integer(forKey: "own \(thread)") == rounds - 1) }
    }

    @Test("Each thread's last value is kept in memory")
    func inMemory() {
        exercise(UserDefaults(inMemory: [:]), rounds: 200)
    }

    @Test("Each thread's last value is kept in files")
    func inFiles() throws {
        try ScratchPlace.withClient { place, client in
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            exercise(defaults, rounds: 100)
            let stored = try place.read("\(place.preferences)/app.plist")
            #expect(stored == defaults.persistentDomain(forName: "app").map { UserDefaults.stored($0) })
        }
    }

    @Test("Released instances release everything that they held")
    func release() throws {
        final class Weak {
            weak var list: SearchList?
            init(_ list: SearchList) { self.list = list }
        }
        try ScratchPlace.withClient { _, client in
            var held: [Weak] = []
            for number in 0..<500 {
                let defaults = try #require(UserDefaults(suiteName: "app", in: client))
                defaults.addSuite(named: "suite \(number % 5)")
                defaults.set(number, forKey: "key")
                _ = defaults[.number]
                _ = defaults.updates(of: .number).makeAsyncIterator()
                _ = defaults.changes(in: .searchList).makeAsyncIterator()
                held.append(Weak(defaults.list))
            }
            #expect(eventually { held.allSatisfy { $0.list == nil } })
            #expect(client.isObserved == false)
        }
    }

    @Test("Instances may be released while other threads read")
    func dropping() throws {
        try ScratchPlace.withClient { _, client in
            onThreads(8) { thread in
                for round in 0..<100 {
                    let defaults = UserDefaults(suiteName: "app \(round % 3)", in: client)
                    defaults?.set(round, forKey: "key \(thread)")
                    #expect(defaults?.integer(forKey: "key \(thread)") == round)
                }
            }
        }
    }

    @Test("A set counts even if the value is still the same here, since another process may have changed it")
    func statement() throws {
        try ScratchPlace.with { place in
            let path = place.preferences + "/app.plist"
            try RawFile.write("{ k = 1; }", to: path)
            let client = try place.client()
            defer { client.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: client))
            #expect(defaults.string(forKey: "k") == "1" && defaults.string(forKey: "absent") == nil)
            for round in 2..<7 {
                try RawFile.replace(path, with: Array("{ k = \(round); absent = \(round); }".utf8))
                defaults.set("1", forKey: "k")
                defaults.removeObject(forKey: "absent")
                #expect(defaults.synchronize())
                #expect(try place.read(path) == ["k": "1"])
            }
        }
    }

    @Test("A problem handler may read, set and synchronize")
    func problemHandler() throws {
        try ScratchPlace.with { place in
            try RawFile.write("neither XML nor { else", to: place.preferences + "/app.plist")
            let told = DispatchSemaphore(value: 0)
            let other = try place.client()
            defer { other.close() }
            let defaults = try #require(UserDefaults(suiteName: "app", in: other))
            UserDefaults.setProblemHandler { problem in
                guard problem.code == .file, problem.description.contains(place.preferences) else { return }
                // The second suite isn't loaded yet, so the library's thread must be free to load it.
                defaults.addSuite(named: "not used before")
                defaults.set(1, forKey: "key")
                defaults.synchronize()
                told.signal()
            }
            defer { UserDefaults.setProblemHandler(nil) }
            #expect(defaults.string(forKey: "a") == nil)
            #expect(told.wait(timeout: .now() + 60) == .success)
            #expect(defaults.integer(forKey: "key") == 1)
        }
    }

    @Test("A value that can't be stored is reported on the thread that set it")
    func refusedValue() {
        struct Mine {}
        let problems = ForkSafeMutex<[DefaultsProblem]>([])
        let defaults = UserDefaults(inMemory: [:])
        UserDefaults.setProblemHandler { problem in
            defaults.set("told", forKey: "told")
            problems.withLock { $0.append(problem) }
        }
        defer { UserDefaults.setProblemHandler(nil) }
        defaults.set(["a": [Mine()]], forKey: "refused key")
        #expect(defaults.string(forKey: "told") == "told")
        let own = problems.withLock { $0 }.filter { $0.description.contains("refused key") }
        #expect(own.map(\.code) == [.value])
    }
}
