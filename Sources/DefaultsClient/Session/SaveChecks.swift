import DefaultsCore
import Linux

/// The edits that may not be saved yet, and the rounds of requests that ask the agent whether they are saved.
///
/// Pure; it has no clock and sends nothing. Each transition returns the requests to send.
struct SaveChecks {
    /// One request of a round.
    struct Part {
        var domains: Set<Domain>
        /// The number of the round that the request belongs to.
        var round: UInt64
    }

    private struct Round {
        /// The number of the `synchronize` that waits for the round, if any.
        var number: UInt64?
        /// The last edit before the round.
        var lastEdit: UInt64
        /// The number of answers that haven't arrived yet.
        var remainingAnswers: Int
        var failures: [DefaultsError] = []
    }

    /// The maximum number of domains in one request of a round without earlier failures.
    private static let batch = 32

    /// The unfinished rounds.
    private var rounds: [UInt64: Round] = [:]
    private var lastRound: UInt64 = 0
    /// Whether the latest finished round had failures.
    private var lastHasFailed = false
    /// The last edit of each domain with edits that aren't known to be saved.
    private var lastEdits: [Domain: UInt64] = [:]
    private var lastEdit: UInt64 = 0
    /// The delay before a round.
    ///
    /// The agent saves edits within a second, so only failed saves are pending after the initial delay.
    private var backoff = SaveBackoff(first: .milliseconds(1_200))
    /// The time of the next round that starts without a `synchronize`.
    private(set) var next: MonotonicTime?

    /// The domains with edits that aren't known to be saved.
    var unsaved: Set<Domain> { Set(lastEdits.keys) }

    /// Records an edit that was sent.
    mutating func add(_ number: UInt64, of domain: Domain, at now: MonotonicTime) {
        lastEdit = number
        lastEdits[domain] = number
        if next == nil { next = now + backoff.delay }
    }

    /// Returns whether a round is due, which the caller then begins.
    mutating func dequeueDue(at now: MonotonicTime) -> Bool {
        guard let due = next, due <= now else { return false }
        next = nil
        return true
    }

    /// Begins a round.
    ///
    /// - Parameters:
    ///   - domains: The domains to ask about; without any, there is no round.
    ///   - number: The number of the `synchronize` that waits for the round, if any.
    /// - Returns: The requests to send.
    mutating func beginRound(_ domains: Set<Domain>, for number: UInt64?) -> [Part] {
        if domains.isEmpty { return [] }
        lastRound += 1
        // After a failure, send one request per domain to find out which of them can't be saved. Otherwise, a limit on
        // the domains per request keeps the answers coming, so that the agent doesn't appear to hang.
        let size = lastHasFailed ? 1 : Self.batch
        let sorted = domains.sorted()
        let parts = stride(from: 0, to: sorted.count, by: size).map {
            Part(domains: Set(sorted[$0...].prefix(size)), round: lastRound)
        }
        rounds[lastRound] = Round(number: number, lastEdit: lastEdit, remainingAnswers: parts.count)
        return parts
    }

    /// Handles the answer to one request of a round.
    ///
    /// - Parameters:
    ///   - failures: The reasons why edits of the request's domains aren't saved; none if all are.
    ///   - part: The request.
    ///   - now: The current time.
    ///   - events: The array to which resulting events are added.
    /// - Returns: More requests to send.
    mutating func record(
        _ failures: [DefaultsError], of part: Part, at now: MonotonicTime, into events: inout [SessionEvent]
    ) -> [Part] {
        guard var round = rounds.removeValue(forKey: part.round) else { return [] }
        round.remainingAnswers -= 1
        var more: [Part] = []
        if failures.isEmpty {
            for domain in part.domains {
                if let last = lastEdits[domain], last <= round.lastEdit { lastEdits[domain] = nil }
                events.append(.saved(domain, round.lastEdit))
            }
        } else if part.domains.count > 1 {
            // Send one request per domain to find out which of them can't be saved.
            more = part.domains.sorted().map { Part(domains: [$0], round: part.round) }
            round.remainingAnswers += more.count
        } else {
            round.failures += failures
        }
        if round.remainingAnswers > 0 {
            rounds[part.round] = round
        } else {
            finish(round, at: now, into: &events)
        }
        return more
    }

    private mutating func finish(_ round: Round, at now: MonotonicTime, into events: inout [SessionEvent]) {
        lastHasFailed = !round.failures.isEmpty
        events += backoff.record(round.failures)
        next = lastEdits.isEmpty ? nil : now + backoff.delay
        if let caller = round.number { events.append(.synchronized(caller, failures: round.failures)) }
    }
}
