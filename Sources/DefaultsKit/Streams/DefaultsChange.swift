#if !OVER_FOUNDATION
import DefaultsCore
import Manifests
public import FoundationEssentials
public import PropertyList

/// A change set: the changes to one domain that were made together, in one edit or one reload of its file.
public struct DefaultsChange: Hashable, Sendable {
    /// The writer of a change set.
    public enum Source: Hashable, Sendable {
        /// This process.
        case thisProcess
        /// Another process, given by its process ID and the path of its executable.
        case process(Int, executable: String)
        /// A foreign writer, which wrote the file directly.
        case file
        /// The agent, which restored values that a foreign writer overwrote because it had loaded an older version of
        /// the file.
        case agent
    }

    /// The reason that a writer gave for its changes.
    public struct Origin: Hashable, Sendable {
        /// The program on whose behalf the changes were made, if that isn't the writer.
        public let program: String?
        /// The purpose of the changes.
        public let purpose: Purpose?

        /// The purpose of a change set; later versions may add others.
        public struct Purpose: Hashable, Sendable {
            /// The name, such as `undo`, `redo` or `profile`.
            public let name: String
            /// A cursor, or the name of a profile.
            public let subject: String

            /// Undoing the change set with this cursor.
            public static func undo(_ cursor: Cursor) -> Purpose { Purpose(.undo(cursor.cursor)) }

            /// Redoing: undoing the undo with this cursor.
            public static func redo(_ cursor: Cursor) -> Purpose { Purpose(.redo(cursor.cursor)) }

            /// Applying the profile with this name.
            public static func profile(_ name: String) -> Purpose { Purpose(.profile(name)) }

            fileprivate init(_ purpose: DefaultsCore.Origin.Purpose) { (name, subject) = purpose.texts }
        }

        init(_ origin: DefaultsCore.Origin) {
            program = origin.program
            purpose = origin.purpose.map(Purpose.init)
        }
    }

    /// A value that a merge discarded in favor of another writer's value for the same key.
    public struct Overruled: Hashable, Sendable {
        /// The key.
        public let key: String
        /// The discarded value; `nil` if a removal was discarded.
        public let value: PropertyListValue?
        /// The writer of the discarded value.
        public let source: Source
        /// The reason why it was discarded.
        public let reason: Reason

        /// A reason to discard a value; later versions may add others.
        public enum Reason: Hashable, Sendable {
            /// The other writer's change was later.
            case laterChange
            /// The writer had loaded an older version of the file, from before the value that stands was set.
            ///
            /// The date is the time when that version became the file; `nil` if it is unknown. To insist on the
            /// discarded value, write the file again.
            case olderVersion(Date?)
        }

        fileprivate init(_ lost: DefaultsCore.Overruled) {
            key = lost.key
            value = lost.value
            source = Source(lost.writer, isOwn: lost.writer == .app(.current))
            reason =
                switch lost.reason {
                case .laterChange: .laterChange
                case .olderVersion(let time): .olderVersion(time.map(Date.init))
                }
        }
    }

    /// A value that breaks the manifest of its domain, or a condition that it makes hold.
    public struct Violation: Hashable, Sendable, CustomStringConvertible {
        /// The key.
        public let key: String
        /// The place of the value, such as `Window.Size[0]`; the key, if it is the key's value itself.
        public let place: String
        /// The rule, such as `type`, `choice`, `minimum`, `maximum`, `format` or `required`; later versions may have
        /// others.
        public let rule: String
        /// The demand of the rule: the name of a type, the choices, a bound or an expression; `nil` for some rules.
        public let limit: PropertyListValue?
        /// A sentence with the place and what would be right, without the value.
        public let description: String

        fileprivate init(_ violation: Manifests.Violation) {
            (key, place, limit) = (violation.key, violation.place, violation.limit)
            (rule, description) = (violation.rule.rawValue, violation.description)
        }
    }

    /// A position in the agent's log, for `defaults tail --since`.
    public struct Cursor: Hashable, Sendable, LosslessStringConvertible {
        fileprivate let cursor: DefaultsCore.Cursor

        init(_ cursor: DefaultsCore.Cursor) {
            self.cursor = cursor
        }

        /// Creates a cursor from its text form; `nil` for any other text.
        public init?(_ description: String) {
            guard let cursor = try? DefaultsCore.Cursor(description) else { return nil }
            self.cursor = cursor
        }

        /// The epoch and the revision, as `defaults tail` prints them: `3f2a…:17`.
        public var description: String { cursor.description }
    }

    /// The domain that changed.
    public let domain: PreferencesDomain
    /// The writer of the changes.
    public let source: Source
    /// The reason for the changes, if their writer gave one.
    public let origin: Origin?
    /// The changes to this domain's keys, each key once, sorted by name.
    ///
    /// Empty if the change set only reports overruled values.
    public let changes: [KeyChange<PropertyListValue?>]
    /// The values that lost in the same merge, either to these changes or to values that stay in effect.
    public let overruled: [Overruled]
    /// The rules in the domain's manifest that the changes break, if it has one and an agent is running.
    ///
    /// The values are in effect nevertheless.
    public let violations: [Violation]
    /// The time of the change, for display only: the stream's order is authoritative, since clocks may be set.
    public let time: Date
    /// The position after this change set in the agent's log.
    public let cursor: Cursor

    /// The change set and its position, for undo.
    var parts: (ChangeSet, DefaultsCore.Cursor) {
        let changes = changes.map { DefaultsCore.KeyChange(key: $0.key, old: $0.oldValue, new: $0.newValue) }
        return (ChangeSet(domain: domain.domain, source: .app(.current), changes: changes), cursor.cursor)
    }

    init(
        _ changeSet: ChangeSet, at time: Timestamp, cursor: DefaultsCore.Cursor, isOwn: Bool,
        domain: PreferencesDomain
    ) {
        self.domain = domain
        source = Source(changeSet.source, isOwn: isOwn)
        origin = changeSet.origin.map(Origin.init)
        changes = changeSet.changes.map { KeyChange(key: $0.key, oldValue: $0.old, newValue: $0.new) }
        overruled = changeSet.overruled.map(Overruled.init)
        violations = changeSet.violations.map(Violation.init)
        self.time = Date(time)
        self.cursor = Cursor(cursor)
    }
}

extension DefaultsChange.Source {
    fileprivate init(_ writer: Writer, isOwn: Bool) {
        self =
            switch writer {
            case _ where isOwn: .thisProcess
            case .app(let app): .process(Int(app.pid), executable: app.executable)
            case .file: .file
            case .agent: .agent
            }
    }
}

extension Date {
    fileprivate init(_ time: Timestamp) { self.init(timeIntervalSince1970: Double(time.nanoseconds) / 1e9) }
}

/// An event of the domains that a stream follows.
public enum DefaultsEvent: Hashable, Sendable {
    /// A change set: some values have changed.
    case change(DefaultsChange)
    /// A change set without changes: some values have been overruled by values that stay in effect.
    case overruled(DefaultsChange)
    /// A domain's file is damaged or unreadable, for the given reason; the values stay as they were.
    case damaged(PreferencesDomain, reason: String)
    /// A domain's edits, from any process, can't be saved, for the given reason.
    ///
    /// The edits stay in effect, and saving is retried.
    case unsaved(PreferencesDomain, reason: String)
    /// A domain is no longer damaged or unsaved.
    case recovered(PreferencesDomain)
    /// Earlier changes are lost to this stream, because the consumer was too slow or the agent was replaced.
    ///
    /// Read the values again.
    case gap
}
#endif
