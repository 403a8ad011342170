import ArgumentParser
import DefaultsCore

/// The options of `tail`: the changes to show, their form, and when to exit.
struct TailOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Start after this time, number or cursor, unless the cursor file has one.", valueName: "time"),
        transform: HistoryPoint.init(typed:))
    var since: HistoryPoint?

    @Option(
        help: ArgumentHelp(
            "Start where the last run with this file ended, and record progress in it.", valueName: "file"),
        completion: .file())
    var cursorFile: String?

    @Flag(help: "Show the current values first.")
    var initial = false

    @Option(
        name: .customShort("n"), parsing: .unconditional,
        help: ArgumentHelp("Exit after this many change sets, not counting current values.", valueName: "count"))
    var count: Int?

    @Option(parsing: .unconditional, help: ArgumentHelp("Exit after this many seconds.", valueName: "seconds"))
    var timeout: Double?

    @Option(help: "If output falls behind: latest (show only each key's latest change) or everything.")
    var mode: Mode = .everything

    @Option(
        help: ArgumentHelp("Run this shell command for each change set instead of printing it.", valueName: "command"))
    var exec: String?

    @OptionGroup var style: ColorOption

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
