import DefaultsClient
import DefaultsCore
import DefaultsKit
import Foundation
import Glibc
import PropertyList

/// A soak test of eight processes that use the library in every way at random, while their agent is suspended,
/// upgraded, killed or absent.
///
/// In the end, each writer's keys have the values that it has set, the count is the number of acknowledged increments,
/// each pair of keys has always had the sum zero, and every stream has ended with the last values.
struct RandomSoak {
    let place: SoakEnvironment

    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: .random)
        var apps: [(role: RandomApp.Role, process: ChildLines)] = []
        for role in RandomApp.Role.allCases {
            for number in 0..<2 {
                let process = try ChildLines(
                    "defaults-bench", ["random-app", SoakEnvironment.domain, role.rawValue, "\(role)\(number)"],
                    environment: place.environment)
                apps.append((role, process))
            }
        }
        let end = Stopwatch.now + seconds
        var hasAgent = false
        repeat {
            try disturb(&hasAgent, &result)
            usleep(.random(in: 0..<400_000))
            result.rounds += 1
        } while Stopwatch.now < end
        if !hasAgent { try place.startAgent() }
        defer { place.stopAgent() }
        try check(apps, &result)
        result.findings += try place.audit()
        return result
    }

    private func disturb(_ hasAgent: inout Bool, _ result: inout SoakResult) throws {
        guard hasAgent else {
            try place.startAgent()
            hasAgent = true
            return
        }
        switch Int.random(in: 0..<4) {
        case 0: try place.upgradeAgent()
        case 1:
            place.signalAgent(SIGSTOP)
            usleep(.random(in: 0..<1_000_000))
            place.signalAgent(SIGCONT)
        default:
            place.stopAgent()
            result.ends += 1
            hasAgent = false
        }
    }

    /// Ends the processes, and compares what they have printed with the agent's values.
    private func check(_ apps: [(role: RandomApp.Role, process: ChildLines)], _ result: inout SoakResult) throws {
        var expected: [String: PropertyListValue?] = [:]
        var (counted, uncertain) = (0, 0)
        for app in apps where app.role != .observe {
            try app.process.send("end")
            for line in try lines(of: app.process) {
                let words = line.split(separator: " ").map(String.init)
                switch (words.first, words.count) {
                case ("value", 3): expected[words[1]] = .some(Int64(words[2]).map { .integer($0) })
                case ("edited", 2), ("moved", 3): result.own += Int(words[1]) ?? 0
                case ("counted", 3):
                    counted += Int(words[1]) ?? 0
                    uncertain += Int(words[2]) ?? 0
                default: result.findings.append(line)
                }
            }
        }
        result.own += counted
        let values = try place.connect().snapshot(of: Domain(try DomainName(SoakEnvironment.domain))).values
        for (key, value) in expected where values[key] != value {
            result.ownLost += 1
            result.findings.append("\(key) is \(values[key] as Any) instead of \(value as Any).")
        }
        func number(_ key: String) -> Int { if case .integer(let number)? = values[key] { Int(number) } else { 0 } }
        let count = number("count")
        if count < counted || count > counted + uncertain {
            result.findings.append("The count is \(count) after \(counted) updates, and \(uncertain) uncertain ones.")
        }
        if number("left") + number("right") != 0 {
            result.findings.append("The sum of \(number("left")) and \(number("right")) isn't zero.")
        }
        for app in apps where app.role == .observe {
            try app.process.send("\(count) \(number("left"))")
            result.findings += try lines(of: app.process)
        }
        result.figures.append("\(counted) acknowledged updates, \(uncertain) uncertain ones")
    }

    /// Returns a process's lines, once it has ended its part.
    private func lines(of process: ChildLines) throws -> [String] {
        var lines: [String] = []
        while let line = process.line(within: 150_000) {
            if line == "done" { return lines }
            lines.append(line)
        }
        throw BenchFailure("A process doesn't end. It has printed: \(lines.suffix(20))")
    }
}
