import DefaultsCore
import PropertyList

/// Events of a stream as JSON, an object a line; `defaults help tail` documents the form.
enum ChangeJSON {
    /// The line that says that the stream has begun.
    static func ready(at cursor: Cursor, agent pid: Int64, directory: String) -> String {
        line("ready", cursor, [("pid", "\(pid)"), ("directory", JSONText.string(directory))])
    }

    /// The line for an event.
    static func line(_ event: StreamEvent) -> String? {
        switch event {
        case .record(let record, let cursor):
            line(record, cursor)
        case .initial(let snapshot) where snapshot.values.isEmpty:
            line(
                "damaged", snapshot.cursor,
                place(snapshot.domain) + [("reason", JSONText.string(snapshot.damage ?? ""))])
        case .initial(let snapshot):
            line(
                "change", snapshot.cursor,
                place(snapshot.domain) + (snapshot.damage.map { [("damage", JSONText.string($0))] } ?? []) + [
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
            line("gap", to, [("from", JSONText.string(from.description))])
        case .bookmark(let cursor):
            line("bookmark", cursor, [])
        case .ended:
            nil
        }
    }

    private static func line(_ record: LogRecord, _ cursor: Cursor) -> String {
        let start = [("time", JSONText.string(date(record.time)))] + place(record.domain)
        switch record.event {
        case .change(let changeSet):
            var entries = start
            entries.append(("source", source(changeSet.source)))
            entries.append(("changes", list(changeSet.changes)))
            if !changeSet.overruled.isEmpty {
                entries.append(("overruled", list(changeSet.overruled.map(overruled))))
            }
            return line("change", cursor, entries)
        case .damaged(_, let reason):
            return line("damaged", cursor, start + [("reason", JSONText.string(reason))])
        case .unsaved(_, let reason):
            return line("unsaved", cursor, start + [("reason", JSONText.string(reason))])
        case .recovered:
            return line("recovered", cursor, start)
        case .unknown:
            return line("gap", cursor, start + [("reason", JSONText.string("The file changed while no agent ran."))])
        }
    }

    private static func line(_ type: String, _ cursor: Cursor, _ entries: [(String, String)]) -> String {
        JSONText.object(
            [("type", JSONText.string(type)), ("cursor", JSONText.string(cursor.description))] + entries)
    }

    /// What says which domain something is about.
    static func place(_ domain: Domain) -> [(String, String)] {
        var place = [
            ("domain", JSONText.string(domain.name.description)),
            ("host", domain.host.identifier.map(JSONText.string) ?? "null"),
        ]
        switch domain.user {
        case .current: break
        case .any(let directory): place.append(("user", JSONText.string(directory)))
        case .managed: place.append(("user", JSONText.string("managed")))
        }
        return place
    }

    /// Changes of keys as a list of objects.
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
        if change.old == nil { return "added" }
        return change.new == nil ? "removed" : "changed"
    }

    private static func overruled(_ lost: Overruled) -> String {
        JSONText.object([
            ("key", JSONText.string(lost.key)), ("value", lost.value.map(JSONText.of) ?? "null"),
            ("source", source(lost.writer)),
        ])
    }

    private static func source(_ writer: Writer) -> String {
        JSONText.of(.dictionary(writer.fields))
    }

    /// A list of what is JSON already.
    static func list(_ elements: [String]) -> String {
        "[" + elements.joined(separator: ",") + "]"
    }

    private static func date(_ time: Timestamp) -> String {
        // Seconds from 1970 to 2001; whole milliseconds, since a Double holds no nanoseconds this far from its origin.
        let milliseconds = Double(time.nanoseconds / 1_000_000) - 978_307_200_000
        return PropertyListDate(secondsSinceReferenceDate: milliseconds / 1_000).description
    }
}
