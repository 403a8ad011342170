import DefaultsKit
import Glibc

/// A program that sets keys as apps do, and ends without a word to the library.
///
/// `LiveWriter <suite> <prefix> <count>` sets `<prefix>0` and so on to their numbers.
@main
struct LiveWriter {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[3]), let defaults = UserDefaults(suiteName: arguments[1])
        else {
            print("usage: LiveWriter <suite> <prefix> <count>")
            exit(64)
        }
        for number in 0..<count { defaults.set(number, forKey: "\(arguments[2])\(number)") }
    }
}
