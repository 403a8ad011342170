import Foundation
import Glibc
import Synchronization

/// Connections that two threads read as fast as they can, until an end marker arrives.
///
/// Unchecked `Sendable` is safe because the object never changes, and only one of the two threads reads each
/// connection.
final class Receivers: @unchecked Sendable {
    private let sockets: [PeerSocket]
    private let group = DispatchGroup()

    init(_ sockets: [PeerSocket]) { self.sockets = sockets }

    var count: Int { sockets.count }

    /// Starts reading.
    func await(_ end: String) {
        let end = Array(end.utf8)
        for half in 0..<2 {
            group.enter()
            Thread.detachNewThread { [self] in
                read(Array(sockets.indices.filter { $0 % 2 == half }), upTo: end)
                group.leave()
            }
        }
    }

    /// Waits until all connections have received the end marker.
    func wait() throws {
        guard group.wait(timeout: .now() + 120) == .success else {
            throw BenchFailure("The subscribers did not receive the end.")
        }
    }

    private func read(_ indices: [Int], upTo end: [UInt8]) {
        var waiting = indices.map { pollfd(fd: sockets[$0].descriptor, events: Int16(POLLIN), revents: 0) }
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        // The end marker may arrive in two pieces, and be followed by other data.
        var tails = [[UInt8]](repeating: [], count: waiting.count)
        while waiting.contains(where: { $0.fd >= 0 }) {
            guard poll(&waiting, nfds_t(waiting.count), -1) > 0 else { continue }
            for index in waiting.indices where waiting[index].revents != 0 {
                let count = Glibc.read(waiting[index].fd, &buffer, buffer.count)
                let tail = tails[index] + buffer[..<max(count, 0)].suffix(1024)
                let isEnd = tail.contains(end)
                tails[index] = tail.suffix(1024)
                if count <= 0 || isEnd { waiting[index].fd = -1 }
            }
        }
    }
}
