import ArgumentParser
import DefaultsKit

/// A process that sets a key to the current time for each line of its input.
///
/// It prints "ready" first and, for each line "save", the time until the value was on disk.
struct SetKey: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "set-key", shouldDisplay: false)

    @Argument var domain: String

    func run() throws {
        guard let defaults = DefaultsKit.UserDefaults(suiteName: domain) else { return }
        _ = defaults.integer(forKey: FollowKey.key)
        ChildLines.say("ready")
        while let line = readLine() {
            let start = Stopwatch.now
            defaults.set(Int(start * 1e9), forKey: FollowKey.key)
            guard line == "save" else { continue }
            ChildLines.say(defaults.synchronize() ? "\(Stopwatch.now - start)" : "not saved")
        }
    }
}
