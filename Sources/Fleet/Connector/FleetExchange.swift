package import DefaultsCore

/// The way by which a connector's edits get to the other machines, and theirs to it: files in a folder, or the
/// registers of a service.
///
/// Whatever it receives is in the connector's state, and durable, before the agent gets it.
package protocol FleetExchange: AnyObject {
    /// A descriptor that becomes readable when something has arrived; negative if the exchange has no such descriptor.
    var eventDescriptor: Int32 { get }

    /// Finds edits that this machine has sent but its state lacks, because it crashed before writing the state.
    ///
    /// - Parameters:
    ///   - connector: The connector, which hasn't followed its agent yet.
    ///   - end: The end of the agent's log.
    /// - Throws: If the exchange can't be used.
    func recover(_ connector: Connector, upTo end: Cursor) throws

    /// Sends what hasn't been sent, and returns when that is durable.
    func send(_ connector: Connector) throws

    /// Receives what other machines have sent.
    func receive(_ connector: Connector) throws

    /// Arranges to receive everything again, also this machine's own edits, after values were lost.
    func receiveAgain(_ connector: Connector)

    /// Repairs what other machines need from this one, if necessary; called once per step.
    func repair(_ connector: Connector) throws

    /// Repairs what other machines need from this one, which leaves.
    ///
    /// - Returns: Whether it did; not while changes are still to be passed on.
    func settle(_ connector: Connector) throws -> Bool
}
