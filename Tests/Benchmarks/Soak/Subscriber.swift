import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import ProgramSupport
import Synchronization

/// A thread that follows all changes to the soak's domain.
final class Subscriber: Sendable {
    /// The received events.
    let history: StreamHistory
    private let filter: SubscriptionFilter
    private let mustEnd = Atomic(false)
    private let hasBegun = DispatchSemaphore(value: 0)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ kind: SoakKind) throws {
        filter = SubscriptionFilter(domains: [GlobPattern.exactly(SoakEnvironment.domain)])
        history = StreamHistory(filter: filter, mayBeTorn: kind.mayTear)
    }

    /// Subscribes to the agent found through the given environment variables, and starts to follow changes.
    func start(_ environment: [String: String]) {
        Thread.detachNewThread { [self] in
            do {
                let connection = try AgentChild.connect(environment)
                _ = try connection.subscribe(.snapshot, filter: filter, mode: .everything)
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

    /// Returns the records that a subscriber with the same filter receives between two cursors.
    func records(
        after place: Cursor, upTo end: Cursor, from environment: [String: String]
    ) throws -> [LogRecord] {
        try AgentChild.connect(environment).records(after: place, upTo: end, matching: filter)
    }

    /// Stops the thread.
    func stop() {
        mustEnd.store(true, ordering: .relaxed)
        hasEnded.wait()
    }
}
