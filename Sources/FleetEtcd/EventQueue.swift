#if FleetEtcd
import Fleet
import Glibc
import Linux

/// The events of a watch that haven't been received yet.
final class EventQueue: Sendable {
    private struct State {
        var events: [RegisterEvent] = []
        var registers = 0
        var end: RegisterFailure?
    }

    /// The number of registers after which a slow receiver gets a gap instead.
    private static let maximum = 20_000

    private let state = ForkSafeMutex(State())
    /// Readable while there are events, or the end.
    let descriptor = EventDescriptor.open()

    deinit { close(descriptor) }

    func add(_ message: Etcdserverpb_WatchResponse) throws {
        if message.compactRevision > 0 { return add(.gap, count: 0) }
        if message.canceled { throw RegisterFailure.unavailable("etcd has ended the watch: \(message.cancelReason)") }
        if message.events.isEmpty { return }
        var (changed, removed): ([String: Register], Set<String>) = ([:], [])
        for event in message.events {
            let register = Register(event.kv)
            // Event.DELETE.
            if event.type == 1 {
                changed[register.name] = nil
                removed.insert(register.name)
            } else {
                changed[register.name] = register
                removed.remove(register.name)
            }
        }
        let revision = message.events.map(\.kv.modRevision).max() ?? message.header.revision
        add(
            .changes(Array(changed.values), removed: Array(removed), revision: revision),
            count: message.events.count)
    }

    private func add(_ event: RegisterEvent, count: Int) {
        state.withLock { state in
            if state.registers + count > Self.maximum { (state.events, state.registers) = ([.gap], 0) }
            state.events.append(event)
            state.registers += count
        }
        EventDescriptor.signal(descriptor)
    }

    func end(_ failure: RegisterFailure) {
        state.withLock { $0.end = failure }
        EventDescriptor.signal(descriptor)
    }

    func next(within milliseconds: Int32) throws(RegisterFailure) -> RegisterEvent? {
        let end = MonotonicTime.now() + Int64(milliseconds)
        while true {
            EventDescriptor.reset(descriptor)
            let next = state.withLock { state -> Result<RegisterEvent, RegisterFailure>? in
                if state.events.isEmpty { return state.end.map { .failure($0) } }
                let event = state.events.removeFirst()
                if case .changes(let changed, let removed, _) = event {
                    state.registers = max(0, state.registers - changed.count - removed.count)
                }
                return .success(event)
            }
            if let next { return try next.get() }
            guard end > .now() else { return nil }
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&polled, 1, end.millisecondsLeft)
        }
    }
}
#endif
