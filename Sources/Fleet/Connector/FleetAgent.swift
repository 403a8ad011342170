package import DefaultsCore

/// The agent of a machine, as its connector uses it; in tests, a simulated one.
package protocol FleetAgent: AnyObject {
    /// The time by the machine's clock.
    var now: Timestamp { get }

    /// Begins the stream of all records after a position; if they aren't available, it begins with a gap.
    func subscribe(after cursor: Cursor) throws(DefaultsError)

    /// Returns the next event of the stream; `nil` if none arrives in time.
    func nextEvent(within milliseconds: Int32) throws(DefaultsError) -> StreamEvent?

    /// Returns the current values of a domain of the user's, for any host.
    func snapshot(of domain: DomainName) throws(DefaultsError) -> DomainSnapshot

    /// Returns the names of the user's domains, for any host.
    func domains() throws(DefaultsError) -> [DomainName]

    /// Waits until earlier changes are in the log, those to the file of a domain, too.
    ///
    /// - Parameter domain: The domain; `nil` for none.
    /// - Returns: The end of the log.
    /// - Throws: If the agent is gone.
    func barrier(of domain: DomainName?) throws(DefaultsError) -> Cursor

    /// Sets and removes keys.
    ///
    /// - Parameters:
    ///   - values: The new values, with `nil` for a removal.
    ///   - domain: The domain.
    ///   - expected: The values that keys must have; `nil` for no condition.
    ///   - purpose: The purpose that the history shows; `nil` for an edit of the person's.
    /// - Returns: The position of the record.
    /// - Throws: `changed` if keys have other values, or the reason why the edit is refused.
    func set(
        _ values: Difference, of domain: DomainName, expecting expected: Difference?, purpose: Origin.Purpose?
    ) throws(DefaultsError) -> Cursor

    /// Returns the time when the file of a domain last changed in any way; `nil` if there is no file.
    func fileTime(of domain: DomainName) -> Timestamp?
}

/// The place of a connector's state, which survives a crash.
package protocol FleetStore: AnyObject {
    /// Returns the state; `nil` before the first.
    func read() throws(DefaultsError) -> ConnectorState?

    /// Replaces the state, and returns when that is durable.
    func write(_ state: ConnectorState) throws(DefaultsError)
}

extension Timestamp {
    /// Creates the time from milliseconds since 1970, or the latest that there is.
    package init(milliseconds: UInt64) {
        self.init(nanoseconds: milliseconds > UInt64(Int64.max / 1_000_000) ? .max : Int64(milliseconds) * 1_000_000)
    }

    /// The milliseconds since 1970; 0 for earlier times.
    package var milliseconds: UInt64 { UInt64(max(0, nanoseconds / 1_000_000)) }
}
