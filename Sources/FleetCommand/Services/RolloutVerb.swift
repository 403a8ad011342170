#if Fleet
import ArgumentParser
import DefaultsCommand
import DefaultsCore
import Fleet
import Linux
import PropertyList

/// `defaults fleet rollout [NUMBER]`.
struct RolloutVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rollout",
        abstract: "Show which machines have a rollout, give it to more, or undo it.",
        discussion: """
            Without a number, lists the last rollouts, or with --machines, the machines. A machine has a rollout when \
            its files have the values. One that somebody has changed since is named, and so is one that couldn't set \
            them, or hasn't reported for an hour.

            --share gives the rollout to more machines, or fewer: 50%, a number, or all. --undo sets the former \
            values again, unless a later rollout has replaced them. --wait waits until all machines have what they \
            should; if they don't in so many seconds, the exit status is 124.

            --forget removes the report of a machine that no longer exists, by its name or identifier; otherwise, it \
            counts as silent for ninety days. A machine that still runs reports again within ten minutes.

            --json prints an object, or in a list, one on each line: "number", "time" (in seconds since 1970), \
            "author", "undone", "changes" and, if only some parts are written yet, "unfinished" ("push", "share" or \
            "undo"); for a single rollout, also "machines", each with "machine", "name", \
            "groups", "version", "seen", "problems", "changed", "included" (whether the rollout is for it) and \
            "state" ("has", "former", "replaced", "waiting", "changed", "failed" or "silent").

            EXAMPLES
              defaults fleet rollout
              defaults fleet rollout 7
              defaults fleet rollout 7 --share all --wait 60
              defaults fleet rollout 7 --undo
              defaults fleet rollout --forget web-17
            """)

    @OptionGroup var credentials: CredentialsOption
    @Argument(help: "The number of the rollout.") var number: Int64?
    @Option(
        help: "The machines that get it: a percentage such as 50%, a number, or all.",
        transform: MachineShare.init(reading:))
    var share: MachineShare?
    @Flag(help: "Set the former values again.") var undo = false
    @Option(help: "The seconds to wait until all machines have what they should.") var wait: Int?
    @Flag(help: "List the machines.") var machines = false
    @Option(help: "The name or identifier of a machine whose report to remove.") var forget: String?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        if share != nil, undo { throw ValidationError("Use only one of --share and --undo.") }
        if number == nil, share != nil || undo || wait != nil { throw ValidationError("Name the rollout's number.") }
        if forget != nil, number != nil || machines || json { throw ValidationError("Use --forget alone.") }
        if let wait, !(1...86_400).contains(wait) { throw ValidationError("Use 1 to 86400 seconds.") }
    }

    func run() throws {
        let desk = try OperatorDesk(credentials)
        if let forget { return try desk.forget(forget) }
        guard let number else { return try list(desk) }
        if undo {
            let replaced = try desk.run { try $0.undo(number) }.replaced
            if !json { print("Rollout \(number) has been undone.") }
            report(replaced)
        } else if let share {
            let rollout = try rollout(number, desk)
            // Those that have it stay among more.
            let machines = try desk.receivers(in: rollout.groups).filter { !OperatorDesk.isSilent($0) }.map(\.machine)
            let count = try share.count(of: machines.count, in: rollout.groups)
            let new = count.map { Share(of: $0, among: machines, in: number) } ?? .all
            report(try desk.run { try $0.set(new, of: number) }.replaced)
        }
        let end = MonotonicTime.now() + Int64(wait ?? 0) * 1_000
        var state = try RolloutState(try rollout(number, desk), desk)
        while wait != nil, !state.isComplete, end > .now() {
            Backoff.pause(.milliseconds(250))
            state = try RolloutState(try rollout(number, desk), desk)
        }
        print(json ? JSONText.of(state.propertyList) : state.text)
        if wait != nil, !state.isComplete {
            throw Failure("Not all machines have what they should.", .timeout)
        }
    }

    private func rollout(_ number: Int64, _ desk: OperatorDesk) throws -> Rollout {
        guard let found = try desk.run({ try $0.rollout(number) }) else {
            throw OperatorFailure.unknown(number).failure
        }
        return found
    }

    private func report(_ replaced: [Rollout.Change]) {
        for change in replaced.prefix(RolloutText.maximum) {
            Failure.report("\(change.group): \(change.key.text) stays as a later rollout has set it.")
        }
        let more = replaced.count - RolloutText.maximum
        if more > 0 { Failure.report("The same is true of \(more.counting("more key")).") }
    }

    private func list(_ desk: OperatorDesk) throws {
        if machines {
            let reports = try desk.run { try $0.receivers() }
            for report in reports {
                print(json ? JSONText.of(.dictionary(RolloutState.entries(of: report))) : RolloutState.line(of: report))
            }
            if reports.isEmpty, !json { print("No machine has reported yet.") }
            return
        }
        let rollouts = try desk.run { try $0.rollouts() }
        // Those that are to be ended are easily forgotten.
        let first = json ? 0 : max(0, rollouts.count - 20)
        let listed = rollouts.enumerated().filter { $0 >= first || !$1.isEnded }.map(\.element)
        for rollout in listed {
            print(json ? JSONText.of(RolloutText.propertyList(rollout)) : RolloutText.line(rollout))
        }
        let others = rollouts.count - listed.count
        if others > 0 { print("\(others.counting("earlier rollout")) not listed; --json lists all.") }
        if rollouts.isEmpty, !json { print("Nothing has been pushed yet.") }
    }
}

