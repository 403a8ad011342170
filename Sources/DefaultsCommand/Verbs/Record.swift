import ArgumentParser
import DefaultsClient
import DefaultsCore
import Glibc
import Linux
import PropertyList

/// `defaults record [domain…]`.
struct Record: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record changes, and print them as a profile.",
        discussion: """
            Collects changes until you press Ctrl-C, and then prints a profile: a property list with the last value \
            of each key that has changed. `defaults apply` makes the same changes elsewhere. With --commands, it \
            prints a shell script instead: `defaults write` and `defaults delete` lines, and, if there are values that \
            arguments can't express, a profile for `defaults apply`.

            With --since, it prints what has changed since a time at once. Keys that have their value from then again \
            are left out. With --all, it prints all values that you have set.

            EXAMPLES
              defaults record > dark.plist
              defaults record --by editor 'org.example.*' > editor.plist
              defaults record --since 10m --commands org.example.editor
              defaults record --all > everything.plist
            """)

    @OptionGroup var location: LocationOptions
    @OptionGroup var program: ProgramOption
    @OptionGroup var range: HistoryRange
    @Flag(help: "Print the profile of all values that you have set.") var all = false
    @Flag(help: "Print commands instead of a profile.") var commands = false
    @Flag(help: "Leave out the values that a manifest says are secret.") var withoutSecrets = false
    @Argument(help: "Domains, or patterns of names (default: all domains).", completion: Candidates.domain)
    var domains: [String] = []

    func validate() throws {
        if all, range.since != nil || program.program != nil {
            throw ValidationError("Don't combine --all with --since or --by.")
        }
        if range.until != nil, range.since == nil { throw ValidationError("--until needs --since.") }
    }

    func run() throws {
        let filter = try location.narrowed(
            SubscriptionFilter(
                domains: try domains.map { try SubscriptionFilter.named($0, []).domains }.flatMap(\.self)))
        var profile = try all ? present(filter) : range.since == nil ? recorded(filter) : past(filter)
        let isEmpty = profile.edits.isEmpty
        if withoutSecrets {
            var sensitive = SensitiveKeys()
            for (domain, edit) in profile.edits {
                let others = edit.filter { !sensitive.contains($0.key, of: domain.name) }
                profile.edits[domain] = others.isEmpty ? nil : others
            }
        }
        if profile.edits.isEmpty, !isEmpty {
            throw Failure("All values are secret, and --without-secrets leaves them out.", .notFound)
        }
        if profile.edits.isEmpty { throw Failure(all ? "There are no values." : "Nothing has changed.", .notFound) }
        if commands { return try StandardOutput.write(try profile.commands()) }
        // XML can't represent some characters.
        let bytes = try (try? profile.value.write(as: .xml)) ?? profile.value.write(as: .binary)
        try StandardOutput.write(bytes)
    }

    /// Returns the profile of all values of the user's domains.
    private func present(_ filter: SubscriptionFilter) throws -> Profile {
        var profile = Profile()
        for snapshot in try location.open().backend.snapshots().compactMap({ filter($0) }) {
            if let damage = snapshot.damage {
                let use = snapshot.values.isEmpty ? "It is left out." : "The profile has its last good values."
                Failure.report("\(damage) \(use)")
            }
            if !snapshot.values.isEmpty { profile.edits[snapshot.domain] = snapshot.values.mapValues { $0 } }
        }
        return profile
    }

    /// Returns the profile of the net changes in the history.
    private func past(_ filter: SubscriptionFilter) throws -> Profile {
        var (_, history) = try location.openHistory(of: filter)
        try range.check(history)
        var net: [Domain: [String: KeyChange]] = [:]
        var end = range.since?.revision ?? 0
        var hasUnknown = false
        while let record = try history.next(), !range.isPassed(by: record) {
            if range.since?.includes(record) ?? false { end = max(end, record.revision) }
            guard range.contains(record), record.domain.user == .current else { continue }
            if case .unknown = record.event { hasUnknown = true }
            guard let changeSet = record.changeSet, program.includes(changeSet) else { continue }
            for change in changeSet.changes {
                let last = net[record.domain]?[change.key] ?? change
                net[record.domain, default: [:]][change.key] = KeyChange(
                    key: change.key, old: change.old, new: last.new)
            }
        }
        if let problem = history.problem { Failure.report("\(problem)") }
        if hasUnknown || history.thinned.hasAny(after: end, filter) {
            Failure.report("Not all changes since then are in the history; the profile may be incomplete.")
        }
        var profile = Profile()
        for (domain, changes) in net {
            let edit = changes.filter { $1.old != $1.new }.mapValues(\.new)
            if !edit.isEmpty { profile.edits[domain] = edit }
        }
        return profile
    }

    /// Records changes until the user interrupts the process.
    private func recorded(_ filter: SubscriptionFilter) throws -> Profile {
        let agent = try location.openAgent("`record` needs an agent.")
        let interruption = try Interruption()
        _ = try agent.subscribe(.now, filter: filter, mode: .everything)
        var profile = Profile()
        if isatty(STDERR_FILENO) == 1 { Failure.report("Recording. Press Ctrl-C to stop.") }
        do throws(DefaultsError) {
            var end: Revision?
            while true {
                let event =
                    try end != nil
                    ? agent.nextEvent(within: 0)
                    : agent.nextEvent(within: -1, whileReading: interruption.descriptor)
                guard let event else {
                    if end != nil { break }
                    // Changes that were made before may still be on their way.
                    end = try agent.barrier().cursor.revision
                    continue
                }
                if case .gap = event { Failure.report("Some changes were missed; the profile may be incomplete.") }
                if let end, case .record(let record, _) = event, record.revision > end { break }
                guard case .record(let record, _) = event, case .change(let changeSet) = record.event,
                    record.domain.user == .current, filter.includes(record.domain), program.includes(changeSet)
                else { continue }
                profile.add(changeSet)
            }
        } catch {
            if profile.edits.isEmpty { throw error }
            Failure.report("\(error) These are the changes up to then.")
        }
        return profile
    }
}

/// A descriptor that reports an error once the user has interrupted the process, or standard output has no reader.
///
/// It is the writing end of a pipe, whose reading end a thread closes when a signal arrives. The signals don't end the
/// process while this object exists.
private final class Interruption {
    private let watch: SignalWatch
    private let output: FileDescriptor
    var descriptor: Int32 { output.number }

    init() throws {
        watch = try SignalWatch()
        var ends: [Int32] = [-1, -1]
        try SystemCall.run { pipe(&ends) }
        output = FileDescriptor(owning: ends[1])
        let input = ends[0]
        let isStarted = DetachedThread.start {
            if let watch = try? SignalWatch() {
                // Once standard output has no reader, the profile would go unread.
                let reader = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
                while StandardOutput.hasReader, case .childChanged = watch.wait(for: reader) {}
            }
            close(input)
        }
        if !isStarted { close(input) }
    }
}
