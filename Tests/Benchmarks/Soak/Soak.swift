import ArgumentParser

/// `defaults-bench soak`.
struct Soak: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write to a domain from all sides at full speed, and count the losses.",
        discussion: """
            A foreign writer rewrites the file, key by key, while other keys are set through the agent. After each \
            round, all values must be in the agent and in the file, and a subscriber must have received each change \
            as the bus promises. Each kind of writer has its turn. In the next five kinds, the agent is ended, by \
            SIGTERM as often as by SIGKILL, and restarted: beside a slow writer, beside apps with the library, \
            beside apps that are killed themselves, beside processes that use the library at random and compare it \
            with a model, and beside a long-lived app whose memory use and speed must not degrade. The kinds bridge \
            and python do the same with `defaults bridge` and the Python package. The last kind, life, consists of \
            many short sessions, which end by signals, upgrades and a full disk; no file, and no figure of a start, \
            may grow with their number. The exit status is 1 if anything was lost, or has grown.
            """)

    @Option(help: "The total duration in seconds of all kinds but life.") var seconds = 600.0
    @Option(help: "The number of sessions of life (default: 5 for 3 seconds, but at least 60).") var sessions: Int?
    @Option(help: "Run only this kind: \(SoakKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var only: SoakKind?

    func run() throws {
        let kinds = only.map { [$0] } ?? SoakKind.allCases
        var isClean = true
        ChildLines.say(SoakResult.header)
        for kind in kinds {
            let place = try SoakEnvironment(diskBytes: kind == .life ? LifeSoak.diskBytes : nil)
            let share = seconds / Double(max(1, kinds.count { $0 != .life }))
            let result =
                if kind.hasOneAgent {
                    try ForeignSoak(kind: kind, place: place).run(for: share)
                } else if kind == .restarted {
                    try RestartSoak(place: place).run(for: share)
                } else if kind == .random {
                    try RandomSoak(place: place).run(for: share)
                } else if kind == .lasting {
                    try LastingSoak(place: place).run(for: share)
                } else if kind == .bridge {
                    try BridgeSoak(place: place).run(for: share)
                } else if kind == .python {
                    try PythonSoak().run(for: share)
                } else if kind == .life {
                    try LifeSoak(place: place, sessions: sessions ?? max(60, Int(seconds * 5 / 3))).run()
                } else {
                    try CooperatingSoak(kind: kind, place: place).run(for: share)
                }
            ChildLines.say(result.line)
            for figure in result.figures { ChildLines.say("    \(figure)") }
            for finding in result.findings.prefix(20) { ChildLines.say("    \(finding)") }
            if !result.isClean { ChildLines.say("    The directories are kept: \(place.keep())") }
            isClean = isClean && result.isClean
        }
        if !isClean { throw ExitCode(1) }
    }
}
