import ArgumentParser
import DefaultsCore

/// What `tail` shows, from where, and for how long.
struct TailOptions: ParsableArguments {
    @Flag(help: "Prints an object of JSON a line.")
    var json = false

    @Option(help: "Begins after this cursor.")
    var since: String?

    @Option(
        help: "Begins where the last run with this file ended, and notes in it what has been shown.",
        completion: .file())
    var cursorFile: String?

    @Flag(help: "Shows the values as they are first.")
    var initial = false

    @Option(name: .customShort("n"), parsing: .unconditional, help: "Ends after so many change sets.")
    var count: Int?

    @Option(parsing: .unconditional, help: "Ends after so many seconds.")
    var timeout: Double?

    @Option(help: "What to show when changes come faster than they are read: each key's latest, or everything.")
    var mode: Mode = .everything

    @Option(
        help: ArgumentHelp(
            "Runs this command of the shell for each change set, instead of printing it.", valueName: "command"))
    var exec: String?

    @Option(help: "Colours: auto, always or never.")
    var color: ColorChoice = .auto

    /// The modes of a subscription that the command offers.
    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case latest
        case everything

        var subscriptionMode: Subscription.Mode {
            switch self {
            case .latest: .latest
            case .everything: .everything
            }
        }
    }
}
