import ArgumentParser
import Logging

/// A log level as it is written on the command line and in the settings.
struct LogLevelName: ExpressibleByArgument {
    let level: Logger.Level

    static var all: String { Logger.Level.allCases.map(\.rawValue).joined(separator: ", ") }

    init?(argument: String) {
        guard let level = Logger.Level(rawValue: argument) else { return nil }
        self.level = level
    }

    static var allValueStrings: [String] { Logger.Level.allCases.map(\.rawValue) }
}
