/// The way by which files get from a machine to the others: a folder that a tool syncs, or memory in a test.
///
/// Each machine writes only its own files. Files with edits never change. Files arrive late, in any order, or in part.
package protocol FleetTransport {
    /// The machines that have files, in order.
    func machines() throws -> [MachineID]

    /// The names of the files that a machine has now, in order.
    func names(of machine: MachineID) throws -> [String]

    /// The files that a machine has now, by their names, each with what differs if its contents do.
    func versions(of machine: MachineID) throws -> [String: FleetFileVersion]

    /// Returns a file's contents, as far as they have arrived; `nil` if there is no such file.
    func contents(of name: String, of machine: MachineID) throws -> [UInt8]?

    /// Adds a file of this machine's, and returns when it is durable.
    func add(_ name: String, _ bytes: [UInt8]) throws

    /// Removes a file of this machine's.
    func remove(_ name: String) throws

    /// Makes the place of this machine's files, and returns when that is durable.
    func prepare() throws
}

/// A file's identity, size and times, or in a test, its contents: an equal version has equal contents, unless a program
/// writes on within the resolution of the times.
package struct FleetFileVersion: Hashable, Sendable {
    private let numbers: [Int]
    /// The time of the last change in milliseconds since 1970.
    private let time: UInt64

    package init(_ numbers: [Int], changedAt time: UInt64) { (self.numbers, self.time) = (numbers, time) }

    /// The coarsest resolution, that of FAT, in milliseconds.
    private static let resolution: UInt64 = 2_000
    /// The time in milliseconds by which the clock of a file server may be ahead.
    private static let tolerance: UInt64 = 60_000

    /// Returns whether a file with this version may have other contents than a while ago.
    func isRecent(at milliseconds: UInt64) -> Bool {
        milliseconds < time + Self.resolution && time < milliseconds + Self.tolerance
    }
}

extension FleetTransport {
    /// The files with edits that a machine has now, in order.
    package func files(of machine: MachineID) throws -> [FleetFileName] {
        try names(of: machine).compactMap { FleetFileName($0, of: machine) }.sorted()
    }

    package func contents(of name: FleetFileName) throws -> [UInt8]? {
        try contents(of: "\(name)", of: name.machine)
    }
}
