import DefaultsFoundation
import DefaultsKit
import Dispatch
import Foundation
import Glibc

/// A program that uses Foundation's own UserDefaults with live updates, or DefaultsKit's with notifications.
///
/// - `FoundationApp live [suite]` prints a line for each of Foundation's notifications: the notified instance, the
///   domain, and its keys' values as Foundation sees them. When the key "k" becomes "stop", it disables live updates,
///   and from then on prints what DefaultsKit sees.
/// - `FoundationApp unsaved value` does the same, after setting the key "unsaved" without saving it.
/// - `FoundationApp notifications [call…]` prints a line for each of DefaultsKit's notifications; a call is, for
///   example, `set key value`.
@main
struct FoundationApp {
    static func main() {
        // Exits by itself if the test crashes before stopping it.
        alarm(120)
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "live": LiveApp.start(suite: arguments.dropFirst().first)
        case "unsaved": LiveApp.start(suite: nil, unsaved: arguments.dropFirst().first)
        case "notifications": NotifiedApp.start(calls: Array(arguments.dropFirst()))
        default: exit(64)
        }
        dispatchMain()
    }

    static func print(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
