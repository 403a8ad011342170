/// One immutable entry of the change log.
package struct LogRecord: Hashable, Sendable {
    package var revision: Revision
    /// When it was posted, by the wall clock; for people, not for order.
    package var time: Timestamp
    package var event: Event

    package init(revision: Revision, time: Timestamp, event: Event) {
        self.revision = revision
        self.time = time
        self.event = event
    }

    /// What happened.
    package enum Event: Hashable, Sendable {
        /// A change set, all its keys at once.
        case change(ChangeSet)
        /// A file can't be taken as it is; the domain keeps its last good values.
        case damaged(Domain, reason: String)
        /// Edits can't be saved; they are in force, kept, and tried again.
        case unsaved(Domain, reason: String)
        /// The domain is neither damaged nor unsaved any more.
        case recovered(Domain)
        /// The file changed while no agent ran: what happened to the domain's keys since the last record is not known.
        case unknown(Domain)
    }

    /// The domain that it is about.
    package var domain: Domain {
        switch event {
        case .change(let changeSet): changeSet.domain
        case .damaged(let domain, _), .unsaved(let domain, _), .recovered(let domain), .unknown(let domain): domain
        }
    }
}
