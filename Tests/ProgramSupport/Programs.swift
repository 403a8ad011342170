import DefaultsCore
import Foundation
import TestSupport

extension Programs {
    /// The directory of the programs: `DEFAULTSD_PROGRAMS`, or the one that contains the test bundle.
    package static let directory =
        ProcessInfo.processInfo.environment["DEFAULTSD_PROGRAMS"]
        ?? URL(fileURLWithPath: AppIdentity.current.executable).deletingLastPathComponent().path

    package static let defaults = "\(directory)/defaults"
    package static let defaultsd = "\(directory)/defaultsd"
    package static let readmeExample = "\(directory)/ReadmeExample"
    package static let describedApp = "\(directory)/DescribedApp"
    package static let forker = "\(directory)/Forker"
    package static let leaver = "\(directory)/Leaver"
    package static let liveWriter = "\(directory)/LiveWriter"
    package static let preferencesWindow = "\(directory)/PreferencesWindow"
    package static let foundationApp = "\(directory)/FoundationApp"
    package static let foundationWriter = "\(directory)/FoundationWriter"

    // Programs of other projects, if they are installed.
    package static let gnustepDefaults = "/usr/bin/defaults"
    package static let plmerge = "/usr/bin/plmerge"
    package static let plparse = "/usr/bin/plparse"
    package static let plistutil = "/usr/bin/plistutil"
}
