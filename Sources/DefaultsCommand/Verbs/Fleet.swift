import ArgumentParser

/// The help of `defaults fleet`, also for the program `defaults-fleet`, which shows it.
package enum FleetHelp {
    package static let discussion = """
        A fleet is a folder that Syncthing, Nextcloud, Dropbox, a network file system or a USB stick carries from \
        machine to machine. Each machine writes files of its own there; a machine needs the fleet's key to read the \
        names and values in them. Only what you add travels, except for keys that belong to one machine. Of two edits \
        of a key, the later one wins on all machines; the other stays in the history.

        `join` makes this machine a member, and `approve` lets another one join that shows a code. `add` and \
        `remove` change what travels. `status` shows the machines, or why keys of a domain are held back. `review` \
        shows edits that were overruled. `leave` ends the membership, and `run` is what the service defaults-fleet \
        runs. `defaults fleet join --help` describes `join`, and so on.

        Services with many machines use etcd instead of a folder, if the program was built with it \
        (`Config/install --etcd`): `init` sets it up, each machine runs `receive`, `push` sets keys on all \
        machines of a group or some of them first, and `rollout` shows which machine has what, and undoes a push.

        EXAMPLES
          defaults fleet join ~/Sync/prefs
          defaults fleet add org.example.editor
          defaults fleet status org.example.editor
        """
}

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
            defaults fleet init etcd <directory> [--members <name>=<host>,…]
            defaults fleet receive --groups <group>,…
            defaults fleet push --to <group> [--canary <share>] <domain> <key> <value>
            defaults fleet rollout [<number>] [--share <share>] [--undo] [--wait <seconds>]
            """,
        discussion: FleetHelp.discussion)

    @OptionGroup var location: LocationOptions
    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The action, with its operands and options.", valueName: "action"),
        completion: .list([
            "join", "approve", "add", "remove", "status", "review", "leave", "run", "init", "receive", "push",
            "rollout",
        ]))
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
