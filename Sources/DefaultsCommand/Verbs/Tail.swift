import ArgumentParser
import DefaultsClient
import DefaultsCore

/// `defaults tail [domain [key…]]`.
struct Tail: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Show changes as they happen.",
        discussion: """
            Prints one line for each changed key: time, domain, key, old value, arrow, new value, and the program that \
            changed it. If no agent is running, the command starts one and stops it on exit. Domains and keys may be \
            patterns with * and ?. A key is a top-level key; a change inside its value counts as a change to the key.

            With --exec, a shell command runs once for each change set, one at a time. It receives the change as JSON \
            on standard input and in environment variables.

            --since takes a number or a cursor of `defaults log`, or a time such as 10m or yesterday. Only the last \
            changes can be shown in this way; `defaults log` also shows older ones. With --initial, -n 0 prints the \
            current values and ends. If the timeout expires before that many change sets, the exit status is 124.

            See `man defaults-tail` for the JSON objects, the environment variables and the handling of signals.

            EXAMPLES
              defaults tail
              defaults tail 'org.example.*' --json | jq .changes
              defaults tail org.example.editor theme --exec 'pkill -USR1 editor'
              defaults tail --cursor-file ~/.cache/seen --exec 'logger "$DEFAULTS_KEYS"'
            """,
        aliases: ["watch"])

    @OptionGroup var location: LocationOptions
    @OptionGroup var options: TailOptions
    @OptionGroup var scope: HistoryScope

    func validate() throws {
        if let count = options.count, count < (options.initial ? 0 : 1) {
            throw ValidationError("-n must be at least \(options.initial ? 0 : 1).")
        }
        if let timeout = options.timeout, !(timeout >= 0 && timeout < 1e9) {
            throw ValidationError("--timeout needs a number of seconds.")
        }
        if let command = options.exec {
            if command.allSatisfy(\.isWhitespace) { throw ValidationError("--exec needs a command.") }
            if options.json {
                throw ValidationError("Use only one of --json and --exec. A command run by --exec receives JSON.")
            }
        }
        if options.since != nil, options.initial {
            throw ValidationError("Use only one of --since and --initial.")
        }
    }

    func run() throws {
        var session = TailSession(
            try location.agentSearch(for: "tail"), options: options, filter: try location.narrowed(scope.filter()))
        if try !session.run() { throw ExitCode(ExitStatus.timeout.rawValue) }
    }
}
