import DefaultsCore
import DefaultsKit
import Foundation
import PropertyList

/// A program that takes seconds between reading the file and writing it, while keys are set and the agent ends and starts.
///
/// A round is one write of the program's, 20 edits, each of them saved, and up to two ends of the agent between them. Then
/// all of it must be there: what the program wrote to a version that was replaced meanwhile, too.
struct RestartSoak {
    private static let keys = 20

    let place: SoakPlace

    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: .restarted)
        let domain = Domain(try DomainName(SoakPlace.domain))
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
            guard writer.line(within: 10_000) == "read" else { throw BenchFailure("The writer is silent.") }
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
                throw BenchFailure("The writer is silent.")
            }
            result.foreign += 1
            try check(number, editor, domain, &result)
            result.rounds += 1
            // What is there now tells how it came.
        } while Date.now < end && result.isClean
        result.findings += try place.audit()
        return result
    }

    private func set(_ key: String, to number: Int64, _ editor: AgentConnection, _ domain: Domain) throws {
        try editor.edit(domain, [key: .integer(number)], replacesAll: false)
        if let failure = try editor.barrier([domain]).failures.first { throw failure }
    }

    /// Counts what isn't there, neither in the agent nor in the file, ten seconds after it was written.
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
        result.findings.append("Round \(number): \(lost.joined(separator: ", ")) are not there.")
        result.foreignLost += lost.contains("f0") ? 1 : 0
        result.ownLost += lost.count - (lost.contains("f0") ? 1 : 0)
    }
}
