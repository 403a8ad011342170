import DefaultsKit
import Glibc

/// A program that sets keys as apps do, and ends without synchronizing.
///
/// `LiveWriter <suite> <prefix> <count>` sets the keys `<prefix>0`, `<prefix>1` and so on to arrays of their number.
/// With a text as the last argument, it sets them to that text.
@main
struct LiveWriter {
    static func main() {
        let arguments = CommandLine.arguments
        guard (4...5).contains(arguments.count), let count = Int(arguments[3]),
            let defaults = UserDefaults(suiteName: arguments[1])
        else {
            print("usage: LiveWriter <suite> <prefix> <count> [<text>]")
            exit(64)
        }
        for number in 0..<count {
            let key = "\(arguments[2])\(number)"
            if arguments.count == 5 {
                defaults.set(arguments[4], forKey: key)
            } else {
                defaults.set([number], forKey: key)
            }
        }
    }
}
