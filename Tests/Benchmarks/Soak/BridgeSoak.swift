import DefaultsClient
import DefaultsCore
import Foundation
import Glibc
import PropertyList
import TestSupport

/// A soak test of `defaults bridge`, in many sessions that follow each other from the last cursor, while the agent is
/// ended, upgraded and suspended.
///
/// A round consists of one session, in which every key is set once. All edits must be answered, and their changes must
/// arrive once each and in order.
struct BridgeSoak {
    private static let keys = 20

    let place: SoakEnvironment

    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: .bridge)
        try place.startAgent()
        defer { place.stopAgent() }
        let end = Date.now.addingTimeInterval(seconds)
        var cursor = "now"
        repeat {
            result.rounds += 1
            cursor = try session(result.rounds, from: cursor, &result)
        } while Date.now < end && result.isClean
        let values = try place.connect().snapshot(of: Domain(try DomainName(SoakEnvironment.domain))).values
        result.ownLost += (0..<Self.keys).count { values["a\($0)"] != .integer(Int64(result.rounds)) }
        result.findings += try place.audit()
        return result
    }

    /// Runs a session; returns its last cursor.
    private func session(_ number: Int, from cursor: String, _ result: inout SoakResult) throws -> String {
        let bridge = try RunningProgram(
            BenchEnvironment.beside("defaults"), ["bridge"], environment: place.environment, takesInput: true,
            showsErrors: true)
        let domain = #""domain":"\#(SoakEnvironment.domain)""#
        let filter = #""mode":"everything","domains":["\#(SoakEnvironment.domain)"]"#
        try bridge.send(#"{"request":1,"type":"subscribe","from":"\#(cursor)",\#(filter)}"#)
        for key in 0..<Self.keys {
            try bridge.send(#"{"request":\#(key + 2),"type":"edit",\#(domain),"set":{"a\#(key)":\#(number)}}"#)
        }
        var session = Session(number: number, cursor: cursor)
        // The messages after which the agent is disturbed.
        var disturbances = Set((0..<2).map { _ in Int.random(in: 0..<2 * Self.keys) })
        var count = 0
        while session.answers.count < Self.keys || session.changes.count < Self.keys, session.findings.isEmpty {
            session.take(try bridge.object())
            if disturbances.remove(count) != nil {
                try disturbAgent()
                result.ends += 1
            }
            count += 1
        }
        let end = try bridge.finish()
        for line in end.output.split(separator: "\n") {
            session.take(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:])
        }
        let inOrder = (0..<Self.keys).map { "a\($0)" }
        if session.changes != inOrder { session.findings.append("The changes were \(session.changes).") }
        if end.status != 0 { session.findings.append("The bridge ended with \(end.status).") }
        result.own += session.answers.count
        result.records += session.changes.count
        result.findings += session.findings.map { "Round \(number): \($0)" }
        return session.cursor
    }

    private func disturbAgent() throws {
        switch Int.random(in: 0..<4) {
        case 0: try place.upgradeAgent()
        case 1:
            place.signalAgent(SIGSTOP)
            usleep(.random(in: 0..<500_000))
            place.signalAgent(SIGCONT)
        default:
            place.stopAgent()
            try place.startAgent()
        }
    }

    /// The messages that a session has received.
    private struct Session {
        /// The value that the session sets all keys to.
        let number: Int
        var cursor: String
        var answers: Set<Int> = []
        var changes: [String] = []
        var findings: [String] = []

        mutating func take(_ message: [String: Any]) {
            switch message["type"] as? String {
            case "welcome", "subscribed": return
            case "bookmark": break
            case "edited":
                if let request = message["request"] as? Int, answers.insert(request).inserted { return }
                findings.append("An edit was answered twice: \(message).")
            case "change":
                for change in message["changes"] as? [[String: Any]] ?? [] {
                    changes.append(change["key"] as? String ?? "")
                    if change["new"] as? Int != number { findings.append("A change isn't this round's: \(message).") }
                }
            default: findings.append("It sent \(message).")
            }
            cursor = message["cursor"] as? String ?? cursor
        }
    }
}
