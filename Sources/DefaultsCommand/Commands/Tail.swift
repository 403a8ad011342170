import ArgumentParser
import DefaultsCore
import DefaultsKit

/// `defaults tail [domain [key…]]`.
struct Tail: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Shows each change of preferences as it happens, whoever makes it.",
        discussion: """
            A line is: time, domain, key, old value, arrow, new value, and who changed it. Where no agent answers, one is \
            started that ends with the command. Domains and keys may be patterns with * and ?; a key is a whole one, and a \
            change inside its value is a change of it.

            With --json each line is an object. Its "type" is "ready" (the stream has begun), "change", "damaged" (a file \
            that can't be taken; "reason" says why), "unsaved" (edits that can't be saved yet; "reason" says why), \
            "recovered" (what was damaged or unsaved isn't any more), "gap" (what happened before its cursor is not known) \
            or "bookmark" (all up to its cursor has been shown). "cursor" is a place for --since; "time", "domain", "host" and "source" say \
            when, what and who; "user" is "managed", or the directory of a domain for any user, and left out for the \
            current user's; "changes" is a list of objects with "key", "kind" (added, changed, removed, initial), \
            "old" and "new"; "damage" says why a file can't be taken whose last good values are shown at first; "overruled" lists what lost against a later writer. Data is {"$data": base64}, a date \
            {"$date": RFC 3339}.

            With --exec a command is run for each change set, one after the other, and none is left out. It has the object \
            that --json would print on its standard input, and in its environment DEFAULTS_DOMAIN, DEFAULTS_HOST (empty \
            for any), DEFAULTS_KEYS (one a line; unset when they are more than 64 KiB, or a key has a line break), DEFAULTS_CURSOR and \
            DEFAULTS_SOURCE (app, file or agent; for an app DEFAULTS_SOURCE_PID and DEFAULTS_SOURCE_EXECUTABLE too; empty \
            for --initial). A command that fails is told of. What ends this one, SIGKILL included, ends the command and \
            all that it has started, but for what has left its process group. Ctrl-Z (SIGTSTP) stops the command too; SIGSTOP, of which nothing is \
            told, stops this one alone, and so the command goes on to its end.

            EXAMPLES
              defaults tail
              defaults tail 'org.example.*' --json | jq .changes
              defaults tail org.example.editor theme --exec 'pkill -USR1 editor'
              defaults tail --cursor-file ~/.cache/seen --exec 'logger "$DEFAULTS_KEYS"'
            """,
        aliases: ["watch"])

    @OptionGroup var place: PlaceOptions
    @OptionGroup var options: TailOptions
    @Argument(help: "The domain, or a pattern of names; all when it is left out.", completion: Candidates.domain)
    var domain: String?
    @Argument(help: "Keys, or patterns of them; all when they are left out.", completion: Candidates.key)
    var keys: [String] = []

    func validate() throws {
        if let count = options.count, count < 1 { throw ValidationError("-n needs a number from 1 on.") }
        if let timeout = options.timeout, !(timeout >= 0 && timeout < 1e9) {
            throw ValidationError("--timeout needs a number of seconds.")
        }
        if let command = options.exec {
            if command.allSatisfy(\.isWhitespace) { throw ValidationError("--exec needs a command.") }
            if options.json { throw ValidationError("--json and --exec don't go together: the command gets JSON.") }
        }
        if options.since != nil, options.initial { throw ValidationError("--since and --initial don't go together.") }
    }

    func run() throws {
        // A name is that of one domain, as for other verbs; a pattern may be any text.
        var domain = domain
        if let name = domain, !name.contains(where: { "*?\\".contains($0) }) {
            domain = name.isEmpty ? try DomainName(name).description : DomainName(escaping: name).description
        }
        if let variable = Environment.current[BackendChoice.noAgentVariable] {
            throw Failure(
                "Changes can't be followed without an agent; unset \(BackendChoice.noAgentVariable)=\(variable).",
                .usage)
        }
        let (directory, address) = try place.resolve()
        try directory.checkExistence()
        var session = TailSession(
            directory: directory, address: address, options: options,
            filter: SubscriptionFilter(
                domains: domain.map { [GlobPattern($0)] } ?? [], keys: keys.map { GlobPattern($0) }))
        try session.run()
    }
}
