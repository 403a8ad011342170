import ArgumentParser

/// `defaults fleet`.
struct Fleet: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Keep preferences the same on several machines.",
        usage: """
            defaults fleet join <folder> [--review] [--prefer <fleet|mine>]
            defaults fleet add <domain> [<key> …] [--except <pattern> …]
            defaults fleet remove <domain> [<key> …]
            defaults fleet status [--json] [<domain>]
            defaults fleet review [--json]
            defaults fleet approve [<code>]
            defaults fleet leave [--force]
            defaults fleet run
            """,
        discussion: """
            A fleet is a folder that Syncthing, Nextcloud, Dropbox, a network file system or a USB stick carries from \
            machine to machine. Each machine writes files of its own there, in which nobody without the fleet's key \
            can read a name or a value. Only what you add travels, except for keys that belong to one machine. \
            Of two edits of a key, the later one wins on all machines; the other stays in the history.

            `join` makes this machine a member, and `approve` lets another one join that shows a code. `add` and \
            `remove` change what travels. `status` shows the machines, or why keys of a domain are held back. `review` \
            shows edits that were overruled. `leave` ends the membership, and `run` is what the service defaults-fleet \
            runs. `defaults fleet join --help` describes `join`, and so on.

            EXAMPLES
              defaults fleet join ~/Sync/prefs
              defaults fleet add org.example.editor
              defaults fleet status org.example.editor
            """)

    @OptionGroup var location: LocationOptions
    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The action, with its operands and options.", valueName: "action"),
        completion: .list(["join", "approve", "add", "remove", "status", "review", "leave", "run"]))
    var words: [String] = []

    func run() throws {
        if location.socket != nil {
            // The state belongs to this machine's agent.
            throw Failure("`defaults fleet` works on this machine. Don't use --socket.", .usage)
        }
        try SiblingProgram.become(
            "defaults-fleet", with: words.isEmpty ? ["--help"] : words, directory: location.directory,
            socket: nil)
    }
}
