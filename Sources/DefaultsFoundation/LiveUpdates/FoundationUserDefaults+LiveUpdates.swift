public import Foundation

extension Foundation.UserDefaults {
    /// Makes Foundation's own `UserDefaults` follow changes that are made without it.
    ///
    /// By itself, Foundation on Linux reads a file once, and sees later changes only after `synchronize()`. After this
    /// call, it follows changes to each domain that an instance searches, whether the agent, an editor, another
    /// process, or this process through DefaultsKit makes them. Once a change is in the file, the instance's
    /// `synchronize()` is called, and `didChangeNotification` is posted with the instance as its object. Both happen on
    /// a dedicated queue, with no lock held. The user information is the same as in DefaultsKit's notification. Changes
    /// that the program itself saves through Foundation are reported as well, since a file doesn't show which process
    /// wrote it.
    ///
    /// `synchronize()` also writes the program's unsaved changes. To do so, Foundation truncates the file and ignores
    /// other writers. If the agent is running, it restores values that are lost as a result.
    ///
    /// The call waits until the domains are followed, then makes the instances read them again. You can call it
    /// repeatedly, from any thread, to add suites; an instance is notified once per change even if it was added several
    /// times. Instances are retained until `disableLiveUpdates()`.
    ///
    /// ```swift
    /// let shared = UserDefaults(suiteName: "org.example.shared")
    /// UserDefaults.enableLiveUpdates()                                       // standard
    /// UserDefaults.enableLiveUpdates(suites: ["org.example.shared": shared]) // and a suite
    /// ```
    ///
    /// - Parameter suites: Instances other than `standard`, keyed by the names of their suites. For a suite that was
    ///   added to `standard`, pass `.standard`.
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
