#if OVER_FOUNDATION
import Foundation
import Synchronization

/// The mutex of this process; it needs no other, since an app on Apple's systems doesn't use Foundation after `fork()`.
typealias ForkSafeMutex = Mutex

/// A problem found by this module.
struct Problem: Hashable, Sendable {
    /// The subject of a problem.
    enum Kind: String, Sendable {
        case value, type, edit, file, saving, agent, name, directory, archive, cancellation
    }

    let kind: Kind
    /// A complete sentence for people: what happened, where, and the remedy.
    let description: String
    /// The system's error number, which no problem of this module has.
    let errno: Int32?

    init(_ kind: Kind, describedBy description: String, errno: Int32? = nil) {
        self.kind = kind
        self.description = description
        self.errno = errno
    }
}

/// The reporting of problems in this process: to the program's handler, or else to standard error.
package enum ProblemHandler {
    /// The program's handler; it is not called under the lock.
    private static let handler = Mutex<(@Sendable (Problem) -> Void)?>(nil)

    static func set(_ new: (@Sendable (Problem) -> Void)?) {
        handler.withLock { $0 = new }
    }

    /// Reports a problem on the caller's thread.
    static func report(_ problem: Problem) {
        if let handler = handler.withLock({ $0 }) { return handler(problem) }
        FileHandle.standardError.write(Data("UserDefaults: \(problem.description)\n".utf8))
    }
}
#endif
