import DefaultsCore
import Glibc
import Linux
import NIOCore

/// The service manager to notify of the agent's state: systemd, or any other that sets `NOTIFY_SOCKET`.
///
/// The protocol is `man 3 sd_notify`: a datagram of `KEY=value` lines.
///
/// If the manager's queue is full, or no socket can be created, the state is sent again from a timer until the manager
/// has it or a newer one replaces it. Nothing waits for that, not even the end of the agent: the manager sees the
/// process exit, and an agent that restarts in place reports that it is ready again.
final class ServiceManager: Sendable {
    private let address: UnixAddress?
    private let eventLoop: any EventLoop
    /// The lock is held while a message is sent, which doesn't block.
    private let state = ForkSafeMutex(State())

    private struct State {
        /// The newest message, until it is sent.
        var unsent: String?
        var hasTimer = false
    }

    private static let interval = TimeAmount.milliseconds(100)

    init(_ environment: Environment, on eventLoop: any EventLoop) {
        address = environment["NOTIFY_SOCKET"].flatMap(UnixAddress.init(notifySocket:))
        self.eventLoop = eventLoop
    }

    /// Notifies the manager of a new state, now or as soon as possible.
    ///
    /// It isn't an error if the manager is missing.
    func notify(_ message: String) {
        state.withLock { $0.unsent = message }
        sendAgain()
    }

    /// Sends the newest message now if it hasn't been sent yet.
    func sendAgain() {
        guard let address else { return }
        let needsTimer = state.withLock { state in
            guard let message = state.unsent else { return false }
            if Self.send(message, to: address) {
                state.unsent = nil
                return false
            }
            defer { state.hasTimer = true }
            return !state.hasTimer
        }
        guard needsTimer else { return }
        eventLoop.scheduleTask(in: Self.interval) {
            self.state.withLock { $0.hasTimer = false }
            self.sendAgain()
        }
    }

    /// Sends a message without blocking.
    ///
    /// - Returns: False if it should be sent again later.
    private static func send(_ message: String, to address: UnixAddress) -> Bool {
        let bytes = Array(message.utf8)
        do throws(SystemCall.Failure) {
            let socket = try UnixSocket.open(SOCK_DGRAM)
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            try SystemCall.run { address.with { sendto(socket.number, bytes, bytes.count, flags, $0, $1) } }
            return true
        } catch {
            return ![EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.number)
        }
    }
}
