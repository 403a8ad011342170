import Foundation

/// An ordinary program that stores its preferences with Foundation's own UserDefaults, unaware of the agent.
///
/// `FoundationWriter suite key value` sets a string; without a value, it removes the key.
@main
struct FoundationWriter {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3, let defaults = UserDefaults(suiteName: arguments[1]) else { exit(64) }
        if arguments.count > 3 {
            defaults.set(arguments[3], forKey: arguments[2])
        } else {
            defaults.removeObject(forKey: arguments[2])
        }
        exit(defaults.synchronize() ? 0 : 1)
    }
}
