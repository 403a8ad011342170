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
        abstract: "Record changes until interrupted, and print them as a profile.",
        discussion: """
            Collects changes until you press Ctrl-C, and then prints a profile: a property list with the last value \
            of each key that has changed. `defaults apply` makes the same changes elsewhere. With --commands, it \
            prints a shell script instead: `defaults write` and `defaults delete` lines, and, if there are values that \
            arguments can't express, a profile for `defaults apply`.

            EXAMPLES
              defaults record > dark.plist
              defaults record --for editor 'org.example.*' > editor.plist
              defaults record --commands org.example.editor
            """)

    @OptionGroup var location: LocationOptions
    @Option(name: .customLong("for"), help: ArgumentHelp("Only changes by this program.", valueName: "program"))
    var program: String?
    @Flag(help: "Print commands instead of a profile.") var commands = false
    @Argument(help: "Domains, or patterns of names (default: all domains).", completion: Candidates.domain)
    var domains: [String] = []

    func run() throws {
        let filters = try domains.map { try SubscriptionFilter.named($0, []).domains }
        guard let agent = try location.open() as? AgentConnection else {
            throw Failure("`record` needs an agent. Start one with `defaultsd`.", .unavailable)
        }
        let interruption = try Interruption()
        _ = try agent.subscribe(.now, filter: SubscriptionFilter(domains: filters.flatMap(\.self)), mode: .everything)
        var option = ProgramOption()
        option.program = program
        var profile = Profile()
        if isatty(STDERR_FILENO) == 1 { Failure.note("Recording. Press Ctrl-C to stop.") }
        do throws(DefaultsError) {
            var isInterrupted = false
            while true {
                let event =
                    try isInterrupted
                    ? agent.nextEvent(within: 0)
                    : agent.nextEvent(within: -1, whileReading: interruption.descriptor)
                guard let event else {
                    if isInterrupted { break }
                    isInterrupted = true
                    // Changes that were made before may still be on their way.
                    _ = try agent.barrier()
                    continue
                }
                if case .gap = event { Failure.note("Some changes were missed; the profile may be incomplete.") }
                guard case .record(let record, _) = event, case .change(let changeSet) = record.event,
                    record.domain.user == .current, option.includes(changeSet)
                else { continue }
                profile.add(changeSet)
            }
        } catch {
            if profile.edits.isEmpty { throw error }
            Failure.note("\(error) These are the changes up to then.")
        }
        if profile.edits.isEmpty { throw Failure("Nothing has changed.", .notFound) }
        if commands { return try StandardOutput.write(try profile.commands()) }
        // XML can't represent some characters.
        let bytes = try (try? profile.value.write(as: .xml)) ?? profile.value.write(as: .binary)
        try StandardOutput.write(bytes)
    }
}

/// A descriptor that reports an error once the user has interrupted the process.
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
                while case .childChanged = watch.wait() {}
            }
            close(input)
        }
        if !isStarted { close(input) }
    }
}
