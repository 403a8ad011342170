import DefaultsCore
import NIOCore

/// The domains with edits that wait to be published together, and since when.
///
/// Pure; it knows no clock.
struct WaitingEdits {
    private var times: [Domain: (first: NIODeadline, last: NIODeadline)] = [:]

    /// Notes an edit.
    ///
    /// - Returns: whether it is the first of its domain that waits.
    mutating func add(_ domain: Domain, at now: NIODeadline) -> Bool {
        let first = times[domain]?.first
        times[domain] = (first ?? now, now)
        return first == nil
    }

    /// Forgets a domain's edits.
    mutating func remove(_ domain: Domain) {
        times[domain] = nil
    }

    /// When a domain's edits have waited for long enough, which is for a pause after the last, and no longer than a limit after
    /// the first; `nil` if none wait.
    func end(of domain: Domain, pause: TimeAmount, limit: TimeAmount) -> NIODeadline? {
        times[domain].map { min($0.last + pause, $0.first + limit) }
    }
}
