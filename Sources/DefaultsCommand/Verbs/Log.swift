import ArgumentParser
import DefaultsClient
import DefaultsCore

/// `defaults log [domain [key…]]`.
struct Log: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show earlier changes, newest first.",
        discussion: """
            Prints one line for each changed key: its number in the history, date and time, domain, key, old value, \
            arrow, new value, and the program that changed it. With -currentHost or -host, these are only changes of \
            that host's values. On a terminal, the output goes through $PAGER. `defaults undo` takes such a number. \
            Domains and keys may be patterns with * and ?.

            --since and --until take a number, a cursor or a time: 10m, "2 hours ago", today, yesterday, 10:15, \
            2026-11-24, "2026-11-24 10:15".

            For a command, the caller follows: "for setup.sh" is the script that ran it, unless the variable \
            DEFAULTS_ORIGIN names something else. "file" is a program that wrote the file itself. To see which one, \
            run `sudo fatrace -c -f W` in ~/.config while it writes, or record the writers with `sudo auditctl -w \
            ~/.config -p wa -k defaults` and list them with `sudo ausearch -k defaults -i`.

            The settings HistoryDays, HistoryChanges, HistoryBytes and HistoryExcludes say what the agent keeps; see \
            defaultsd(8).

            EXAMPLES
              defaults log
              defaults log org.example.editor theme
              defaults log --since 10m --by editor
              defaults log -n 100 --json | jq .changes
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var program: ProgramOption
    @OptionGroup var range: HistoryRange
    @Option(
        name: .customShort("n"), parsing: .unconditional,
        help: ArgumentHelp("Show at most this many change sets.", valueName: "count"))
    var count: Int?
    @Flag(help: "Print one JSON object per line, as `defaults tail --json` does.") var json = false
    @OptionGroup var style: ColorOption
    @OptionGroup var scope: HistoryScope

    func validate() throws {
        if let count, count < 1 { throw ValidationError("-n must be at least 1.") }
    }

    func run() throws {
        var (_, history) = try location.openHistory(of: try location.narrowed(scope.filter()))
        try range.check(history)
        let style = style.text
        var shown = 0
        var sensitive = SensitiveKeys()
        try Pager.write {
            while count.map({ shown < $0 }) ?? true, let record = try history.next() {
                if range.isPassed(by: record) { return nil }
                if !range.contains(record) { continue }
                if let changeSet = record.changeSet {
                    if !program.includes(changeSet) { continue }
                } else if program.program != nil {
                    continue
                }
                shown += 1
                let cursor = Cursor(epoch: history.epoch, revision: record.revision)
                let masked = sensitive.masked(record)
                return json
                    ? ChangeJSON.line(.record(masked, cursor: cursor)).map { $0 + "\n" }
                    : style.history(masked).map { $0 + "\n" }.joined()
            }
            return nil
        }
        if let problem = history.problem { throw problem }
        // A misspelled name would otherwise look like a domain that never changed.
        if shown == 0 { Failure.report("The history has no such changes.") }
    }
}
