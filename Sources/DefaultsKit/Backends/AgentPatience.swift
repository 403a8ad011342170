/// How long an agent may be silent before it is given up, in milliseconds.
///
/// One that takes no connections counts as stopped: whose process it is isn't known then.
package struct AgentPatience: Sendable {
    /// One of which nothing is known, or that is stopped.
    package var stopped: Int64
    /// One whose process runs: it has much to do.
    package var busy: Int64

    package init(stopped: Int64, busy: Int64) {
        self.stopped = stopped
        self.busy = max(stopped, busy)
    }

    /// The same for both, where it is better to do without than to wait.
    package init(_ milliseconds: Int64) { self.init(stopped: milliseconds, busy: milliseconds) }

    /// What programs have that wait for answers.
    package static let usual = AgentPatience(stopped: 5_000, busy: 60_000)
}
