import DefaultsKit

/// The line that replaces Foundation's class in the whole module.
typealias UserDefaults = DefaultsKit.UserDefaults
