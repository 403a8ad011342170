import DefaultsClient
package import DefaultsCore
import Glibc
import Linux

/// The command's exit statuses: those of `sysexits.h`, 1 for "not found", and that of timeout(1).
package enum ExitStatus: Int32 {
    case notFound = 1
    case usage = 64
    case dataError = 65
    case noInput = 66
    case unavailable = 69
    case cantCreate = 73
    case inputOutput = 74
    case temporaryFailure = 75
    /// The status of timeout(1): what a command waited for didn't come in time.
    case timeout = 124

    /// Creates the status for an error of the library.
    package init(_ error: DefaultsError) {
        switch error.code {
        case .invalidDomainName, .invalidCursor: self = .usage
        case .damaged, .untrusted, .invalidValue, .protocolViolation: self = .dataError
        case .locked, .openForWriting, .changed, .late, .agentRefused: self = .temporaryFailure
        // An agent that times out is stopped or busy, so retrying may help.
        case .agentUnavailable: self = error.isTimeout ? .temporaryFailure : .unavailable
        default: self = .inputOutput
        }
    }
}

/// A failure of the command: a message and an exit status.
package struct Failure: Error {
    package let message: String
    package let status: ExitStatus

    package init(_ message: String, _ status: ExitStatus) {
        self.message = message
        self.status = status
    }

    init(_ failure: ChildProcess.Failure) {
        switch failure {
        case .start: self.init(failure.description, .unavailable)
        case .status: self.init(failure.description, .inputOutput)
        }
    }

    /// Evaluates an expression, and throws its error as the command's.
    static func translating<Value>(
        _ value: @autoclosure () throws(ChildProcess.Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(ChildProcess.Failure) { return try value() } catch { throw Failure(error) }
    }

    /// Writes a message to standard error, and ends the process.
    package static func end(_ message: String, _ status: ExitStatus) -> Never {
        report(message)
        exit(status.rawValue)
    }

    /// Writes a line to standard error.
    ///
    /// Control characters are escaped: the message may quote anything, such as a file's contents, and must stay one
    /// line.
    package static func report(_ message: String) {
        let line = Array("defaults: \(message.printable)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
