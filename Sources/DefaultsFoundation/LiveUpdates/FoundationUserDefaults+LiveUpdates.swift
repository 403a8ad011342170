public import Foundation

extension Foundation.UserDefaults {
    /// Has Foundation's own preferences see what others change, from now on, in a program that goes on using them.
    ///
    /// By itself, Foundation on Linux reads a file once, and sees later changes when someone calls `synchronize()`. After
    /// this call, when the agent, an editor, or another process changes a domain that an instance searches, or this one
    /// through DefaultsKit, then, once the change is in the file, the instance's `synchronize()` is called, and
    /// `didChangeNotification` posted with the instance as its object: on a thread of its own, with no lock held. The
    /// user information is that of DefaultsKit's notification. What the program saves through Foundation is told as well,
    /// since a file doesn't say who wrote it.
    ///
    /// `synchronize()` also writes what the program has set and not saved yet. Foundation truncates the file for that,
    /// and takes no care of other writers; where the agent runs, it puts back what is lost in this way.
    ///
    /// The call waits until the domains are followed, and has the instances read them anew. It may be made again, from any
    /// thread, for more suites; an instance is told once however often it was named. Instances are kept until
    /// `disableLiveUpdates()`.
    ///
    /// ```swift
    /// let shared = UserDefaults(suiteName: "org.example.shared")
    /// UserDefaults.enableLiveUpdates()                                       // standard
    /// UserDefaults.enableLiveUpdates(suites: ["org.example.shared": shared]) // and a suite
    /// ```
    ///
    /// - Parameter suites: besides `standard`, instances by the name of the suite that each was made for. For a suite that
    ///   was added to `standard`, name `.standard` here.
    public static func enableLiveUpdates(suites: [String: Foundation.UserDefaults?] = [:]) {
        LiveUpdates.shared.enable(suites.compactMapValues { $0 })
    }

    /// Ends what `enableLiveUpdates` began, for all instances.
    ///
    /// A notification that is being posted on another thread still comes.
    public static func disableLiveUpdates() {
        LiveUpdates.shared.disable()
    }
}
