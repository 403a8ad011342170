import DefaultsKit
import Foundation

/// The identifier of the bundle that the program is in, after which Foundation names its preferences.
enum BundleIdentifier {
    /// The name of the domain of Foundation's `standard`.
    ///
    /// It is the main bundle's identifier, and without one the name of the executable's file; a `processName` that the
    /// program sets makes no difference to it.
    static var ofFoundation: String {
        Bundle.main.bundleIdentifier ?? Bundle.main.executableURL?.lastPathComponent
            ?? ProcessInfo.processInfo.processName
    }

    /// Has DefaultsKit name the program's domain after it too, unless the program named it or uses it already.
    static func suggest() {
        if let identifier = Bundle.main.bundleIdentifier { ApplicationIdentifier.suggest(identifier) }
    }
}
