import DefaultsCore
import Logging
import Synchronization

/// The agent's logger, whose level follows the settings.
final class AgentLog: Sendable {
    /// The level that the command line asks for, over whatever the settings say.
    private let fixedLevel: Logger.Level?
    private let current: Mutex<Logger>

    init(level: Logger.Level?, settings: AgentSettings) {
        fixedLevel = level
        var logger = Logger(label: "defaultsd") { LineLogHandler(label: $0) }
        logger.logLevel = level ?? Logger.Level(rawValue: settings.logLevel) ?? .notice
        current = Mutex(logger)
    }

    /// A logger with the level as it is now.
    var logger: Logger { current.withLock { $0 } }

    /// A logger for the library that starts and ends services, which tells of each step.
    var lifecycle: Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }

    /// Takes the level from changed settings.
    func follow(_ settings: AgentSettings) {
        guard fixedLevel == nil, let level = Logger.Level(rawValue: settings.logLevel) else { return }
        current.withLock { $0.logLevel = level }
    }
}
