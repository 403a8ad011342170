import Dispatch
import Observation
import PropertyList
import Testing

@testable import DefaultsKit

extension DefaultsKey where Value == Int {
    fileprivate static var width: Self { Self("width", default: 1) }
    fileprivate static var height: Self { Self("height", default: 2) }
}

@Suite("Observation of keys", .timeLimit(.minutes(10)))
struct ObservationTests {
    private let defaults = UserDefaults(inMemory: [:])

    @Test("A change to an observed key is reported afterwards, and the handler may read and set values")
    func tracking() async {
        let (values, value) = AsyncStream.makeStream(of: Int.self)
        withObservationTracking {
            _ = defaults[.width]
        } onChange: { [defaults] in
            defaults[.height] = 7
            value.yield(defaults[.width])
        }
        defaults[.width] = 5
        for await value in values {
            #expect(value == 5)
            break
        }
        #expect(defaults[.height] == 7)
    }

    @Test("Observation reports neither changes to other keys nor an unchanged value")
    func others() async {
        let (changes, change) = AsyncStream.makeStream(of: Int.self)
        withObservationTracking {
            _ = defaults[.width]
        } onChange: { [defaults] in
            change.yield(defaults[.width])
        }
        defaults[.height] = 5
        defaults[.width] = 1
        #expect(defaults.propertyListValue(forKey: "width") == 1)
        defaults[.width] = 3
        // The default applied before it was stored. Storing it is a change to the stored value, too.
        for await value in changes {
            #expect(value == 3 || value == 1)
            break
        }
    }

    @Test("Observation reports a change in any layer")
    func layers() async {
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            _ = defaults[.width]
        } onChange: {
            change.yield()
        }
        defaults.register(defaults: ["width": 9])
        for await _ in changes { break }
        #expect(defaults[.width] == 9)
    }

    // This blocks a thread instead of suspending thousands of times, because each time it would wait in line behind the
    // other tests. The thread is its own, since the delivery of changes needs one of the few in the tasks' pool.
    @Test("Observation misses no change, even one while tracking begins")
    func changeWhileTracking() async {
        let missed = await withCheckedContinuation { continuation in
            DispatchQueue(label: "observer").async { continuation.resume(returning: firstMissedChange(in: 1...5_000)) }
        }
        #expect(missed == nil)
    }

    /// Changes a key in each round while tracking begins; returns the first round whose change isn't reported.
    private func firstMissedChange(in rounds: ClosedRange<Int>) -> Int? {
        let writer = DispatchQueue(label: "writer")
        return rounds.first { round in
            let change = DispatchSemaphore(value: 0)
            writer.async { [defaults] in defaults[.width] = round + 1 }
            var seen = 0
            withObservationTracking {
                seen = defaults[.width]
            } onChange: {
                change.signal()
            }
            writer.sync {}
            return seen != round + 1 && change.wait(timeout: .now() + 300) == .timedOut
        }
    }

    @Test("Observations of several keys deliver their combined values")
    func observations() async {
        guard #available(macOS 26, *) else { return }
        let sums = Observations { [defaults] in defaults[.width] + defaults[.height] }
        var seen: [Int] = []
        for await sum in sums {
            seen.append(sum)
            if sum == 30 { break }
            if sum == 3 { defaults[.width] = 10 }
            if sum == 12 { defaults[.height] = 20 }
        }
        #expect(seen.first == 3)
        #expect(seen.last == 30)
    }
}
