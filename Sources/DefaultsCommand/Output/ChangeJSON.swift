import DefaultsCore
import Manifests
import PropertyList

/// The JSON form of a stream's events, one object per line; the manual page defaults-tail(1) documents it.
enum ChangeJSON {
    /// Returns the line that announces the start of the stream.
    static func ready(at cursor: Cursor, agent pid: Int64, directory: String) -> String {
        line("ready", at: cursor, [("pid", "\(pid)"), ("directory", JSONText.string(directory))])
    }

    /// Returns the line for an event; `nil` if it has none.
    static func line(_ event: StreamEvent) -> String? {
        switch event {
        case .record(let record, let cursor):
            line(record, cursor)
        case .initial(let snapshot) where snapshot.values.isEmpty:
            line(
                "damaged", at: snapshot.cursor,
                location(snapshot.domain) + [("reason", JSONText.string(snapshot.damage ?? ""))])
        case .initial(let snapshot):
            line(
                "change", at: snapshot.cursor,
                location(snapshot.domain) + (snapshot.damage.map { [("damage", JSONText.string($0))] } ?? []) + [
                    ("source", "null"),
                    (
                        "changes",
                        list(
                            snapshot.values.sorted { $0.key < $1.key }.map { key, value in
                                change(KeyChange(key: key, old: nil, new: value), kind: "initial")
                            })
                    ),
                ])
        case .gap(let from, let to):
            line(
                "gap", at: from, [("from", JSONText.string(from.description)), ("to", JSONText.string(to.description))])
        case .bookmark(let cursor):
            line("bookmark", at: cursor, [])
        case .ended:
            nil
        }
    }

    private static func line(_ record: LogRecord, _ cursor: Cursor) -> String {
        let start = [("time", JSONText.string(date(record.time)))] + location(record.domain)
        switch record.event {
        case .change(let changeSet): return line("change", at: cursor, start + entries(changeSet))
        case .damaged(_, let reason):
            return line("damaged", at: cursor, start + [("reason", JSONText.string(reason))])
        case .unsaved(_, let reason):
            return line("unsaved", at: cursor, start + [("reason", JSONText.string(reason))])
        case .recovered:
            return line("recovered", at: cursor, start)
        case .unknown(_, let rest):
            let reason =
                rest == nil
                ? "The file changed while no agent was running." : "Keys excluded from the history changed."
            return line("gap", at: cursor, start + [("reason", JSONText.string(reason))] + (rest.map(entries) ?? []))
        }
    }

    private static func entries(_ changeSet: ChangeSet) -> [(String, String)] {
        var entries = [("source", source(changeSet.source))]
        if let origin = changeSet.origin { entries.append(("origin", JSONText.of(.dictionary(origin.fields)))) }
        entries.append(("changes", list(changeSet.changes)))
        if !changeSet.overruled.isEmpty { entries.append(("overruled", list(changeSet.overruled.map(overruled)))) }
        if !changeSet.violations.isEmpty { entries.append(("violations", list(changeSet.violations.map(violation)))) }
        return entries
    }

    /// Returns a violation as an object: its key, its rule, what that demands, and a sentence.
    static func violation(_ violation: Violation) -> String {
        JSONText.of(.dictionary(violation.fields.merging(["message": .string(violation.description)]) { $1 }))
    }

    private static func line(_ type: String, at cursor: Cursor, _ entries: [(String, String)]) -> String {
        JSONText.object(
            [("type", JSONText.string(type)), ("cursor", JSONText.string(cursor.description))] + entries)
    }

    /// Returns the entries that identify a domain.
    static func location(_ domain: Domain) -> [(String, String)] {
        var location = [
            ("domain", JSONText.string(domain.name.description)),
            ("host", domain.host.identifier.map(JSONText.string) ?? "null"),
        ]
        switch domain.user {
        case .current: break
        case .any(let directory): location.append(("user", JSONText.string(directory)))
        case .managed: location.append(("user", JSONText.string("managed")))
        }
        return location
    }

    /// Returns changes to keys as an array of objects.
    static func list(_ changes: [KeyChange]) -> String {
        list(changes.map { change($0, kind: kind($0)) })
    }

    private static func change(_ change: KeyChange, kind: String) -> String {
        JSONText.object([
            ("key", JSONText.string(change.key)), ("kind", JSONText.string(kind)),
            ("old", change.old.map(JSONText.of) ?? "null"), ("new", change.new.map(JSONText.of) ?? "null"),
        ])
    }

    private static func kind(_ change: KeyChange) -> String {
        if change.new == nil { return "removed" }
        return change.old == nil ? "added" : "changed"
    }

    private static func overruled(_ lost: Overruled) -> String {
        var entries = [
            ("key", JSONText.string(lost.key)), ("value", lost.value.map(JSONText.of) ?? "null"),
            ("source", source(lost.writer)),
        ]
        if case .olderVersion(let time) = lost.reason {
            entries.append(("reason", JSONText.string("older-version")))
            entries.append(("loaded", time.map { JSONText.string(date($0)) } ?? "null"))
        }
        return JSONText.object(entries)
    }

    private static func source(_ writer: Writer) -> String {
        JSONText.of(.dictionary(writer.fields))
    }

    /// Returns a JSON array of elements that are already JSON.
    static func list(_ elements: [String]) -> String {
        "[" + elements.joined(separator: ",") + "]"
    }

    private static func date(_ time: Timestamp) -> String {
        // There are 978,307,200 s from 1970 to 2001. Use whole milliseconds, because a Double can't hold nanoseconds
        // this far from 2001.
        let milliseconds = Double(time.nanoseconds / 1_000_000) - 978_307_200_000
        return PropertyListDate(secondsSinceReferenceDate: milliseconds / 1_000).description
    }
}
