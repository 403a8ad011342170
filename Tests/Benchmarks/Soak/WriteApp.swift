import ArgumentParser
import DefaultsKit
import PropertyList

/// A cooperating app's process: like `WriteForeign`, but with the library.
///
/// It prints `KEY NUMBER` when the library reports the value as saved.
struct WriteApp: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "write-app", shouldDisplay: false)

    @Argument var domain: String
    @Argument var prefix: String
    @Argument var keys: Int

    func run() throws {
        guard let defaults = UserDefaults(suiteName: domain) else { throw ExitCode(64) }
        while let line = readLine(), let number = Int(line) {
            for key in 0..<keys {
                defaults.set(number, forKey: "\(prefix)\(key)")
                // A value that can't be saved now is retried; `done` must not be printed until it is saved.
                while !defaults.synchronize() {}
                ChildLines.say("\(key) \(number)")
            }
            ChildLines.say("done")
        }
    }
}
