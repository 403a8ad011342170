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
        let scope = named == nil ? options.operands : Array(options.operands.dropFirst())
        let (agent, history) = try location.openHistory(of: try .named(scope.first, Array(scope.dropFirst())))
        try (named ?? options.since)?.check(history)
        var search = UndoSearch(history, isRedo ? .undos : .changes)
        var run = UndoRun(agent, isRedo: isRedo, isDry: options.dryRun)
        let style = ChangeText(isColored: options.color.isColored())
        var domains: Set<Domain> = []
        var found = 0
        var kept = 0
        while found < limit(named), let next = try search.next(orNamed: { named?.names($0) ?? false }) {
            if let named, !named.names(next.record) {
                // The named record is older, or isn't there.
                if named.includes(next.record) { break }
                continue
            }
            if options.since?.includes(next.record) == true { break }
            if !options.program.includes(next.changeSet) { continue }
            found += 1
            let outcome = try run.takeBack(next.changeSet, at: next.cursor)
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
        if !options.dryRun, !domains.isEmpty, let failure = try agent.barrier(domains).failures.first { throw failure }
        if found == 0 { throw Failure(nothing(named), .notFound) }
        if kept > 0 { throw ExitCode(1) }
    }

    /// Returns the maximum number of change sets to take back.
    private func limit(_ named: HistoryPoint?) -> Int {
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
        help: "A number from `defaults log`, or a domain (default: all domains) and keys.",
        completion: Candidates.domain)
    var operands: [String] = []

    /// The change set that the first operand names; `nil` if it names a domain.
    var named: HistoryPoint? { operands.first.flatMap(HistoryPoint.init(position:)) }

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last must be at least 1.") }
        guard [last != nil, since != nil, named != nil].count(where: \.self) <= 1 else {
            throw ValidationError("Use only one of a number, --last and --since.")
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
