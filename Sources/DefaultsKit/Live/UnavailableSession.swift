import DefaultsCore
import Glibc

/// The session of a process that has no preferences directory: values live as long as it does, and it is told so.
final class UnavailableSession: Session {
    let system = SystemDirectories.none
    private let reason: DefaultsError
    private var log = ChangeLog(capacity: .init(records: 1))
    private var events: [SessionEvent]

    init(_ reason: DefaultsError) {
        self.reason = DefaultsError(
            reason.code, "\(reason) Until this program is started again, it reads no preferences, and saves none.",
            errno: reason.errno)
        self.events = [.trouble(self.reason)]
    }

    var awaited: pollfd { pollfd(fd: -1, events: 0, revents: 0) }
    var deadline: MonotonicTime? { events.isEmpty ? nil : .now() }

    func begin(_ start: SessionStart) { follow(start.resumed + start.followed) }

    func follow(_ names: [DomainName]) {
        events += names.map { .stream($0, .bookmark(log.cursor)) }
    }

    func leave(_ names: [DomainName]) {}

    // The value is in force in this process, and there is nowhere to save it.
    func edit(_ request: EditRequest) {
        guard let number = request.identity?.number else { return }
        let changes = request.values.map { KeyChange(key: $0, old: nil, new: $1) }
        let changeSet = ChangeSet(
            domain: request.domain, source: request.writer, changes: changes, edit: request.identity)
        let record = log.append(.change(changeSet), at: request.time)
        events += [
            .stream(request.domain.name, .record(record, cursor: log.cursor)), .accepted(number),
            .saved(request.domain, number),
        ]
    }

    func commit(_ request: EditRequest) {
        events.append(.committed(request.identity?.number ?? 0, reason))
    }

    func synchronize(_ domains: [Domain], _ number: UInt64) {
        events.append(.synchronized(number, failures: [reason]))
    }

    func look() {}

    func handOver() {}

    func take() -> [SessionEvent] {
        defer { events = [] }
        return events
    }

    func end() {}
}
