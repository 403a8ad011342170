import Foundation
import Glibc

/// A client of a D-Bus message bus that implements the part of the protocol that the benchmarks need.
///
/// Source: the D-Bus specification, "Message Protocol" and "Authentication Protocol".
final class DBus {
    /// The socket on which the bus's messages arrive.
    let socket: PeerSocket
    private var serial: UInt32 = 0
    private var unread: [UInt8] = []

    private static let bus = "org.freedesktop.DBus"
    private static let interface = "org.example.Bench"

    /// Connects to the bus at a path.
    init(path: String) throws {
        socket = try PeerSocket(path: path)
        let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        try socket.send("\0AUTH EXTERNAL \(user)\r\n")
        _ = try socket.receive()
        try socket.send("BEGIN\r\n")
        _ = try call("Hello")
    }

    /// Subscribes to the benchmarks' signals.
    func subscribe() throws {
        _ = try call("AddMatch", "s") { $0.append(string: "type='signal',interface='\(Self.interface)'") }
    }

    /// Sends a signal to all subscribers.
    func signal(_ text: String) throws {
        try send(
            .signal,
            [(.path, "o", "/org/example/bench"), (.interface, "s", Self.interface), (.member, "s", "Changed")],
            "s"
        ) { $0.append(string: text) }
    }

    /// Waits until the bus has received everything sent so far.
    func synchronize() throws { _ = try call("GetId") }

    /// Starts a service through the bus, and waits until it owns its name.
    func start(_ service: String) throws {
        _ = try call("StartServiceByName", "su") {
            $0.append(string: service)
            $0.append(0)
        }
    }

    /// Returns the process id of a service, or `nil` if its name has no owner.
    func process(of service: String) throws -> pid_t? {
        let answer = try call("GetConnectionUnixProcessID", "s") { $0.append(string: service) }
        return answer.map { pid_t(bitPattern: Body.number(in: $0, at: 0)) }
    }

    // MARK: Messages

    private enum Kind: UInt8 { case call = 1, answer, error, signal }
    private enum Field: UInt8 { case path = 1, interface, member, destination = 6, signature = 8 }

    /// Calls the bus itself.
    ///
    /// - Returns: The body of the answer; `nil` for an error.
    private func call(_ member: String, _ signature: String = "", _ body: (inout Body) -> Void = { _ in }) throws
        -> [UInt8]?
    {
        try send(
            .call,
            [
                (.path, "o", "/org/freedesktop/DBus"), (.interface, "s", Self.bus), (.member, "s", member),
                (.destination, "s", Self.bus),
            ], signature, body)
        while true {
            let (kind, body) = try message()
            if kind == Kind.answer.rawValue { return body }
            if kind == Kind.error.rawValue { return nil }
        }
    }

    private func send(
        _ kind: Kind, _ fields: [(Field, String, String)], _ signature: String, _ write: (inout Body) -> Void
    ) throws {
        var body = Body()
        write(&body)
        serial += 1
        var header = Body()
        header.bytes = [UInt8(ascii: "l"), kind.rawValue, 0, 1]
        header.append(UInt32(body.bytes.count))
        header.append(serial)
        header.append(0)
        for (field, type, value) in fields + (signature.isEmpty ? [] : [(.signature, "g", signature)]) {
            header.align(8)
            header.bytes.append(field.rawValue)
            header.append(signature: type)
            if type == "g" { header.append(signature: value) } else { header.append(string: value) }
        }
        // The length of the fields includes the padding between them, but not the padding after them.
        header.replace(UInt32(header.bytes.count - 16), at: 12)
        header.align(8)
        try socket.send(header.bytes + body.bytes)
    }

    private func message() throws -> (kind: UInt8, body: [UInt8]) {
        while true {
            if unread.count >= 16 {
                let start = (16 + Int(Body.number(in: unread, at: 12)) + 7) / 8 * 8
                let end = start + Int(Body.number(in: unread, at: 4))
                if unread.count >= end {
                    defer { unread.removeFirst(end) }
                    return (unread[1], Array(unread[start..<end]))
                }
            }
            unread += try socket.receive()
        }
    }

    /// Values in wire order, each at its alignment, little-endian.
    private struct Body {
        var bytes: [UInt8] = []

        mutating func align(_ size: Int) {
            while !bytes.count.isMultiple(of: size) { bytes.append(0) }
        }

        mutating func append(_ number: UInt32) {
            align(4)
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }

        mutating func append(string: String) {
            append(UInt32(string.utf8.count))
            bytes += Array(string.utf8) + [0]
        }

        mutating func append(signature: String) {
            bytes += [UInt8(signature.utf8.count)] + Array(signature.utf8) + [0]
        }

        mutating func replace(_ number: UInt32, at place: Int) {
            withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(place..<(place + 4), with: $0) }
        }

        static func number(in bytes: [UInt8], at place: Int) -> UInt32 {
            bytes[place..<(place + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
}
