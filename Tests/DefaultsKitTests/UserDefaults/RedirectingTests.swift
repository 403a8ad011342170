import Linux
import PropertyList
import Synchronization
import TestSupport
import Testing

@testable import DefaultsClient
@testable import DefaultsKit

/// A type that uses the standard preferences, like most of an app.
private struct Settings {
    @DefaultsStored("redirected-size") var size = 12
}

@Suite("Standard preferences redirected for a task", .timeLimit(.minutes(1)))
struct RedirectingTests {
    private let settings = Settings()

    @Test("In the body, the standard preferences and stored properties are others, also in the tasks that it starts")
    func redirected() async throws {
        let defaults = UserDefaults(inMemory: ["redirected-size": 20])
        let key = DefaultsKey("theme", default: "light", domain: "org.example.editor")
        try await UserDefaults.withStandard(defaults) {
            #expect(UserDefaults.standard === defaults && settings.size == 20)
            settings.size += 1
            UserDefaults.standard[key] = "dark"
            async let seen = Settings().size
            #expect(await seen == 21)
            let standard = try await defaults.update(DefaultsKey("count", default: 0)) { count in
                count += 1
                return UserDefaults.standard
            }
            #expect(standard === defaults)
            var updates = settings.$size.updates.makeAsyncIterator()
            #expect(await updates.next() == 21)
        }
        #expect(defaults.persistentDomain(forName: "org.example.editor") as? [String: String] == ["theme": "dark"])
        #expect(UserDefaults.standard !== defaults && Settings().size == 12)
    }

    @Test("A task's handler gets the problems of its calls, and an inner scope without one leaves it in place")
    func handler() async {
        let problems = ForkSafeMutex<[String]>([])
        let defaults = UserDefaults(inMemory: [:])
        UserDefaults.withStandard(
            defaults, reportingTo: { problem in problems.withLock { $0.append("\(problem.code)") } }
        ) {
            UserDefaults.standard.set(Settings(), forKey: "key")
            UserDefaults.withStandard(UserDefaults(inMemory: [:])) {
                UserDefaults.standard.set(Settings(), forKey: "key")
            }
        }
        #expect(problems.withLock { $0 } == ["value", "value"])
    }
}
