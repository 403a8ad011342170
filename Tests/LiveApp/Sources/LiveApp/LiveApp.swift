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

    /// The newest value, as a stream.
    static func showUpdates() async {
        for await message in UserDefaults.standard.updates(of: .message) { show(message) }
    }

    /// What a view does that is drawn anew when something changes that it has read.
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

    /// Foundation's own class, which one line makes live.
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
