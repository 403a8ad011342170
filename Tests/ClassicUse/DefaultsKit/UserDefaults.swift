import DefaultsKit

/// All that a program changes to use ours.
typealias UserDefaults = DefaultsKit.UserDefaults
