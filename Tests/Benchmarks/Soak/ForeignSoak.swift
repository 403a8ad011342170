import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import ProgramSupport
import PropertyList
import TestSupport

/// A soak test of one foreign writer at full speed, with concurrent edits of other keys through the agent.
///
/// A round consists of one write of each of the writer's keys and one edit of each of ours. Then all values must be in
/// the agent and in the file.
struct ForeignSoak {
    /// The number of keys on each side.
    private static let keys = 200

    let kind: SoakKind
    let place: SoakEnvironment

    func run(for seconds: Double) throws -> SoakResult {
        try place.startAgent()
        defer { place.stopAgent() }
        var result = SoakResult(kind: kind)
        let domain = Domain(try DomainName(SoakEnvironment.domain))
        let editor = try place.connect()
        let subscriber = try Subscriber(kind)
        let history = subscriber.history
        subscriber.start(place.environment)
        var writer = try startWriter()
        var completed: [Int: Int64] = [:]
        let end = Date.now.addingTimeInterval(seconds)
        var number: Int64 = 0
        repeat {
            number += 1
            try writer.send("\(number)")
            var acknowledged = 0
            var isWriting = true
            while isWriting || acknowledged < Self.keys {
                if acknowledged < Self.keys {
                    try set("a\(acknowledged)", to: .integer(number), editor, domain)
                    acknowledged += 1
                    result.own += 1
                }
                while isWriting, let line = writer.line(within: acknowledged < Self.keys ? 0 : 10_000) {
                    if line == "done" {
                        isWriting = false
                    } else if let key = line.split(separator: " ").first.flatMap({ Int($0) }) {
                        completed[key] = number
                        result.foreign += 1
                        if kind == .killed, Int.random(in: 0..<60) == 0 { isWriting = false }
                    }
                }
                if isWriting, acknowledged == Self.keys, kill(writer.pid, 0) != 0 {
                    throw BenchFailure("The writer has exited.")
                }
            }
            if kind == .killed {
                writer.kill()
                // Collect the completed writes, as far as the writer could report them.
                while let line = writer.line(within: 1_000) {
                    if let key = line.split(separator: " ").first.flatMap({ Int($0) }) { completed[key] = number }
                }
                _ = try editor.barrier([domain])
                writer = try startWriter()
                try writer.send("half")
                guard writer.line(within: 10_000) == "half" else { throw BenchFailure("The writer doesn't respond.") }
                writer.kill()
                result.ends += 2
                // An edit makes the agent repair the file.
                try set("a0", to: nil, editor, domain)
                try set("a0", to: .integer(number), editor, domain)
                writer = try startWriter()
            }
            // Check this before anything waits for the file.
            for (key, value) in try editor.snapshot(of: domain).values where key.hasPrefix("a") {
                if value != .integer(number) { result.findings.append("Read-your-writes: \(key) in round \(number).") }
            }
            let cursor = try editor.barrier([domain]).cursor
            try check(number, completed, try editor.snapshot(of: domain).values, &result)
            guard eventually({ history.hasCome(cursor) }) else {
                throw BenchFailure("The subscriber received nothing.")
            }
            history.expect(
                "External sync", Dictionary(uniqueKeysWithValues: completed.map { ("f\($0)", $1) }))
            history.expect(
                "Read-your-writes", Dictionary(uniqueKeysWithValues: (0..<Self.keys).map { ("a\($0)", number) }))
            result.rounds += 1
        } while Date.now < end
        writer.kill()
        let last = try editor.barrier([domain]).cursor
        guard eventually({ history.hasCome(last) }) else { throw BenchFailure("The subscriber received nothing.") }
        subscriber.stop()
        history.compare(with: try editor.snapshot(of: domain).values)
        result.findings += try history.resumption.findings {
            try subscriber.records(after: $0, upTo: last, from: place.environment)
        }
        result.records = history.records
        result.findings += history.findings
        result.findings += try place.audit()
        return result
    }

    private func startWriter() throws -> ChildLines {
        try ChildLines(
            "defaults-bench", ["write-foreign", kind.rawValue, place.path, "\(Self.keys)"],
            environment: place.environment)
    }

    /// Sets a key and its twin in one edit, or removes both.
    private func set(
        _ key: String, to value: PropertyListValue?, _ editor: AgentConnection, _ domain: Domain
    ) throws {
        try editor.edit(domain, with: [key: value, Atomicity.twin(of: key): value], replacesAll: false)
    }

    private func check(
        _ number: Int64, _ completed: [Int: Int64], _ values: DomainValues, _ result: inout SoakResult
    ) throws {
        let file = ForeignFile(path: place.path).read()
        if file != values { result.findings.append("Round \(number): the file differs from the agent's values.") }
        for (key, least) in completed {
            // A killed writer may have completed more than it could report.
            guard case .integer(let there)? = values["f\(key)"], there >= least else {
                result.foreignLost += 1
                continue
            }
        }
        for key in 0..<Self.keys where values["a\(key)"] != .integer(number) { result.ownLost += 1 }
    }
}
