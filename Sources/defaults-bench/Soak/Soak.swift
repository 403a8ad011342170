import ArgumentParser

/// `defaults-bench soak`.
struct Soak: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes to a domain from all sides at full speed, and counts what is lost.",
        discussion: """
            One writer that knows nothing of the agent rewrites the file, key by key, while other keys are set through the \
            agent; after each round all of it must be there, in the agent and in the file, and a subscriber must have been \
            told each change, as the bus promises. Each kind of writer has its turn. With the last four the agent is ended, by \
            SIGTERM as often as by SIGKILL, and started: beside a slow writer, beside apps with the library, beside apps \
            that are killed themselves, and beside one that lives long, whose memory and speed must stay as they are. It exits with 1 when anything was lost.
            """)

    @Option(help: "How long it takes, all kinds together.") var seconds = 600.0
    @Option(help: "Only this kind of writer: \(SoakKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: SoakKind?

    func run() throws {
        let kinds = only.map { [$0] } ?? SoakKind.allCases
        var isClean = true
        ChildLines.say(SoakResult.header)
        for kind in kinds {
            let place = try SoakPlace()
            let share = seconds / Double(kinds.count)
            let result =
                if kind.hasOneAgent {
                    try ForeignSoak(kind: kind, place: place).run(for: share)
                } else if kind == .restarted {
                    try RestartSoak(place: place).run(for: share)
                } else if kind == .lasting {
                    try LastingSoak(place: place).run(for: share)
                } else {
                    try CooperatingSoak(kind: kind, place: place).run(for: share)
                }
            ChildLines.say(result.line)
            for finding in result.findings.prefix(20) { ChildLines.say("    \(finding)") }
            if !result.isClean { ChildLines.say("    The directories are kept: \(place.keep())") }
            isClean = isClean && result.isClean
        }
        if !isClean { throw ExitCode(1) }
    }
}
