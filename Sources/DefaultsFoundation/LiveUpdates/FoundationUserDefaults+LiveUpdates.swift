public import Foundation

extension Foundation.UserDefaults {
    /// Makes Foundation's own preferences follow changes by others, in a program that keeps using them.
    ///
    /// By itself, Foundation on Linux reads a file once, and sees later changes only after `synchronize()`. After this
    /// call, whenever the agent, an editor, another process, or this one through DefaultsKit changes a domain that an
    /// instance searches, the instance's `synchronize()` is called once the change is in the file, and
    /// `didChangeNotification` is posted with the instance as its object. Both happen on a dedicated queue, with no
    /// lock held. The user information is that of DefaultsKit's notification. Changes that the program itself saves
    /// through Foundation are reported as well, since a file doesn't tell which process wrote it.
    ///
    /// `synchronize()` also writes the program's unsaved changes. Foundation truncates the file for that and ignores
    /// other writers. If the agent is running, it restores values lost in this way.
    ///
    /// The call waits until the domains are followed, then makes the instances read them again. It may be repeated,
    /// from any thread, to add suites; an instance is notified once per change however often it was added. Instances
    /// are retained until `disableLiveUpdates()`.
    ///
    /// ```swift
    /// let shared = UserDefaults(suiteName: "org.example.shared")
    /// UserDefaults.enableLiveUpdates()                                       // standard
    /// UserDefaults.enableLiveUpdates(suites: ["org.example.shared": shared]) // and a suite
    /// ```
    ///
    /// - Parameter suites: Instances other than `standard`, by the names of the suites that they were created for. For
    ///   a suite that was added to `standard`, pass `.standard`.
    public static func enableLiveUpdates(suites: [String: Foundation.UserDefaults?] = [:]) {
        LiveUpdates.shared.enable(suites.compactMapValues { $0 })
    }

    /// Stops live updates for all instances.
    ///
    /// A notification that is being posted on another thread still arrives.
    public static func disableLiveUpdates() {
        LiveUpdates.shared.disable()
    }
}

/// An instance of Foundation's class, with the names of the domains that it searches.
struct FollowedInstance: Sendable {
    /// The instance.
    ///
    /// Guarded by CFPreferences' own locks: its only state is the constant name of its suite, and all its calls go to
    /// CFPreferences. Foundation doesn't declare it Sendable, but documents that it may be used on any thread.
    nonisolated(unsafe) let defaults: Foundation.UserDefaults
    var names: Set<String>
}
