#if Fleet
import ArgumentParser
import DefaultsClient
import DefaultsCommand
import DefaultsCore
import Fleet
import PropertyList

/// `defaults fleet review`.
struct Review: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "review",
        abstract: "Show edits of this machine that lost, and values that wait to be set.",
        discussion: """
            An edit loses if another machine has edited the same key later, without knowledge of it. The value that \
            lost is in the history, and `defaults undo DOMAIN KEY` brings it back, for all machines; the line ends \
            with the command. `defaults log DOMAIN KEY` shows both values. An edit isn't shown anymore once the key \
            has been edited or undone on this machine. The time is that at which the other edit arrived.

            --json prints an object for each, one a line, with "kind" ("overruled" or "waiting"), "domain", "key" and \
            "machine", the one whose edit counts; and the "time" in seconds since 1970, or the "value" that waits.

            EXAMPLES
              defaults fleet review
              defaults fleet review --json
            """)

    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let state = try Member().state()
        let backend = try Member.backend()
        let names = try MachineName.all(backend)
        let held = try HeldBackKeys(backend)
        func name(_ machine: MachineID) -> String { names[machine]?.name ?? machine.text }
        var isEmpty = true
        for edit in state.overruled {
            // A later edit may have followed the one that won.
            let winner = state.replica.newest[edit.key]?.machine ?? edit.winner.machine
            isEmpty = false
            let time = Timestamp(milliseconds: edit.milliseconds)
            if json {
                print(
                    JSONText.of([
                        "kind": "overruled", "domain": .string(edit.key.domain), "key": .string(edit.key.key),
                        "machine": .string(winner.text),
                        "time": .integer(time.nanoseconds / 1_000_000_000),
                    ]))
            } else {
                let moment = ChangeText.moment(time)
                let words = [edit.key.domain, edit.key.key].map(\.quotedForShell).joined(separator: " ")
                print(
                    "\(moment) \(edit.key.domain) \(edit.key.key): overruled by \(name(winner)); to bring "
                        .printable + "your value back: defaults undo \(words.printable)")
            }
        }
        for (key, application) in state.replica.unconfirmed.sorted(by: { $0.key < $1.key })
        where held.reason(against: key) == nil {
            isEmpty = false
            if json {
                var entries: DomainValues = [
                    "kind": "waiting", "domain": .string(key.domain), "key": .string(key.key),
                    "machine": .string(application.stamp.machine.text),
                ]
                entries["value"] = application.value
                print(JSONText.of(.dictionary(entries)))
            } else {
                let value = application.value.map { ValueText.short($0) } ?? "(none)"
                let from = name(application.stamp.machine)
                print("\(key.domain) \(key.key): \(value) is waiting to be applied (from \(from))".printable)
            }
        }
        if !json, isEmpty { print("Nothing to review.") }
    }
}

/// Values in messages.
enum ValueText {
    /// Returns a value as one short line.
    static func short(_ value: PropertyListValue) -> String {
        let text = JSONText.of(value)
        return (text.count > 60 ? "\(text.prefix(60))…" : text).printable
    }
}
#endif
