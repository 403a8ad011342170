import DefaultsCore
import Foundation
import Glibc
import PropertyList

/// Several apps with the library that write to one domain, each its own keys, while the agent is killed and started.
struct CooperatingSoak {
    private static let apps = 3
    private static let keys = 20

    let place: SoakPlace

    func run(for seconds: Double) throws -> SoakResult {
        var result = SoakResult(kind: .cooperating)
        var apps: [ChildLines] = []
        for app in 0..<Self.apps {
            apps.append(
                try ChildLines(
                    "defaults-bench", ["write-app", SoakPlace.domain, "app\(app).", "\(Self.keys)"],
                    environment: place.environment))
        }
        let end = Date.now.addingTimeInterval(seconds)
        var number: Int64 = 0
        var hasAgent = false
        repeat {
            number += 1
            for app in apps { try app.send("\(number)") }
            var writing = Set(apps.indices)
            var lines = 0
            let toggle = Int.random(in: 0..<Self.apps * Self.keys)
            while !writing.isEmpty {
                for index in writing {
                    guard let line = apps[index].line(within: 30_000) else {
                        throw SoakFailure("App \(index) is silent in round \(number).")
                    }
                    if line == "done" { writing.remove(index) } else { result.own += 1 }
                    lines += 1
                    guard lines == toggle else { continue }
                    if hasAgent {
                        place.stopAgent()
                        result.kills += 1
                    } else {
                        try place.startAgent()
                    }
                    hasAgent.toggle()
                }
            }
            // All of it was said to be saved.
            let values = ForeignFile(path: place.path).read() ?? [:]
            for app in apps.indices {
                for key in 0..<Self.keys where values["app\(app).\(key)"] != .integer(number) { result.ownLost += 1 }
            }
            result.rounds += 1
        } while Date.now < end
        for app in apps { app.kill() }
        if !hasAgent { try place.startAgent() }
        result.findings += try place.audit()
        place.stopAgent()
        return result
    }
}
