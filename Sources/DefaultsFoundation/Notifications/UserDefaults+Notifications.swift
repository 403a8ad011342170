public import DefaultsKit
public import Foundation

extension DefaultsKit.UserDefaults {
    /// The name of the notification that preferences have changed, which `NotificationCenter.default` posts.
    ///
    /// It is Apple's name, and the same as Foundation's. From the first use of this constant on it is posted:
    /// - once for each call of this process that sets, removes or registers, even to what was there: on the calling
    ///   thread, before the call returns, with the called instance as the object;
    /// - once for each change set that anyone else makes to a domain which `standard` searches, and once when some have
    ///   been missed: on a thread of Swift's pool, with `standard` as the object. Suites that `standard` is given later
    ///   are not followed.
    ///
    /// The values have changed already when it is posted, and no lock is held: an observer may read and set. The user
    /// information has `changedDomainKey` and `changedKeysKey`; it has neither when changes have been missed.
    ///
    /// The first use waits until the domains of `standard` are there, as a first read does; so set
    /// `applicationIdentifier` before. Where no agent runs, changes by others come within a second.
    ///
    /// ```swift
    /// import class DefaultsKit.UserDefaults
    /// import DefaultsFoundation
    /// import Foundation
    ///
    /// NotificationCenter.default.addObserver(
    ///     forName: UserDefaults.didChangeNotification, object: nil, queue: .main
    /// ) { notification in
    ///     print(notification.userInfo?[UserDefaults.changedKeysKey] ?? "anything")
    /// }
    /// ```
    public static let didChangeNotification: Notification.Name = {
        ChangeNotifications.start()
        return ChangeNotifications.name
    }()

    /// The key of a notification's user information for the name of the domain that was changed, a `String`.
    public static let changedDomainKey = "DefaultsChangedDomain"

    /// The key of a notification's user information for the names of the changed keys, a `[String]`.
    ///
    /// For a call of this process it names the keys that were to be set, changed or not.
    public static let changedKeysKey = "DefaultsChangedKeys"
}
