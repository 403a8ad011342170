import Foundation
import Glibc

/// A NATS server for the benchmarks, with a client.
final class NATS {
    let server: ChildLines
    private let port: UInt16
    private let connection: PeerSocket

    /// Starts the server and connects to it.
    ///
    /// - Returns: `nil` if NATS isn't installed.
    init?(in place: BenchEnvironment) throws {
        guard let program = BenchEnvironment.program("nats-server") else { return nil }
        port = .random(in: 20_000..<30_000)
        server = try ChildLines(at: program, ["-a", "127.0.0.1", "-p", "\(port)", "-l", place.path + "/nats.log"])
        connection = try PeerSocket(port: port)
        try connection.send("CONNECT {\"verbose\":false}\r\n")
    }

    func subscribe(_ subject: String) throws -> PeerSocket {
        let socket = try PeerSocket(port: port)
        try socket.send("CONNECT {\"verbose\":false}\r\nSUB \(subject) 1\r\nPING\r\n")
        while !String(decoding: try socket.receive(), as: UTF8.self).contains("PONG") {}
        return socket
    }

    func publish(_ text: String, to subject: String) throws {
        try connection.send("PUB \(subject) \(text.utf8.count)\r\n\(text)\r\n")
    }
}
