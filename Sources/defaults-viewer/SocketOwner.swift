#if Viewer
import Glibc
import Linux
import NIOCore

/// The user at the other end of a connection on the loopback interface.
enum SocketOwner {
    /// Returns whether this user has opened the connection, as the kernel's tables of sockets tell (`man 5 proc`,
    /// `/proc/net/tcp`).
    static func isThisUser(ofPeer channel: any Channel) -> Bool {
        guard let peer = channel.remoteAddress?.port, let own = channel.localAddress?.port else { return false }
        // The peer's own socket has the addresses the other way round, and may be one for IPv6.
        let mapped = "0000000000000000FFFF0000"
        return [("tcp", loopback), ("tcp6", mapped + loopback)].contains { table, address in
            let addresses = "\(address):\(hexadecimal(peer)) \(address):\(hexadecimal(own)) "
            return user(of: addresses, in: read("/proc/self/net/\(table)")) == "\(getuid())"
        }
    }

    /// Returns the user ID of the socket with some addresses.
    private static func user(of addresses: String, in table: [UInt8]) -> Substring? {
        let addresses = Array(addresses.utf8)
        // There may be tens of thousands of sockets, so no line becomes a string that isn't the one.
        let line = table.split(separator: UInt8(ascii: "\n")).first { line in
            // The addresses come after the line's number.
            guard let number = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
            return line[number...].dropFirst(2).starts(with: addresses)
        }
        guard let line else { return nil }
        let rest = String(decoding: line.drop { $0 != UInt8(ascii: ":") }.dropFirst(2 + addresses.count), as: UTF8.self)
        // After the addresses: the state, the queues, the timer, the retransmissions and the user.
        let fields = rest.split(separator: " ")
        return fields.count > 4 ? fields[4] : nil
    }

    /// 127.0.0.1, with this machine's order of bytes.
    private static let loopback = hexadecimal(Int(UInt32(bigEndian: 0x7F00_0001)), digits: 8)

    private static func hexadecimal(_ number: Int, digits: Int = 4) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    private static func read(_ path: String) -> [UInt8] {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY) else { return [] }
        var bytes: [UInt8] = []
        while let part = try? file.read(upTo: 1 << 16), !part.isEmpty { bytes += part }
        return bytes
    }
}

/// Answers another user's connection without reading what it asks.
final class Refusal: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelActive(context: ChannelHandlerContext) {
        let text = "Only the user who started this server may use it.\n"
        let answer =
            "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: \(text.utf8.count)\r\n"
            + "Connection: close\r\n\r\n\(text)"
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        // What arrives is discarded meanwhile: closing at once would discard the answer.
        context.eventLoop.scheduleTask(in: .milliseconds(500)) { channel.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
#endif
