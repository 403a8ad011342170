import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import PropertyList
import TestSupport

/// A soak test of a program that waits between reading and writing the file, while keys are set and the agent restarts.
///
/// A round consists of one write by the program, 20 saved edits, and up to two restarts of the agent between the edits.
/// Then all values must be present, including those that the program wrote to a file displaced in the meantime.
struct RestartSoak {
    private static let keys = 20

    let place: SoakEnvironment

    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: .restarted)
        let domain = Domain(try DomainName(SoakEnvironment.domain))
        try place.startAgent()
        defer { place.stopAgent() }
        var editor = try place.connect()
        try set("a0", to: 0, editor, domain)
        let writer = try ChildLines(
            "defaults-bench", ["write-foreign", SoakKind.restarted.rawValue, place.path, "1"],
            environment: place.environment)
        defer { writer.kill() }
        let end = Date.now.addingTimeInterval(seconds)
        var number: Int64 = 0
        repeat {
            number += 1
            try writer.send("\(number)")
            guard writer.line(within: 10_000) == "read" else { throw BenchFailure("The writer doesn't respond.") }
            let restarts = [Int.random(in: 0..<Self.keys), Int.random(in: 0..<2 * Self.keys)]
            for key in 0..<Self.keys {
                try set("a\(key)", to: number, editor, domain)
                result.own += 1
                if restarts.contains(key) {
                    place.stopAgent()
                    try place.startAgent()
                    editor = try place.connect()
                    result.ends += 1
                }
            }
            guard writer.line(within: 10_000) == "0 \(number)", writer.line(within: 10_000) == "done" else {
                throw BenchFailure("The writer doesn't respond.")
            }
            result.foreign += 1
            try check(number, editor, domain, &result)
            result.rounds += 1
            // Stop after a loss, because the current state shows how it happened.
        } while Date.now < end && result.isClean
        result.findings += try place.audit()
        return result
    }

    private func set(_ key: String, to number: Int64, _ editor: AgentConnection, _ domain: Domain) throws {
        try editor.edit(domain, with: [key: .integer(number)], replacesAll: false)
        if let failure = try editor.barrier([domain]).failures.first { throw failure }
    }

    /// Counts the values that are missing from the agent or the file ten seconds after they were written.
    private func check(
        _ number: Int64, _ editor: AgentConnection, _ domain: Domain, _ result: inout SoakResult
    ) throws {
        var lost: [String] = []
        let isComplete = try eventually {
            _ = try editor.barrier([domain])
            let (there, file) = (try editor.snapshot(of: domain).values, ForeignFile(path: place.path).read())
            lost = (["f0"] + (0..<Self.keys).map { "a\($0)" }).filter {
                there[$0] != .integer(number) || file?[$0] != .integer(number)
            }
            return lost.isEmpty
        }
        if isComplete { return }
        result.findings.append("Round \(number): \(lost.joined(separator: ", ")) missing.")
        result.foreignLost += lost.contains("f0") ? 1 : 0
        result.ownLost += lost.count - (lost.contains("f0") ? 1 : 0)
    }
}
