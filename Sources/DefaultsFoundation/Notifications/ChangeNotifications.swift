import DefaultsKit
import Foundation

/// What posts `didChangeNotification`, from its start to the end of the process.
enum ChangeNotifications {
    /// The name, for code that runs while `didChangeNotification` is made.
    static let name = Notification.Name("NSUserDefaultsDidChangeNotification")

    /// Posts from now on; to be called once.
    static func start() {
        BundleIdentifier.suggest()
        LocalEdits.observe { edit in
            post(edit.defaults, userInfo(domain: edit.domain, keys: edit.keys))
        }
        // Made here and not in the task: what changes after the first use of the name is not to be missed.
        let events = DefaultsKit.UserDefaults.standard.changes(in: .searchList).makeAsyncIterator()
        Task {
            var events = events
            while let event = await events.next() {
                switch event {
                // It was told when it was made.
                case .change(let change) where change.source == .thisProcess: break
                case .change, .gap: post(.standard, userInfo(of: event))
                case .damaged, .unsaved, .recovered: break
                }
            }
        }
    }

    /// What a notification says of an event; nothing of a gap.
    static func userInfo(of event: DefaultsEvent) -> [AnyHashable: Any]? {
        guard case .change(let change) = event else { return nil }
        return userInfo(domain: change.domain.name, keys: change.keys.map(\.name))
    }

    private static func userInfo(domain: String, keys: [String]) -> [AnyHashable: Any] {
        [DefaultsKit.UserDefaults.changedDomainKey: domain, DefaultsKit.UserDefaults.changedKeysKey: keys]
    }

    private static func post(_ defaults: DefaultsKit.UserDefaults, _ userInfo: [AnyHashable: Any]?) {
        NotificationCenter.default.post(name: name, object: defaults, userInfo: userInfo)
    }
}
