import ArgumentParser
import DefaultsKit
import PropertyList

/// A cooperating app's process: as `WriteForeign`, but with the library.
///
/// It says `KEY NUMBER` when the library says that the value is saved.
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
                // Where it can't be saved now, it is kept and tried again; `done` must not come before.
                while !defaults.synchronize() {}
                ChildLines.say("\(key) \(number)")
            }
            ChildLines.say("done")
        }
    }
}
