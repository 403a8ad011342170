import ArgumentParser
import DefaultsKit

/// The process that sets a key to the time, once for each line that it gets; it says that it is ready first.
struct SetKey: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "set-key", shouldDisplay: false)

    @Argument var domain: String

    func run() throws {
        guard let defaults = DefaultsKit.UserDefaults(suiteName: domain) else { return }
        _ = defaults.integer(forKey: FollowKey.key)
        ChildLines.say("ready")
        while readLine() != nil { defaults.set(Int(Stopwatch.now * 1e9), forKey: FollowKey.key) }
    }
}