/// A rollout as text.
enum RolloutText {
    static func line(_ change: Rollout.Change) -> String {
        func text(_ value: PropertyListValue?) -> String { value.map { ValueText.short($0) } ?? "(none)" }
        let layer = change.key.layer == .managed ? "" : "\(change.key.layer.rawValue) "
        return "\(change.group): \(layer)\(change.key.text.printable): "
            + "\(text(change.former.value)) -> \(text(change.value))"
    }

    /// The number of changes that are listed.
    static let maximum = 20

    static func lines(_ changes: [Rollout.Change]) -> [String] {
        let more = changes.count - maximum
        return changes.prefix(maximum).map(line) + (more > 0 ? ["and \(more) more; --json lists all"] : [])
    }

    static func line(_ rollout: Rollout) -> String {
        let time = ChangeText.moment(Timestamp(milliseconds: rollout.milliseconds))
        let keys = Set(rollout.changes.map(\.key.text))
        let what = keys.count == 1 ? keys.first ?? "" : keys.count.counting("key")
        let share = rollout.isUndone ? "undone" : rollout.share == .all ? "all machines" : "some machines"
        let state = rollout.unfinished == nil ? share : "incomplete"
        return "\(rollout.number)  \(time)  \(rollout.author.printable)  \(rollout.groups.joined(separator: ","))  "
            + "\(what.printable)  \(state)"
    }

    static func propertyList(_ rollout: Rollout, for machines: [ReceiverReport]) -> PropertyListValue {
        guard case .dictionary(var entries) = propertyList(rollout) else { return [:] }
        entries["machines"] = .array(
            machines.map { ["machine": .string($0.machine.text), "name": .string($0.name)] })
        return .dictionary(entries)
    }

    static func propertyList(_ rollout: Rollout) -> PropertyListValue {
        var entries: DomainValues = [
            "number": .integer(rollout.number), "time": .integer(Int64(clamping: rollout.milliseconds / 1_000)),
            "author": .string(rollout.author), "undone": .boolean(rollout.isUndone),
            "changes": .array(
                rollout.changes.map { change in
                    var entries: DomainValues = [
                        "group": .string(change.group), "layer": .string(change.key.layer.rawValue),
                        "domain": .string(change.key.domain), "key": .string(change.key.key),
                    ]
                    entries["value"] = change.value
                    entries["former"] = change.former.value
                    return .dictionary(entries)
                }),
        ]
        entries["unfinished"] = rollout.unfinished.map { .string($0.rawValue) }
        return .dictionary(entries)
    }

