import DefaultsFoundation
import DefaultsKit
import Foundation

/// A program that uses Foundation's own UserDefaults with live updates.
enum LiveApp {
    static func start(suite name: String?, unsaved: String? = nil) {
        let suite = name.flatMap { Foundation.UserDefaults(suiteName: $0) }
        // Foundation has read the files before live updates are enabled, and wouldn't read them again by itself.
        FoundationApp.print("begins with \(text(Foundation.UserDefaults.standard, ["k"]))")
        let suiteIdentity = suite.map(ObjectIdentifier.init)
        _ = NotificationCenter.default.addObserver(
            forName: Foundation.UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { notification in
            guard let defaults = notification.object as? Foundation.UserDefaults else { return }
            let domain = notification.userInfo?[DefaultsKit.UserDefaults.changedDomainKey] as? String
            let keys = notification.userInfo?[DefaultsKit.UserDefaults.changedKeysKey] as? [String]
            // There are no keys if changes were missed.
            let who =
                switch ObjectIdentifier(defaults) {
                case ObjectIdentifier(Foundation.UserDefaults.standard): "standard"
                case suiteIdentity: "suite"
                default: "nobody"
                }
            FoundationApp.print("\(who) \(domain ?? "?"): \(text(defaults, keys ?? ["k"]))")
            if defaults.string(forKey: "k") == "stop" { stop() }
        }
        if let name, let suite {
            Foundation.UserDefaults.enableLiveUpdates(suites: [name: suite])
            // The second call has no effect.
            Foundation.UserDefaults.enableLiveUpdates(suites: [name: suite])
        } else {
            Foundation.UserDefaults.enableLiveUpdates()
        }
        if let unsaved { Foundation.UserDefaults.standard.set(unsaved, forKey: "unsaved") }
        FoundationApp.print("ready \(DefaultsKit.UserDefaults.applicationIdentifier)")
    }

    private static func stop() {
        Foundation.UserDefaults.disableLiveUpdates()
        _ = DefaultsKit.UserDefaults.standard.values()
        let changes = DefaultsKit.UserDefaults.standard.changes(in: .application).makeAsyncIterator()
        FoundationApp.print("stopped")
        Task {
            var changes = changes
            while case .change(let change)? = try? await changes.next() {
                DefaultsKit.UserDefaults.standard.synchronize()
                let keys = change.changes.map(\.key)
                let values = keys.map { "\($0)=\(DefaultsKit.UserDefaults.standard.string(forKey: $0) ?? "none")" }
                FoundationApp.print("changed \(values.joined(separator: " ")), in Foundation \(text(.standard, keys))")
            }
        }
    }

    private static func text(_ defaults: Foundation.UserDefaults, _ keys: [String]) -> String {
        keys.map { "\($0)=\(defaults.string(forKey: $0) ?? "none")" }.joined(separator: " ")
    }
}
