package import DefaultsCore
import Glibc
import Linux
import Manifests
import PropertyList

/// The text form of a stream's events.
package struct ChangeText {
    /// Whether the lines contain terminal colors.
    let isColored: Bool

    enum Color: String {
        case dim = "2"
        case bold = "1"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    /// The length, in characters, above which a value is shortened.
    private static let longest = isatty(STDOUT_FILENO) == 1 ? 80 : 200

    /// Returns the lines for an event; none for events that only programs need.
    func lines(_ event: StreamEvent) -> [String] {
        switch event {
        case .record(let record, _): lines(record)
        case .initial(let snapshot):
            [snapshot.damage].compactMap(\.self).map { damage in
                "\(name(snapshot.domain)) \(colored("damaged: \(damage.printable)", in: .yellow))"
            }
                + snapshot.values.sorted { $0.key < $1.key }.map { key, value in
                    "\(name(snapshot.domain)) \(shownKey(key))  \(colored(shown(value), in: .green))"
                }
        case .gap(.ofNoLog, _): [colored("The values were interrupted and start over.", in: .yellow)]
        case .gap(let from, let to):
            [colored("The changes between \(from) and \(to) are no longer available.", in: .yellow)]
        case .bookmark: []
        case .ended: [colored("The stream ended because it was read too slowly.", in: .yellow)]
        }
    }

    /// Returns the text of a change: the key, its old value, an arrow, its new value.
    func text(_ change: KeyChange) -> String {
        let texts = (Self.text(change.old), Self.text(change.new))
        // Of long values, show where they begin to differ.
        let common = zip(texts.0.utf8, texts.1.utf8).prefix { $0 == $1 }.count
        let old = colored(Self.shortened(texts.0, of: change.old, from: common), in: .red)
        let new = colored(Self.shortened(texts.1, of: change.new, from: common), in: .green)
        return "\(shownKey(change.key))  \(old) → \(new)"
    }

    /// Returns the lines for a record of the history, which begin with its number and the date.
    func history(_ record: LogRecord) -> [String] {
        let number = colored("\(record.revision)", in: .yellow)
        return lines(record, after: "\(number) \(colored("\(Self.moment(record.time))", in: .dim))")
    }

    /// Returns the beginning of a list of keys, in quotes, and the number of the others.
    static func list(_ keys: [String]) -> String {
        let shown = keys.prefix(4).map { "\"\($0.printable)\"" }.joined(separator: ", ")
        return shown + (keys.count > 4 ? " and \(keys.count - 4) more" : "")
    }

    /// Returns the part of a sentence that says when a change was made, and by which program.
    func explanation(_ record: LogRecord) -> String {
        guard let changeSet = record.changeSet else { return "" }
        return ", at \(Self.moment(record.time)) (\(describe(changeSet)))"
    }

    /// Returns the sentence that says that some of a domain's keys can't be given their former values.
    func excluded(_ domain: Domain) -> String {
        "\(name(domain)): keys that HistoryExcludes or a manifest keeps out of the history keep their values."
    }

    private func lines(_ record: LogRecord) -> [String] {
        lines(record, after: colored(Self.clock(record.time), in: .dim))
    }

    private func lines(_ record: LogRecord, after beginning: String) -> [String] {
        let start = "\(beginning) \(name(record.domain))"
        switch record.event {
        case .change(let changeSet): return lines(changeSet, after: start)
        case .damaged(_, let reason):
            let reason = reason.printable
            // This doesn't apply to a managed file that a user other than root may have written.
            let consequence = record.domain.user == .managed ? "" : " The last good values, if any, stay in effect."
            return ["\(start) \(colored("damaged: \(reason)\(consequence)", in: .yellow))"]
        case .unsaved(_, let reason):
            return ["\(start) \(colored("not saved: \(reason.printable)", in: .yellow))"]
        case .recovered:
            return ["\(start) \(colored("recovered", in: .green))"]
        case .unknown(_, nil):
            return ["\(start) \(colored("changed while no agent was running", in: .yellow))"]
        case .unknown(_, let rest?):
            return lines(rest, after: start) + [
                "\(start) \(colored("keys excluded from the history changed", in: .yellow))"
            ]
        }
    }

    private func lines(_ changeSet: ChangeSet, after start: String) -> [String] {
        let source = colored("(\(describe(changeSet)))", in: .dim)
        let changes = changeSet.changes.map { change in "\(start) \(text(change))  \(source)" }
        return changes
            + changeSet.overruled.map { "\(start) \(shownKey($0.key))  \(colored(text($0), in: .yellow))" }
            + changeSet.violations.map { violation in
                "\(start) \(shownKey(violation.key))  \(colored(violation.description.printable, in: .yellow))"
            }
    }

    private func text(_ lost: Overruled) -> String {
        let what = lost.value.map { "\(shown($0)), set" } ?? "removed"
        guard case .olderVersion(let time) = lost.reason else {
            return "overruled: \(what) by \(describe(lost.writer))"
        }
        let version = time.map { "the version of \(Self.moment($0))" } ?? "an older version"
        return "overruled: \(what) by a program that had loaded \(version). To insist, write the file again."
    }

    /// Returns a key for display; an empty one as a pair of quotes.
    private func shownKey(_ key: String) -> String { colored(key.isEmpty ? "\"\"" : key.printable, in: .bold) }

    func name(_ domain: Domain) -> String { domain.description.printable }

    /// Returns the writer of a change set, followed by its origin.
    private func describe(_ changeSet: ChangeSet) -> String {
        let program = changeSet.origin?.program.map { "for \(Path.lastName(of: $0).printable)" }
        return ([describe(changeSet.source), program] + [changeSet.origin?.purpose.map(describe)])
            .compactMap(\.self).joined(separator: ", ")
    }

    private func describe(_ purpose: Origin.Purpose) -> String {
        let (name, subject) = purpose.texts
        return switch purpose {
        case .undo(let cursor, let reach): "undo of \(numbers(cursor, back: reach))"
        case .redo(let cursor, let reach): "redo of \(numbers(cursor, back: reach))"
        case .profile: "profile \(subject.printable)"
        case .reset: "reset of profile \(subject.printable)"
        case .other: "\(name.printable) \(subject.printable)"
        }
    }

    /// Returns the number of the change that was reversed, or the first and the last number.
    private func numbers(_ newest: Cursor, back reach: UndoReach) -> String {
        let oldest = min(reach.oldest.values.min() ?? newest.revision, newest.revision)
        return oldest == newest.revision ? "\(oldest)" : "\(oldest) to \(newest.revision)"
    }

    private func describe(_ writer: Writer) -> String {
        switch writer {
        case .file: return "file"
        case .agent: return "agent"
        case .app(let app):
            let name = Path.lastName(of: app.executable)
            return "\(name.isEmpty ? "app" : name.printable), pid \(app.pid)"
        }
    }

    /// Returns a value as JSON, shortened if it is long; `--json` shows all of it.
    func shown(_ value: PropertyListValue?) -> String { Self.shortened(Self.text(value), of: value, from: 0) }

    private static func text(_ value: PropertyListValue?) -> String { value.map(JSONText.of) ?? "(none)" }

    /// Returns the part of a value's text around an offset in bytes, and the size; the whole text if it is short.
    private static func shortened(_ text: String, of value: PropertyListValue?, from offset: Int) -> String {
        // Don't count the characters of a text that may have megabytes.
        func index(_ distance: Int, from start: String.Index) -> String.Index {
            text.index(start, offsetBy: distance, limitedBy: distance < 0 ? text.startIndex : text.endIndex)
                ?? (distance < 0 ? text.startIndex : text.endIndex)
        }
        if index(longest, from: text.startIndex) == text.endIndex { return text }
        let lead = longest / 4
        let difference = text.utf8.index(text.startIndex, offsetBy: min(offset, text.utf8.count))
        // A beginning that is as short as the lead is shown, too.
        let isNear = difference <= index(2 * lead, from: text.startIndex)
        let start = isNear ? text.startIndex : index(-lead, from: difference)
        let end = index(longest, from: start)
        let size =
            if case .data(let bytes)? = value { "\(bytes.count) bytes of data" } else { "\(text.utf8.count) bytes" }
        let ellipses = (start == text.startIndex ? "" : "…", end == text.endIndex ? "" : "…")
        return "\(ellipses.0)\(text[start..<end])\(ellipses.1) (\(size))"
    }

    func colored(_ text: String, in color: Color) -> String {
        isColored ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Returns the local date and time of day.
    package static func moment(_ time: Timestamp) -> String { local(time, as: "%Y-%m-%d ") + clock(time) }

    /// Returns the local time of day.
    private static func clock(_ time: Timestamp) -> String {
        "\(local(time, as: "%H:%M:%S")).\(String(1_000 + time.nanoseconds / 1_000_000 % 1_000).dropFirst())"
    }

    private static func local(_ time: Timestamp, as format: String) -> String {
        var seconds = time_t(time.nanoseconds / 1_000_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 64) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress, $0.count, format, &parts) }
        }
    }
}
