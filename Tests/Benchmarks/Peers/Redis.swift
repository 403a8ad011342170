import Foundation
import Glibc

/// A Redis server that stores nothing on disk, with a client, for the benchmarks.
final class Redis {
    let server: ChildLines
    private let connection: PeerSocket

    /// Starts the server and connects to it.
    ///
    /// - Returns: `nil` if Redis isn't installed.
    init?(in place: BenchEnvironment) throws {
        guard let program = BenchEnvironment.program("redis-server") else { return nil }
        let path = Self.socket(at: place.path)
        server = try ChildLines(
            at: program,
            [
                "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", place.path,
                "--maxclients", "2000",
            ])
        connection = try PeerSocket(path: path)
    }

    static func socket(at place: String) -> String { place + "/redis" }

    func publish(_ text: String, to channel: String) throws {
        try send(text, to: channel)
        _ = try connection.receive()
    }

    /// Publishes without waiting for the answer.
    func send(_ text: String, to channel: String) throws {
        try connection.send("PUBLISH \(channel) \"\(text)\"\r\n")
    }

    /// Receives the answers to a number of published messages.
    func takeAnswers(_ count: Int) throws {
        var lines = 0
        while lines < count { lines += try connection.receive().count { $0 == UInt8(ascii: "\n") } }
    }

    /// Follows a channel: passes on an empty text once subscribed, then each published text.
    static func follow(_ channel: String, at place: String, _ take: (String) -> Void) throws {
        let connection = try PeerSocket(path: socket(at: place))
        try connection.send("SUBSCRIBE \(channel)\r\n")
        _ = try connection.receive()
        take("")
        while true {
            let message = String(decoding: try connection.receive(), as: UTF8.self)
            // *3, $7, message, $n, the channel, $n, the text.
            take(message.components(separatedBy: "\r\n").dropLast().last ?? "")
        }
    }
}
