import ArgumentParser
import DefaultsCore
import Linux
import Logging

/// The agent's logger, whose level follows the settings.
final class AgentLog: Sendable {
    /// The level given on the command line, which overrides the settings.
    private let fixedLevel: Logger.Level?
    private let current: ForkSafeMutex<Logger>

    init(level: Logger.Level?, settings: AgentSettings) {
        fixedLevel = level
        var logger = Logger(label: "defaultsd") { LineLogHandler(label: $0) }
        logger.logLevel = level ?? Logger.Level(rawValue: settings.logLevel) ?? .notice
        current = ForkSafeMutex(logger)
    }

    /// A logger with the current level.
    var logger: Logger { current.withLock { $0 } }

    /// A quieter logger for ServiceLifecycle, which logs every step.
    var lifecycle: Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, .warning)
        return logger
    }

    /// Applies the log level of changed settings.
    func follow(_ settings: AgentSettings) {
        guard fixedLevel == nil, let level = Logger.Level(rawValue: settings.logLevel) else { return }
        current.withLock { $0.logLevel = level }
    }
}

/// A log handler that writes each message to standard error on one line, even if it includes control characters from a
/// file name.
struct LineLogHandler: LogHandler {
    private var stream: StreamLogHandler

    init(label: String) {
        stream = StreamLogHandler.standardError(label: label)
    }

    func log(event: LogEvent) {
        var event = event
        event.message = Logger.Message(stringLiteral: event.message.description.printable)
        stream.log(event: event)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { stream[metadataKey: key] }
        set { stream[metadataKey: key] = newValue }
    }

    var metadata: Logger.Metadata {
        get { stream.metadata }
        set { stream.metadata = newValue }
    }

    var logLevel: Logger.Level {
        get { stream.logLevel }
        set { stream.logLevel = newValue }
    }
}

/// A log level as spelled on the command line and in the settings.
struct LogLevelName: ExpressibleByArgument {
    let level: Logger.Level

    static var all: String { Logger.Level.allCases.map(\.rawValue).joined(separator: ", ") }

    init?(argument: String) {
        guard let level = Logger.Level(rawValue: argument) else { return nil }
        self.level = level
    }

    static var allValueStrings: [String] { Logger.Level.allCases.map(\.rawValue) }
}
