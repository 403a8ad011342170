import DefaultsCore
import Linux

/// Someone who follows change sets: what waits for them, up to a bound, and then that they have missed some.
final class ChangeFollower: Sendable {
    /// What a follower is handed.
    enum Item: Sendable {
        case record(LogRecord, Cursor, isOwn: Bool)
        case gap
    }

    let wakeUp = WakeUp()
    let names: Set<DomainName>
    /// What waits; nothing is called under its lock, which is taken after `LiveDomains`'.
    private let waiting = ForkSafeMutex<[Item]>([])

    /// So many change sets wait at most; after them, all that do are one gap.
    static let capacity = 1_024

    init(names: Set<DomainName>) {
        self.names = names
    }

    func wants(_ domain: Domain) -> Bool { names.contains(domain.name) }

    func append(_ record: LogRecord, _ cursor: Cursor, isOwn: Bool) {
        waiting.withLock { waiting in
            if waiting.count >= Self.capacity { waiting = [.gap] }
            waiting.append(.record(record, cursor, isOwn: isOwn))
        }
    }

    func appendGap() {
        waiting.withLock { $0 = [.gap] }
    }

    /// Takes what waits.
    func take() -> [Item] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
