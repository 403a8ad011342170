import ArgumentParser
import Foundation

/// `defaults-bench compare`: the benchmarks.
struct Compare: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure common uses of preferences, beside their alternatives and the machine's limits.",
        discussion: """
            All contenders take turns in one run, so that ratios are valid on a noisy machine, too. The ratio to a \
            peer says how many times faster ours is; the ratio to a limit, how many times ours takes what the \
            machine needs at least. A program that isn't installed shows as a dash with the package's name. Figures \
            are for one operation.
            """)

    @Option(help: "Run only these topics: \(Topic.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: [Topic] = []
    @Flag(help: "Print one JSON object per line.") var json = false
    @Flag(help: "Use fewer turns and smaller sizes; takes under two minutes.") var quick = false

    func run() throws {
        // A thousand subscribers of each contender are connected at the same time.
        var files = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        files.rlim_cur = files.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        if !json { ChildLines.say(Outcome.header) }
        let place = try BenchEnvironment()
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
