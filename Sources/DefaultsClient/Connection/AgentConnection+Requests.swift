package import DefaultsCore
import PropertyList

/// The requests to the agent, each of which waits for its answer.
extension AgentConnection {
    package var system: SystemDirectories { welcome.system }

    package func snapshot(of domain: Domain, keys: [String]?) throws(DefaultsError) -> DomainSnapshot {
        guard case .values(let snapshot) = try answer(to: .read(domain, keys: keys)) else {
            throw Self.unexpected("read")
        }
        return snapshot.only(keys)
    }

    package func domains() throws(DefaultsError) -> [Domain] {
        guard case .domains(let domains) = try answer(to: .domains) else { throw Self.unexpected("domains") }
        return domains
    }

    /// Makes an edit; returns the position of its record.
    ///
    /// - Throws: The errors of `edit`.
    package func make(_ edit: EditRequest) throws(DefaultsError) -> Cursor {
        do throws(DefaultsError) {
            guard case .edited(let cursor) = try answer(to: .edit(edit)) else { throw Self.unexpected("edit") }
            return cursor
        } catch {
            guard error.code == .agentUnavailable else { throw error }
            throw error.adding(
                "The edit was sent and may have been made.", remedy: "Read the value before you try again.")
        }
    }

    package func synchronize(_ domain: Domain) throws(DefaultsError) {
        if let failure = try barrier([domain]).failures.first { throw failure }
    }

    /// Waits until everything that happened to domains and their files before the call is in the log and durable.
    ///
    /// - Parameter domains: The domains whose edits are saved, and for whose files to wait; `nil` for all.
    /// - Returns: The end of the log after the wait, and the reasons why edits couldn't be saved.
    /// - Throws: `agentUnavailable` if the connection is lost.
    package func barrier(
        _ domains: Set<Domain>? = nil
    ) throws(DefaultsError) -> (cursor: Cursor, failures: [DefaultsError]) {
        let timeouts = AgentTimeouts(stopped: max(timeouts.stopped, AgentTimeouts.disk.stopped), busy: timeouts.busy)
        guard
            case .synchronized(let cursor, let failures) = try answer(to: .synchronize(domains), within: timeouts)
        else {
            throw Self.unexpected("synchronize")
        }
        return (cursor, failures)
    }

    /// Waits until the agent has read what was written to the files of domains before the call.
    ///
    /// - Throws: `agentUnavailable` if the connection is lost, or the agent doesn't answer within two seconds.
    func awaitReading(_ domains: [Domain]) throws(DefaultsError) {
        _ = try answer(to: .synchronize(Set(domains)), within: .notification)
    }

    /// Returns the agent's status, which is the content of `defaults status --json`.
    ///
    /// `pid` is the agent's process ID in this namespace; it is missing if the agent has none here. `ownPID` is the
    /// process ID in the agent's own namespace, if different.
    package func status() throws(DefaultsError) -> DomainValues {
        guard case .status(var status) = try answer(to: .status) else { throw Self.unexpected("status") }
        let own = status["pid"]
        guard own != .integer(process.pid) else { return status }
        status["ownPID"] = own
        status["pid"] = process.pid > 0 ? .integer(process.pid) : nil
        return status
    }

    /// Returns the current values of the user's domains that have values or are damaged, in order.
    ///
    /// They are read from the beginning of a stream, because each separate request would take a round trip. So the
    /// connection must not have another stream.
    package func snapshots() throws(DefaultsError) -> [DomainSnapshot] {
        _ = try subscribe(.snapshot, filter: SubscriptionFilter(), mode: .everything)
        let stream = socket.lastNumber
        var snapshots: [DomainSnapshot] = []
        // After the snapshots comes a bookmark or the first change.
        while case .initial(let snapshot) = try nextEvent(within: timeouts) {
            if snapshot.domain.user == .current { snapshots.append(snapshot) }
        }
        guard case .unsubscribed = try answer(to: .unsubscribe(stream)) else { throw Self.unexpected("unsubscribe") }
        forgetEvents()
        return snapshots
    }

    /// Returns the error for an answer to the wrong kind of request.
    static func unexpected(_ request: String) -> DefaultsError {
        DefaultsError(
            .protocolViolation,
            "Unexpected reply to \"\(request)\" from the agent. It may be a different version.", remedy: "Restart it.")
    }
}
