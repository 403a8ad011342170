package import DefaultsCore

/// The way by which a connector's edits get to the other machines, and theirs to it: files in a folder, or the
/// registers of a service.
///
/// Whatever it receives is in the connector's state, and durable, before the agent gets it.
package protocol FleetExchange: AnyObject {
    /// A descriptor that is readable when there is something to receive; negative if none says so.
    var eventDescriptor: Int32 { get }

    /// Finds what this machine has sent, and its state doesn't know, since there was a crash before it was written.
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

    /// Lets everything be received once more, this machine's own edits, too, since values were lost.
    func receiveAgain(_ connector: Connector)

    /// Brings in order what others need of this machine, if it isn't yet: once in each step.
    func repair(_ connector: Connector) throws

    /// Brings in order what others need of a machine that leaves.
    ///
    /// - Returns: Whether it did; not while changes are still to be passed on.
    func settle(_ connector: Connector) throws -> Bool
}