    /// Says what to do about a rollout of which only some parts are written; `nil` if all are.
    static func remedy(_ rollout: Rollout) -> String? {
        let (work, remedy): (String, String)
        switch rollout.unfinished {
        case nil: return nil
        case .push: (work, remedy) = ("push", "run `defaults fleet rollout \(rollout.number) --undo`")
        case .share: (work, remedy) = ("--share", "repeat it, or use --undo")
        case .undo: (work, remedy) = ("--undo", "repeat it")
        }
        return "Incomplete: its \(work) is still running or was interrupted. If it was interrupted, \(remedy)."
    }
}

/// The machines of a rollout, with what each of them has.
struct RolloutState {
    enum MachineState: String { case has, former, replaced, waiting, changed, failed, silent }

    let rollout: Rollout
    private let machines: [(report: ReceiverReport, isIncluded: Bool, state: MachineState)]

    init(_ rollout: Rollout, _ desk: OperatorDesk) throws {
        self.rollout = rollout
        let found = try desk.run { try $0.entries() }
        let entries = found.values.map(\.entry)
        let own = Set(rollout.changes.map { Change($0.group, $0.key) })
        let pushed = found.values.filter { own.contains(Change($0.entry.group, $0.entry.key)) }
        let standing = Dictionary(entries.map { (Change($0.group, $0.key), $0.rollout) }) { $1 }
        func isReplaced(_ change: Rollout.Change) -> Bool {
            standing[Change(change.group, change.key)] ?? 0 > rollout.number
        }
        let keys = Set(rollout.changes.map(\.key))
        machines = try desk.receivers(in: rollout.groups).map { report in
            let isIncluded = !rollout.isUndone && rollout.share.includes(report.machine, in: rollout.number)
            let groups = Set(report.groups)
            let wanted = entries.values(for: report.machine, in: groups)
            let expected = wanted.values.count { $0.rollout == rollout.number }
            // Values of other rollouts that this one has made current again, or removed.
            let areSet = rollout.changes.allSatisfy { change in
                let number = wanted[change.key]?.rollout ?? change.former.rollout
                return report.counts[number] ?? 0 == wanted.values.count { $0.rollout == number }
            }
            let revision = pushed.filter { $0.entry.isFor(groups) }.map(\.revision).max() ?? 0
            let isCurrent = report.revision >= revision
            let state: MachineState =
                if OperatorDesk.isSilent(report) {
                    .silent
                } else if report.problems.contains(where: { keys.contains($0.key) }) {
                    .failed
                } else if !isCurrent {
                    .waiting
                } else if report.counts[rollout.number] ?? 0 != expected || !areSet {
                    report.omitted > 0 ? .failed : .waiting
                } else if report.changed.contains(where: keys.contains) {
                    .changed
                } else if !isIncluded {
                    rollout.changes.allSatisfy(isReplaced) ? .replaced : .former
                } else {
                    expected > 0 || rollout.changes.contains { $0.value == nil && !isReplaced($0) } ? .has : .replaced
                }
            return (report, isIncluded, state)
        }
    }

    private struct Change: Hashable {
        let group: String
        let key: PushedKey
        init(_ group: String, _ key: PushedKey) { (self.group, self.key) = (group, key) }
    }

    /// Whether every machine has what it should.
    var isComplete: Bool {
        rollout.unfinished == nil && machines.allSatisfy { [.has, .former, .replaced].contains($0.state) }
    }

