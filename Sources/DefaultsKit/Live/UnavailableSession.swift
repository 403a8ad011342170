import DefaultsCore
import Glibc

/// The session of a process that has no preferences directory: values live as long as it does, and it is told so.
final class UnavailableSession: Session {
    let system = SystemDirectories.none
    private let reason: DefaultsError
    private let log = ChangeLog(capacity: .init(records: 1))
    private var events: [SessionEvent]

    init(_ reason: DefaultsError) {
        self.reason = reason
        self.events = [.trouble(reason)]
    }

    var awaited: pollfd { pollfd(fd: -1, events: 0, revents: 0) }
    var deadline: MonotonicTime? { events.isEmpty ? nil : .now() }

    func subscribe(to name: DomainName, _ start: Subscription.Start) {
        events.append(.stream(name, .bookmark(log.cursor)))
    }

    // Neither accepted nor refused: the value stays in force in this process.
    func edit(_ request: EditRequest) {}

    func synchronize(_ domains: [Domain], _ number: UInt64) {
        events.append(.synchronized(number, failures: [reason]))
    }

    func look() {}

    func take() -> [SessionEvent] {
        defer { events = [] }
        return events
    }

    func end() {}
}
