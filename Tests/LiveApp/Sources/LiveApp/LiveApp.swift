import DefaultsFoundation
import DefaultsKit
import Foundation
import Observation

/// Shows a message that another process of the same program sets, in one of three ways; or sets it.
@main
struct LiveApp {
    static func main() async {
        switch CommandLine.arguments.dropFirst().first {
        case "updates": await showUpdates()
        case "observation": await showObserved()
        case "foundation": await showFoundation()
        case "set" where CommandLine.arguments.count == 3:
            UserDefaults.standard[.message] = CommandLine.arguments[2]
        default:
            print("usage: LiveApp updates | observation | foundation | set <message>")
            exit(64)
        }
    }

    /// Shows the latest value from a stream.
    static func showUpdates() async {
        for await message in UserDefaults.standard.updates(of: .message) { show(message) }
    }

    /// Shows the value as a view does, which is redrawn when a value that it has read changes.
    static func showObserved() async {
        while true {
            let (changes, change) = AsyncStream.makeStream(of: Void.self)
            let message = withObservationTracking {
                UserDefaults.standard[.message]
            } onChange: {
                change.finish()
            }
            show(message)
            for await _ in changes {}
        }
    }

    /// Shows the value of Foundation's own class, which one line makes live.
    static func showFoundation() async {
        let defaults = Foundation.UserDefaults.standard
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let observer = NotificationCenter.default.addObserver(
            forName: Foundation.UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { _ in change.yield() }
        Foundation.UserDefaults.enableLiveUpdates()
        show(defaults.string(forKey: "message") ?? "(none)")
        for await _ in changes { show(defaults.string(forKey: "message") ?? "(none)") }
        NotificationCenter.default.removeObserver(observer)
    }

    static func show(_ message: String) {
        print("message: \(message)")
        fflush(nil)
    }
}
