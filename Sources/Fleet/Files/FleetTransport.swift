/// The way by which files get from a machine to the others: a folder that a tool syncs, or memory in a test.
///
/// Each machine writes only its own files. Files with edits never change. Files arrive late, in any order, or in part.
package protocol FleetTransport {
    /// The machines that have files, in order.
    func machines() throws -> [MachineID]

    /// The names of the files that a machine has now, in order.
    func names(of machine: MachineID) throws -> [String]

    /// Returns a file's contents, as far as they have arrived; `nil` if there is no such file.
    func contents(of name: String, of machine: MachineID) throws -> [UInt8]?

    /// Adds a file of this machine's, and returns when it is durable.
    func add(_ name: String, _ bytes: [UInt8]) throws

    /// Removes a file of this machine's.
    func remove(_ name: String) throws
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
