import ArgumentParser
import DefaultsClient
import DefaultsCore

/// A call of `undo` or `redo`.
struct UndoCommand {
    let location: LocationOptions
    let options: UndoOptions
    let isRedo: Bool

    func run() throws {
        let filter = try location.narrowed(options.filter())
        let (agent, history) = try location.openHistory(of: filter)
        try options.named?.check(history)
        try options.range.check(history)
        var plan = try UndoPlan(agent, of: filter, finding: isRedo ? .undos : since == nil ? .changes : .all)
        plan.program = Caller.program
        let (found, end) = try choose(&plan)
        let style = options.style.text
        var isAnythingKept = false
        var changed: Set<Domain> = []
        for planned in plan.outcomes {
            let outcome = options.dryRun ? planned : try plan.commit(planned.domain)
            let name = style.name(outcome.domain)
            try StandardOutput.write(outcome.changes.map { "\(name) \(style.text($0))\n" }.joined())
            if !outcome.changes.isEmpty { changed.insert(outcome.domain) }
            if !options.dryRun { agent.reportForcedKeys(outcome.changes.map(\.key), of: outcome.domain) }
            for (key, record) in outcome.kept.sorted(by: { $0.key < $1.key }) {
                let time = record.map(style.explanation) ?? ""
                let consequence =
                    outcome.changes.contains { $0.key == key }
                    ? "only newer changes are \(isRedo ? "redone" : "undone")" : "keeps its value"
                Failure.report("\(name) \(key.printable) was changed later\(time), and \(consequence).")
            }
            // A user who names keys doesn't ask about others.
            let hasExcludedKeys = outcome.hasExcludedKeys && filter.keys.isEmpty
            if hasExcludedKeys { Failure.report(style.excluded(outcome.domain)) }
            if outcome.changes.isEmpty, outcome.kept.isEmpty, !hasExcludedKeys {
                Failure.report("\(name) already has its earlier values.")
            }
            isAnythingKept = isAnythingKept || !outcome.kept.isEmpty || hasExcludedKeys
        }
        let unknown =
            since == nil
            ? []
            : Set(plan.unknown.filter(options.range.contains).map(\.domain)).sorted()
                .filter { options.domain != nil || $0 != AgentSettings.domain }
        for domain in unknown {
            Failure.report(
                "\(style.name(domain)) was also changed while no agent was running. Changes that aren't in the history "
                    + "were not \(isRedo ? "redone" : "undone").")
        }
        if let problem = plan.problem { Failure.report("\(problem)") }
        if since != nil, plan.thinned.hasAny(after: end, filter) {
            Failure.report("Not all changes since then are in the history; older ones have been thinned out.")
        }
        if !options.dryRun, !changed.isEmpty, let failure = try agent.barrier(changed).failures.first { throw failure }
        if found == 0 { throw Failure(nothing, .notFound) }
        if isAnythingKept || !unknown.isEmpty { throw ExitCode(1) }
    }

    /// Chooses the change sets that the options ask for.
    ///
    /// - Returns: Their number, in which an undo of several domains counts once, and the revision of the newest record
    ///   that is too old.
    private func choose(_ plan: inout UndoPlan) throws -> (found: Int, end: Revision) {
        let named = options.named
        /// The first edit of each undo or redo that has been found, which may be older than the ones found so far.
        var found: Set<Revision> = []
        var last = Revision.max
        var hasSettings = false
        defer {
            if hasSettings {
                Failure.report("The agent's settings were left alone. To undo their change, name the domain.")
            }
        }
        var end: Revision = 0
        while found.count < limit || found.contains(where: { $0 < last }),
            let candidate = try plan.next(orNamed: { named?.names($0) ?? false })
        {
            let next = candidate.element
            last = next.record.revision
            if let named, !named.names(next.record) {
                // The named record is older, or isn't there.
                if named.includes(next.record) { break }
                continue
            }
            if !options.range.contains(next.record) {
                if since?.includes(next.record) ?? false { end = max(end, last) }
                if options.range.isPassed(by: next.record) { break }
                continue
            }
            if named != nil { try check(next) }
            // A plain undo is rarely meant for the agent's settings.
            if !isRedo, options.domain == nil, next.record.domain == AgentSettings.domain {
                hasSettings = true
                continue
            }
            if !options.program.includes(next.changeSet) { continue }
            // A change set of excluded keys alone is mentioned, but doesn't count.
            let counts = !next.changeSet.changes.isEmpty
            if counts, !found.contains(next.first), found.count == limit { continue }
            if counts { found.insert(next.first) }
            try plan.take(candidate)
        }
        return (found.count, since?.revision ?? end)
    }

    /// Checks that a change set that the user has named can be reversed.
    private func check(_ named: StandingChanges.Element) throws {
        let number = named.record.revision
        if isRedo, !named.isUndo {
            throw Failure(
                "Number \(number) isn't an undo, so it can't be redone. `defaults log` lists undos.", .notFound)
        }
        guard named.changeSet.changes.isEmpty else { return }
        if let other = named.takenBackBy {
            let undone = isRedo ? "redone" : "undone"
            throw Failure("Number \(number) has already been \(undone), by number \(other).", .notFound)
        }
        if !named.record.hasExcludedKeys {
            throw Failure("Number \(number) changed no keys, so there is nothing to undo.", .notFound)
        }
        throw Failure(
            "Number \(number) changed only keys that HistoryExcludes or a manifest keeps out of the history, so there "
                + "is nothing to restore.",
            .notFound)
    }

    /// Returns the maximum number of change sets to reverse.
    private var limit: Int {
        if let last = options.last { return last }
        return since == nil ? 1 : .max
    }

    private var since: HistoryPoint? { options.range.since }

    private var nothing: String {
        if options.named != nil {
            return "There is no change set with that number to \(isRedo ? "redo" : "undo"). `defaults log` lists them."
        }
        return "There is nothing to \(isRedo ? "redo" : "undo")."
    }
}

/// The options of `undo` and `redo`.
struct UndoOptions: ParsableArguments {
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Undo or redo this many change sets.", valueName: "count"))
    var last: Int?
    @OptionGroup var range: HistoryRange
    @OptionGroup var program: ProgramOption
    @Flag(help: "Show what would be changed, but change nothing.") var dryRun = false
    @OptionGroup var style: ColorOption
    @Argument(
        help: "The domain, or a number from `defaults log` (default: all domains).", completion: Candidates.domain)
    var domain: String?
    @Argument(help: "Keys, or patterns of keys (default: all keys).", completion: Candidates.key)
    var keys: [String] = []

    /// The change set that the first operand names; `nil` if it names a domain, as always with the options.
    var named: HistoryPoint? {
        last == nil && range.since == nil && range.until == nil ? domain.flatMap(HistoryPoint.init(position:)) : nil
    }

    /// Returns the filter of domains and keys; after a number, the next operand is the domain.
    func filter() throws(DefaultsError) -> SubscriptionFilter {
        named == nil ? try .named(domain, keys) : try .named(keys.first, Array(keys.dropFirst()))
    }

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last must be at least 1.") }
        if last != nil, range.since != nil { throw ValidationError("Use only one of --last and --since.") }
        let hasRange = range.since != nil || range.until != nil
        if hasRange, domain.flatMap(HistoryPoint.init(position:)) != nil {
            throw ValidationError("Don't combine a change's number with --since or --until.")
        }
    }
}

extension HistoryPoint {
    /// Creates a point from a cursor or the number at its end.
    init?(position text: String) {
        guard let point = try? HistoryPoint(typed: text) else { return nil }
        if case .time = point { return nil }
        self = point
    }
}
