/// A service of registers that many machines share: etcd, or in tests, a simulated one.
///
/// All changes of registers have one order, their revisions. Registers that are written together have one revision, and
/// a watch reports them together. Every function waits for its answer.
package protocol RegisterService: AnyObject {
    /// Returns all registers whose names begin with a prefix, as of one revision.
    func range(_ prefix: String) throws(RegisterFailure) -> RegisterRange

    /// Returns one register; `nil` if there is none of that name.
    func register(_ name: String) throws(RegisterFailure) -> Register?

    /// Returns the revisions of all registers whose names begin with a prefix, without their contents.
    func revisions(_ prefix: String) throws(RegisterFailure) -> RegisterRevisions

    /// Writes registers together, if others are as expected.
    ///
    /// - Parameters:
    ///   - writes: The new contents, at most ``RegisterLimits/writes``.
    ///   - expected: The revisions that registers must have, 0 for one that must not exist.
    /// - Returns: The revision; `nil` if a register is not as expected.
    /// - Throws: After `.unavailable`, the registers may have been written or not: read them.
    func write(_ writes: [RegisterWrite], expecting expected: [String: Int64]) throws(RegisterFailure) -> Int64?

    /// Begins to watch the registers whose names begin with a prefix, in place of the last watch.
    func watch(_ prefix: String, after revision: Int64) throws(RegisterFailure)

    /// A descriptor that is readable when the watch has something new; negative if there is no watch.
    var eventDescriptor: Int32 { get }

    /// Returns the next event of the watch; `nil` if none arrives in time.
    ///
    /// - Throws: If the watch has ended.
    func nextEvent(within milliseconds: Int32) throws(RegisterFailure) -> RegisterEvent?
}

/// The limits of one write.
package enum RegisterLimits {
    /// The number of registers, as etcd is configured by default (`--max-txn-ops`).
    package static let writes = 128
    /// The total size in bytes; etcd's default is 1.5 MiB for the whole request.
    package static let bytes = 1 << 20
}

/// The contents of a register, and when they were written.
package struct Register: Hashable, Sendable {
    package var name: String
    package var contents: [UInt8]
    package var revision: Int64

    package init(_ name: String, _ contents: [UInt8], revision: Int64) {
        (self.name, self.contents, self.revision) = (name, contents, revision)
    }
}

/// All registers with a prefix, as of one revision.
package struct RegisterRange: Sendable {
    package var registers: [Register]
    package var revision: Int64
    /// The service's own identifier, which may be another one after it has been set up anew.
    package var service: UInt64

    package init(_ registers: [Register], revision: Int64, service: UInt64) {
        (self.registers, self.revision, self.service) = (registers, revision, service)
    }
}

/// The revisions of all registers with a prefix, as of one revision.
package struct RegisterRevisions: Sendable {
    package var registers: [String: Int64]
    package var revision: Int64
    /// The service's own identifier.
    package var service: UInt64

    package init(_ registers: [String: Int64], revision: Int64, service: UInt64) {
        (self.registers, self.revision, self.service) = (registers, revision, service)
    }
}

/// The new contents of a register; or none, to remove it.
package struct RegisterWrite: Hashable, Sendable {
    package var name: String
    package var contents: [UInt8]?
    /// Whether the service removes the register by itself after ninety days.
    package var isTemporary: Bool

    package init(_ name: String, _ contents: [UInt8]?, isTemporary: Bool = false) {
        (self.name, self.contents, self.isTemporary) = (name, contents, isTemporary)
    }

    /// The size in bytes.
    var size: Int { name.utf8.count + (contents?.count ?? 0) }
}

/// An event of a watch.
package enum RegisterEvent: Sendable {
    /// Registers have changed up to a revision; those of one revision are never in two events.
    case changes([Register], removed: [String], revision: Int64)
    /// The service no longer knows everything that has changed since the revision of the watch, or the machine was too
    /// slow to receive it.
    case gap

    /// The names of the registers that have changed.
    var names: [String] {
        switch self {
        case .changes(let changed, let removed, _): changed.map(\.name) + removed
        case .gap: []
        }
    }
}

/// The reason why a service can't be used.
package enum RegisterFailure: Error, Sendable, Hashable {
    /// It can't be reached, or doesn't answer in time: it may have done what was asked or not.
    case unavailable(String)
    /// It refuses what was asked.
    case refused(String)
    /// The certificate has expired; the day.
    case expired(String)
}
