import ArgumentParser
import DefaultsClient
import DefaultsCore

/// A call of `undo` or `redo`.
struct UndoCommand {
    let location: LocationOptions
    let options: UndoOptions
    let isRedo: Bool

    func run() throws {
        let named = options.named
        let (agent, history) = try location.openHistory(of: try options.filter())
        try (named ?? options.since)?.check(history)
        var search = UndoSearch(history, isRedo ? .undos : .changes)
        var run = UndoRun(agent, isDry: options.dryRun)
        let style = ChangeText(isColored: options.color.isColored())
        var domains: Set<Domain> = []
        var found = 0
        var kept = 0
        while found < limit, let candidate = try search.next(orNamed: { named?.names($0) ?? false }) {
            let next = candidate.element
            if let named, !named.names(next.record) {
                // The named record is older, or isn't there.
                if named.includes(next.record) { break }
                continue
            }
            if options.since?.includes(next.record) == true { break }
            if isRedo, !next.isUndo {
                throw Failure(
                    "Number \(next.record.revision) isn't an undo, so it can't be redone. `defaults log` lists undos.",
                    .notFound)
            }
            if next.changeSet.changes.isEmpty, let other = next.takenBackBy {
                let undone = isRedo ? "redone" : "undone"
                throw Failure(
                    "Number \(next.record.revision) has already been \(undone), by number \(other).", .notFound)
            }
            if next.changeSet.changes.isEmpty {
                throw Failure(
                    "Number \(next.record.revision) changed no keys, so there is nothing to undo.", .notFound)
            }
            if !options.program.includes(next.changeSet) { continue }
            found += 1
            let outcome = try run.takeBack(
                next.changeSet, but: candidate.overtaken, for: isRedo ? .redo(next.cursor) : .undo(next.cursor))
            search.remove(outcome.changes.map(\.key), of: candidate)
            if !outcome.changes.isEmpty { domains.insert(next.changeSet.domain) }
            for change in outcome.changes {
                try StandardOutput.write("\(style.name(next.changeSet.domain)) \(style.text(change))\n")
            }
            for key in outcome.kept {
                kept += 1
                let since = search.lastChange(of: key, in: next.changeSet.domain).map(style.explanation) ?? ""
                Failure.note(
                    "\(next.changeSet.domain) \(key.printable) was changed later\(since), and keeps its value.")
            }
        }
        if let problem = search.problem { Failure.note("\(problem)") }
        if !options.dryRun, !domains.isEmpty, let failure = try agent.barrier(domains).failures.first { throw failure }
        if found == 0 { throw Failure(nothing(named), .notFound) }
        if kept > 0 { throw ExitCode(1) }
    }

    /// Returns the maximum number of change sets to take back.
    private var limit: Int {
        if let last = options.last { return last }
        return options.since == nil ? 1 : .max
    }

    private func nothing(_ named: HistoryPoint?) -> String {
        if named != nil {
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
    @Option(
        help: ArgumentHelp("Undo or redo everything after this time or number.", valueName: "time"),
        transform: HistoryPoint.init(typed:))
    var since: HistoryPoint?
    @OptionGroup var program: ProgramOption
    @Flag(help: "Show what would be changed, but change nothing.") var dryRun = false
    @Option(help: ArgumentHelp("Use colors: auto, always or never.", valueName: "when"))
    var color: ColorChoice = .auto
    @Argument(
        help: "The domain, or a number from `defaults log` (default: all domains).", completion: Candidates.domain)
    var domain: String?
    @Argument(help: "Keys, or patterns of keys (default: all keys).", completion: Candidates.key)
    var keys: [String] = []

    /// The change set that the first operand names; `nil` if it names a domain, as always with --last and --since.
    var named: HistoryPoint? {
        last == nil && since == nil ? domain.flatMap(HistoryPoint.init(position:)) : nil
    }

    /// Returns the filter of domains and keys; after a number, the next operand is the domain.
    func filter() throws(DefaultsError) -> SubscriptionFilter {
        named == nil ? try .named(domain, keys) : try .named(keys.first, Array(keys.dropFirst()))
    }

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last must be at least 1.") }
        if last != nil, since != nil { throw ValidationError("Use only one of --last and --since.") }
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
