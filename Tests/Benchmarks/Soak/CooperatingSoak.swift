import DefaultsCore
import Foundation
import Glibc
import PropertyList

/// A soak test of several apps that write to one domain with the library, while the agent is killed and restarted.
///
/// Each app has its own keys. In a storm, the apps are killed and restarted as well. Everything reported to an app as
/// saved must be in the file, no matter what has been killed since.
struct CooperatingSoak {
    private static let apps = 3
    private static let keys = 20

    let kind: SoakKind
    let place: SoakEnvironment

    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: kind)
        var apps = try (0..<Self.apps).map(startApp)
        /// The values reported to each app as saved, by key.
        var saved = [[Int: Int64]](repeating: [:], count: Self.apps)
        let end = Date.now.addingTimeInterval(seconds)
        var number: Int64 = 0
        var hasAgent = false
        repeat {
            number += 1
            for app in apps { try app.send("\(number)") }
            var writing = Set(apps.indices)
            var lines = 0
            // Restart the agent, and kill an app, at random times in the round.
            let toggle = Int.random(in: 0..<Self.apps * Self.keys)
            let death = kind == .storm ? Int.random(in: 0..<Self.apps * Self.keys) : -1
            while !writing.isEmpty {
                for index in writing {
                    guard let line = apps[index].line(within: 30_000) else {
                        throw BenchFailure("App \(index) doesn't respond in round \(number).")
                    }
                    if line == "done" { writing.remove(index) }
                    note(line, number, &saved[index], &result)
                    lines += 1
                    if lines == toggle {
                        if hasAgent { place.stopAgent() } else { try place.startAgent() }
                        result.ends += hasAgent ? 1 : 0
                        hasAgent.toggle()
                    }
                    if lines == death, writing.contains(index) {
                        apps[index].kill()
                        while let line = apps[index].line(within: 1_000) {
                            note(line, number, &saved[index], &result)
                        }
                        result.ends += 1
                        apps[index] = try startApp(index)
                        writing.remove(index)
                    }
                }
            }
            check(saved, &result)
            result.rounds += 1
        } while Date.now < end
        for app in apps { app.kill() }
        if !hasAgent { try place.startAgent() }
        result.findings += try place.audit()
        place.stopAgent()
        return result
    }

    private func startApp(_ index: Int) throws -> ChildLines {
        try ChildLines(
            "defaults-bench", ["write-app", SoakEnvironment.domain, "app\(index).", "\(Self.keys)"],
            environment: place.environment)
    }

    private func note(_ line: String, _ number: Int64, _ saved: inout [Int: Int64], _ result: inout SoakResult) {
        guard let key = line.split(separator: " ").first.flatMap({ Int($0) }) else { return }
        saved[key] = number
        result.own += 1
    }

    private func check(_ saved: [[Int: Int64]], _ result: inout SoakResult) {
        let values = ForeignFile(path: place.path).read() ?? [:]
        for (app, keys) in saved.enumerated() {
            for (key, least) in keys {
                // A killed app may have saved more than it could report.
                if case .integer(let there)? = values["app\(app).\(key)"], there >= least { continue }
                result.ownLost += 1
            }
        }
    }
}
