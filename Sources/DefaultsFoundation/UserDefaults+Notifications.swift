public import DefaultsKit
public import Foundation

/// The identifier of the program's bundle, which names the domain of Foundation's preferences.
enum BundleIdentifier {
    /// The name of the domain of Foundation's `standard`.
    ///
    /// It is the main bundle's identifier or, without one, the name of the executable file. A `processName` set by the
    /// program does not affect it.
    static var ofFoundation: String {
        Bundle.main.bundleIdentifier ?? Bundle.main.executableURL?.lastPathComponent
            ?? ProcessInfo.processInfo.processName
    }

    /// Makes DefaultsKit also name the program's domain after the bundle, unless the program has already named or used
    /// it.
    static func suggest() {
        if let identifier = Bundle.main.bundleIdentifier { ApplicationIdentifier.suggest(identifier) }
    }
}

/// The source of `didChangeNotification`, from `start()` to the end of the process.
enum ChangeNotifications {
    /// The notification's name, for code that runs while `didChangeNotification` is initialized.
    static let name = Notification.Name("NSUserDefaultsDidChangeNotification")

    /// Starts posting notifications; called once.
    static func start() {
        BundleIdentifier.suggest()
        OwnChanges.observe { edit in
            post(edit.defaults, userInfo: userInfo(domain: edit.domain, keys: edit.keys))
        }
        // Load the values and create the iterator here, not in the task, so that no change after the first use of the
        // name is missed.
        _ = DefaultsKit.UserDefaults.standard.values()
        let events = DefaultsKit.UserDefaults.standard.changes(in: .searchList).makeAsyncIterator()
        Task {
            var events = events
            while let event = try? await events.next() {
                switch event {
                // The notification was already posted when the change was made.
                case .change(let change) where change.source == .thisProcess: break
                case .change, .gap: post(.standard, userInfo: userInfo(of: event))
                case .overruled, .damaged, .unsaved, .recovered: break
                }
            }
        }
    }

    /// Returns the user information for an event; `nil` for a gap.
    static func userInfo(of event: DefaultsEvent) -> [AnyHashable: Any]? {
        guard case .change(let change) = event else { return nil }
        return userInfo(domain: change.domain.name, keys: change.changes.map(\.key))
    }

    private static func userInfo(domain: String, keys: [String]) -> [AnyHashable: Any] {
        [DefaultsKit.UserDefaults.changedDomainKey: domain, DefaultsKit.UserDefaults.changedKeysKey: keys]
    }

    private static func post(_ defaults: DefaultsKit.UserDefaults, userInfo: [AnyHashable: Any]?) {
        NotificationCenter.default.post(name: name, object: defaults, userInfo: userInfo)
    }
}

extension DefaultsKit.UserDefaults {
    /// The name of the notification that `NotificationCenter.default` posts when preferences have changed.
    ///
    /// The name is the same as Apple's and Foundation's. From the first use of this constant, the notification is
    /// posted:
    /// - once for each call in this process that sets, removes or registers values, even unchanged ones: on the calling
    ///   thread, before the call returns, with the called instance as the object;
    /// - once for each change set that another process makes to a domain in the search list of `standard`, and once
    ///   after missed changes: on a thread of Swift's pool, with `standard` as the object. Suites added to `standard`
    ///   later are not followed.
    ///
    /// When the notification is posted, the values have already changed and no lock is held: observers may read and set
    /// values. The user information contains `changedDomainKey` and `changedKeysKey`, or neither if changes were
    /// missed.
    ///
    /// An observer with a queue runs there, and the call that posts waits for it. So with `queue: .main`, a call on
    /// another thread never returns in a program that doesn't run its main queue, such as a server, a tool or a GTK
    /// app.
    ///
    /// The first use waits until the domains of `standard` are loaded, as a first read does, so set
    /// `applicationIdentifier` first. If no agent is running, changes by other processes arrive within a second.
    ///
    /// ```swift
    /// import class DefaultsKit.UserDefaults
    /// import DefaultsFoundation
    /// import Foundation
    ///
    /// NotificationCenter.default.addObserver(
    ///     forName: UserDefaults.didChangeNotification, object: nil, queue: nil
    /// ) { notification in
    ///     print(notification.userInfo?[UserDefaults.changedKeysKey] ?? "anything")
    /// }
    /// ```
    public static let didChangeNotification: Notification.Name = {
        ChangeNotifications.start()
        return ChangeNotifications.name
    }()

    /// The user information key for the name of the changed domain, a `String`.
    public static let changedDomainKey = "DefaultsChangedDomain"

    /// The user information key for the names of the changed keys, a `[String]`.
    ///
    /// For a call in this process, it lists the keys that the call set, whether their values changed or not.
    public static let changedKeysKey = "DefaultsChangedKeys"
}
