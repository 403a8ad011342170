import DefaultsClient
import DefaultsCore

/// A domain's values at a point in the history, with what is uncertain about them.
///
/// At a time, those are the values after the newest record that isn't later, even if the clock was set back before it.
struct PastDomain {
    private let past: PastValues
    private let problem: DefaultsError?
    private let name: String

    var values: DomainValues { past.values }

    /// Whether neither the domain nor any trace of it exists.
    var isUnknown: Bool { !isThere && !past.hasRecords && past.uncertain.isEmpty && problem == nil }

    /// Whether the domain has values now.
    private let isThere: Bool

    /// Reads the values, and reports what may be wrong about them.
    init(_ open: OpenDomain, at point: HistoryPoint, _ options: some LocationChoice) throws {
        guard open.location.directory == nil else {
            throw Failure(
                "Only domains in the preferences directory have a history, not \(open.location.name).", .usage)
        }
        let filter = SubscriptionFilter(domains: [GlobPattern.exactly(open.domain.name.description)])
        var (agent, history) = try options.openHistory(of: filter)
        try point.check(history)
        var problems: [AgentSettings.Problem] = []
        let settings = AgentSettings(
            try AgentSettings.domain.map { domain throws(DefaultsError) in try agent.snapshot(of: domain).values }
                ?? [:], problems: &problems)
        let snapshot = try agent.snapshot(of: open.domain)
        isThere = !snapshot.isEmpty
        past = try PastValues(
            from: snapshot, &history, excluding: settings.historyExclusions,
            after: point.revision
        ) { point.includes($0) }
        problem = history.problem
        name = open.location.name
    }

    /// Reports what may be wrong about the values.
    ///
    /// - Parameter key: The key to report about; `nil` for all.
    /// - Returns: Whether values may be wrong that the history should have.
    func report(about key: String? = nil) -> Bool {
        func isMeant(_ other: String) -> Bool { key == nil || key == other }
        let uncertain = past.uncertain.filter(isMeant)
        for key in uncertain.sorted() {
            Failure.report(
                "\(key.printable) may have had another value then, since not all of its changes are in the history.")
        }
        for key in past.excluded.filter(isMeant).sorted() {
            Failure.report("\(key.printable) is left out: HistoryExcludes or a manifest keeps it out of the history.")
        }
        if past.hasUnknownChanges {
            Failure.report(
                "The file was changed later while no agent was running. The history has only the result of those "
                    + "changes."
            )
        }
        if let problem {
            let isWhole = problem.code == .damaged
            Failure.report("\(problem)" + (isWhole ? "" : " These are the oldest known values."))
        } else if past.isTooOld {
            Failure.report("The history has no change to \(name) from before then. These are its oldest known values.")
        }
        return !uncertain.isEmpty || problem != nil
    }
}
