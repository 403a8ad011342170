import DefaultsCore
public import FoundationEssentials
public import PropertyList

/// What someone changed in one domain, in one step.
public struct DefaultsChange: Hashable, Sendable {
    /// Who made a change.
    public enum Source: Hashable, Sendable {
        /// This process.
        case thisProcess
        /// Another process, by its number and the path of its executable.
        case process(Int, executable: String)
        /// Whoever wrote the file.
        case file
        /// The agent, which put back what the writer of a file has overwritten that had loaded an older version.
        case agent
    }

    /// One key's change.
    public struct Key: Hashable, Sendable {
        /// The key.
        public let name: String
        /// The value before, in this domain; `nil` when it had none.
        public let old: PropertyListValue?
        /// The value since; `nil` when the key was removed.
        public let new: PropertyListValue?
    }

    /// The domain.
    public let domain: PreferencesDomain
    /// Who changed it.
    public let source: Source
    /// The changed keys, each once, in the order of their names.
    public let keys: [Key]
    /// When, for people: the order is that of the stream.
    public let time: Date
    /// The place in the agent's log after it, which `defaults tail --since` takes.
    public let cursor: String

    init(_ changeSet: ChangeSet, at time: Timestamp, _ cursor: Cursor, isOwn: Bool) {
        domain = PreferencesDomain(changeSet.domain)
        source =
            switch changeSet.source {
            case _ where isOwn: .thisProcess
            case .app(let app): .process(Int(app.pid), executable: app.executable)
            case .file: .file
            case .agent: .agent
            }
        keys = changeSet.changes.map { Key(name: $0.key, old: $0.old, new: $0.new) }
        self.time = Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9)
        self.cursor = cursor.description
    }
}
