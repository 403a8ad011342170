import ArgumentParser
import Foundation

/// `defaults-bench compare`, the benchmarks.
struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measures what people do with preferences, beside what they would use instead and the limit.",
        discussion: """
            All contenders take turns in one run, so that ratios stand on a noisy machine, too. A ratio to a peer says how \
            many times ours is faster; to a limit, how many times it takes what the machine must take. What isn't installed \
            is a dash with the package's name. Figures are for one operation.
            """)

    @Option(help: "Only these: \(Topic.allCases.map(\.rawValue).joined(separator: ", ")).") var only: [Topic] = []
    @Flag(help: "Print a JSON object a line.") var json = false
    @Flag(help: "Fewer turns and smaller sizes: under two minutes.") var quick = false

    func run() throws {
        // A thousand subscribers of each contender are at hand at once.
        var files = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        files.rlim_cur = files.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        if !json { ChildLines.say(Outcome.header) }
        let place = try BenchPlace()
        for topic in only.isEmpty ? Topic.allCases : only {
            for work in try topic.works(at: place, isQuick: quick) {
                if !json { ChildLines.say("\(work.name) (\(work.unit.rawValue))") }
                for outcome in try work.measure() {
                    if json {
                        let bytes = try JSONSerialization.data(withJSONObject: outcome.json, options: .sortedKeys)
                        ChildLines.say(String(decoding: bytes, as: UTF8.self))
                    } else {
                        ChildLines.say(outcome.line)
                    }
                }
            }
        }
        place.end()
    }
}