    var text: String {
        var lines = [RolloutText.line(rollout)] + RolloutText.lines(rollout.changes).map { "  \($0)" }
        let count = machines.count { $0.isIncluded }
        let keys = Set(rollout.changes.map(\.key))
        let whom = "\(count) of \(machines.count.counting("machine"))"
        if let remedy = RolloutText.remedy(rollout) {
            lines += [remedy, "Of the part that is written, for \(whom):"]
        } else {
            lines.append("For \(whom):")
        }
        for state in [MachineState.has, .former, .replaced, .waiting, .changed, .failed, .silent] {
            let found = machines.filter { $0.state == state }
            if found.isEmpty { continue }
            lines.append("  \(Self.words[state] ?? ""): \(found.count)")
            let isLong = found.count > 20 && (state == .replaced || state == .has && count == machines.count)
            if state == .former || isLong { continue }
            lines += found.prefix(50).flatMap { machine in
                let problems = state == .failed ? machine.report.problems.filter { keys.contains($0.key) } : []
                let omitted =
                    "      \(machine.report.omitted.counting("more key")) with problems or changed there; see its log"
                return ["    \(machine.report.name.printable)"]
                    + ProblemText.all(problems).map { "      \($0.keys): \($0.reason)".printable }
                    + (state == .failed && problems.isEmpty ? [omitted] : [])
            }
            if found.count > 50 { lines.append("    and \(found.count - 50) more") }
        }
        return lines.joined(separator: "\n")
    }

    private static let words: [MachineState: String] = [
        .has: "have it", .former: "have the former values", .replaced: "have a later rollout's values",
        .waiting: "haven't confirmed it yet",
        .changed: "somebody has changed it there", .failed: "report a problem with it",
        .silent: "haven't reported for an hour",
    ]

    var propertyList: PropertyListValue {
        guard case .dictionary(var entries) = RolloutText.propertyList(rollout) else { return [:] }
        entries["machines"] = .array(
            machines.map { machine in
                var entries = Self.entries(of: machine.report)
                entries["included"] = .boolean(machine.isIncluded)
                entries["state"] = .string(machine.state.rawValue)
                return .dictionary(entries)
            })
        return .dictionary(entries)
    }

    static func entries(of report: ReceiverReport) -> DomainValues {
        func texts(_ texts: [String]) -> PropertyListValue { .array(texts.map { .string($0) }) }
        return [
            "machine": .string(report.machine.text), "name": .string(report.name), "groups": texts(report.groups),
            "seen": .integer(Int64(clamping: report.milliseconds / 1_000)), "version": .string(report.version),
            "problems": texts(
                report.problems.map { "\($0.key.domain) \($0.key.key): \($0.reason)" } + unreadable(in: report)),
            "changed": texts(report.changed.map { "\($0.domain) \($0.key)" }),
        ]
    }

    private static func unreadable(in report: ReceiverReport) -> [String] {
        report.unreadable > 0 ? ["\(report.unreadable.counting("entry", plural: "entries")) can't be read."] : []
    }

    static func line(of report: ReceiverReport) -> String {
        let time = ChangeText.moment(Timestamp(milliseconds: report.milliseconds))
        let troubles =
            (ProblemText.all(report.problems).map { "\($0.keys): \($0.reason)" } + unreadable(in: report))
            .map { "  problem: \($0.printable)" }
            + ProblemText.all(report.changed.map { ReceiverReport.Problem(key: $0, reason: "") })
            .map { "  changed there: \($0.keys.printable)" }
            + (report.omitted > 0 ? ["  and \(report.omitted.counting("more key")); see its log"] : [])
        return "\(report.name.printable)  \(report.machine)  \(report.groups.joined(separator: ","))  seen \(time)"
            + troubles.joined(separator: "")
    }
}

extension PushedKey {
    /// The domain and the key, for people.
    var text: String { "\(domain) \(Self.quoted(key))" }

    /// A key as in a command, since it may have spaces.
    static func quoted(_ key: String) -> String { key.quotedForShell }
}

/// The keys of a domain that couldn't be set for one reason.
struct ProblemText {
    let keys: String
    let reason: String

    static func all(_ problems: some Sequence<ReceiverReport.Problem>) -> [ProblemText] {
        Dictionary(grouping: problems) { [$0.key.domain, $0.reason] }.sorted {
            $0.key.lexicographicallyPrecedes($1.key)
        }.map { group in
            let names = group.value.map(\.key.key).sorted()
            let more = names.count > 3 ? " and \(names.count - 3) more" : ""
            return ProblemText(
                keys: "\(group.key[0]) \(names.prefix(3).map(PushedKey.quoted).joined(separator: ", "))\(more)",
                reason: group.key[1])
        }
    }
}
#endif
