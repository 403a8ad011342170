import DefaultsKit
import Foundation
import PropertyList
import Synchronization

/// The observers of a process of `random`.
final class RandomObserver: Sendable {
    private let defaults: Defaults
    /// The last value of the count, and of the left one of the two keys, by stream.
    private let last = Mutex<[String: Int]>([:])

    init(_ defaults: Defaults) { self.defaults = defaults }

    func run(_ work: RandomWork) {
        let tasks = [
            follow { [self] in for await count in defaults.updates(of: RandomApp.count) { note("updates", count) } },
            follow { [self] in
                for await (left, right) in defaults.updates(of: RandomApp.left, RandomApp.right) {
                    check(left, right, "updates of two keys")
                }
            },
            follow { [self] in
                for await snapshot in defaults.snapshots() {
                    check(snapshot[RandomApp.left], snapshot[RandomApp.right], "snapshots")
                }
            },
            follow { [self] in
                var former: Int?
                for await change in defaults.changes(of: RandomApp.count) {
                    if let former, former != change.oldValue {
                        RandomApp.fault("A change from \(change.oldValue) came after one to \(former).")
                    }
                    former = change.newValue
                    note("changes", change.newValue)
                }
            },
            follow { [self] in await replay() },
        ]
        // The process that started this one prints the last values once all others have ended.
        guard let numbers = readLine()?.split(separator: " ").compactMap({ Int($0) }), numbers.count == 2 else {
            return
        }
        let end = Date.now + 60
        let expected = [
            "updates": numbers[0], "changes": numbers[0], "change sets": numbers[0],
            "updates of two keys": numbers[1], "snapshots": numbers[1],
        ]
        while !last.withLock({ last in last.allSatisfy { expected[$0.key] == $0.value } }) {
            guard Date.now < end else {
                RandomApp.fault("The streams ended with \(last.withLock { $0 }) instead of \(expected).")
                break
            }
            Thread.sleep(forTimeInterval: 0.01)
        }
        for task in tasks { task.cancel() }
        work.end()
    }

    private func follow(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> { Task { await body() } }

    private func note(_ stream: String, _ value: Int) { last.withLock { $0[stream] = value } }

    private func forget(_ stream: String) { last.withLock { $0[stream] = nil } }

    private func check(_ left: Int, _ right: Int, _ stream: String) {
        if left + right != 0 { RandomApp.fault("The sum of \(left) and \(right) isn't zero in \(stream).") }
        note(stream, left)
    }

    /// Replays the change sets.
    private func replay() async {
        var former: PropertyListValue??
        do {
            for try await event in defaults.changes(in: .application) {
                // After a gap, the value isn't known before the next change.
                if case .gap = event {
                    former = nil
                    forget("change sets")
                }
                guard case .change(let changeSet) = event else { continue }
                for change in changeSet.changes where change.key == RandomApp.count.name {
                    if let former, former != change.oldValue {
                        RandomApp.fault(
                            "A change set from \(change.oldValue as Any) came after one to \(former as Any).")
                    }
                    former = .some(change.newValue)
                    if case .integer(let count)? = change.newValue { note("change sets", Int(count)) }
                }
            }
        } catch {
            RandomApp.fault("\(error)")
        }
    }
}
