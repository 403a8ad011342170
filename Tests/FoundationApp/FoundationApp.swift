import DefaultsFoundation
import DefaultsKit
import Dispatch
import Foundation
import Glibc

/// A program that uses Foundation's own UserDefaults with live updates, or DefaultsKit's with notifications.
///
/// - `FoundationApp live [suite]` prints a line for each of Foundation's notifications: who was told, the domain, and what
///   its keys are to Foundation. When the key "k" becomes "stop", it disables the updates, and prints what DefaultsKit
///   sees from then on.
/// - `FoundationApp unsaved value` does that too, and has set the key "unsaved" without saving it.
/// - `FoundationApp notifications [call…]` prints a line for each of DefaultsKit's; a call is `set key value`, say.
@main
struct FoundationApp {
    static func main() {
        // The test may die before it ends this.
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
