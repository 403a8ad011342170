import DefaultsCore
import DefaultsKit
import Foundation
import Synchronization

/// A thread that follows all changes of the soak's domain.
final class Subscriber: Sendable {
    private let history: StreamHistory
    private let mustEnd = Atomic(false)
    private let hasBegun = DispatchSemaphore(value: 0)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ history: StreamHistory) {
        self.history = history
    }

    /// Subscribes at the agent that these variables lead to, and follows.
    func start(_ environment: [String: String]) {
        Thread.detachNewThread { [self] in
            do {
                let connection = try SoakPlace.connect(environment)
                _ = try connection.subscribe(
                    .snapshot, filter: SubscriptionFilter(domains: [GlobPattern.exactly(SoakPlace.domain)]),
                    mode: .everything)
                hasBegun.signal()
                while !mustEnd.load(ordering: .relaxed) {
                    if let event = try connection.nextEvent(within: 100) { history.take(event) }
                }
            } catch {
                hasBegun.signal()
                history.fail("\(error)")
            }
            hasEnded.signal()
        }
        hasBegun.wait()
    }

    /// Ends the thread.
    func stop() {
        mustEnd.store(true, ordering: .relaxed)
        hasEnded.wait()
    }
}
