import DefaultsCore
import DefaultsKit
import Glibc

/// How the command ends: the statuses of `sysexits.h`, and 1 for "not found".
package enum ExitStatus: Int32 {
    case notFound = 1
    case usage = 64
    case dataError = 65
    case noInput = 66
    case unavailable = 69
    case cantCreate = 73
    case inputOutput = 74
    case temporaryFailure = 75

    /// The status for an error of the library.
    init(_ error: DefaultsError) {
        switch error.code {
        case .invalidDomainName, .invalidCursor: self = .usage
        case .damaged, .untrusted, .invalidValue, .protocolViolation: self = .dataError
        case .locked, .openForWriting, .changed, .late, .agentRefused: self = .temporaryFailure
        // One that is there and stopped: it is another matter a moment later.
        case .agentUnavailable: self = error.isOfSilence ? .temporaryFailure : .unavailable
        default: self = .inputOutput
        }
    }
}

/// An end of the command that isn't a success: a sentence, and a status.
package struct Failure: Error {
    package let message: String
    package let status: ExitStatus

    init(_ message: String, _ status: ExitStatus) {
        self.message = message
        self.status = status
    }

    /// Says why, and ends the process.
    static func end(_ message: String, _ status: ExitStatus) -> Never {
        note(message)
        exit(status.rawValue)
    }

    /// Writes a line to standard error.
    ///
    /// What it quotes may be anything, from a file say, and must stay one line.
    static func note(_ message: String) {
        let line = Array("defaults: \(message.printable)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
