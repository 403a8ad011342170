import DefaultsKit

/// The only line that a program adds to use our class.
typealias UserDefaults = DefaultsKit.UserDefaults
