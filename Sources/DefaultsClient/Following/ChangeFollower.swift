package import DefaultsCore
import Linux

/// The bounded queue of an iteration that follows change sets; on overflow, a gap replaces its contents.
package final class ChangeFollower: Sendable {
    /// An element of the queue.
    package enum Item: Sendable {
        case record(LogRecord, Cursor, isOwn: Bool)
        case gap
    }

    package let wakeUp = WakeUp()
    package let names: Set<DomainName>
    /// The pending items; nothing is called under the lock, which comes after the client's in the lock order.
    private let queue = ForkSafeMutex<[Item]>([])

    /// The maximum number of pending change sets; one more replaces them all with a gap.
    package static let capacity = 1_024

    package init(names: Set<DomainName>) {
        self.names = names
    }

    package func wants(_ domain: Domain) -> Bool { names.contains(domain.name) }

    package func append(_ record: LogRecord, at cursor: Cursor, isOwn: Bool) {
        queue.withLock { waiting in
            if waiting.count >= Self.capacity { waiting = [.gap] }
            waiting.append(.record(record, cursor, isOwn: isOwn))
        }
    }

    package func appendGap() {
        queue.withLock { $0 = [.gap] }
    }

    /// Removes and returns the pending items.
    package func dequeue() -> [Item] {
        queue.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
