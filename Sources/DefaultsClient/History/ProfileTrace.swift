package import DefaultsCore
package import PropertyList

/// The keys that a profile has set, and their values before that.
///
/// A key is the profile's if an application of the profile made its last change. Changes that were undone don't count,
/// nor do those of another profile that was reset.
package struct ProfileTrace {
    /// A key that a profile has set.
    package struct Key: Hashable, Sendable {
        /// The value that the profile gave the key; `nil` if it removed the key.
        package var value: PropertyListValue?
        /// The value before the profile first changed the key.
        package var former: PropertyListValue?
    }

    private enum Trace {
        /// Set by the profile. While it is open, the next older change may be the profile's, too.
        case own(Key, isOpen: Bool)
        /// Changed by another program; `wasOwned` if the profile had set it before that.
        case foreign(LogRecord, wasOwned: Bool)
        /// Reset together with a profile, whose changes don't count.
        case reset(ofProfile: String)
    }

    /// The profile's keys by domain.
    package private(set) var keys: [Domain: [String: Key]] = [:]
    /// The records that have since changed keys which the profile had set, by domain and key.
    package private(set) var changed: [Domain: [String: LogRecord]] = [:]
    /// The domains in which the profile has set keys that are excluded from the history.
    package private(set) var excluded: Set<Domain> = []
    /// The reason why the trace may lack keys; see `HistoryReader`.
    package let problem: DefaultsError?

    /// Reads the whole history.
    package init(ofProfile name: String, in history: HistoryReader) throws(DefaultsError) {
        var standing = StandingChanges(history)
        var traces: [Domain: [String: Trace]] = [:]
        var reset: Set<Domain> = []
        while let element = try standing.next() {
            // The sequence leaves out what was undone, so skip the undo itself, and likewise a redo.
            if element.isUndo || element.isRedo { continue }
            let (purpose, domain) = (element.changeSet.origin?.purpose, element.record.domain)
            if purpose == .reset(ofProfile: name) { reset.insert(domain) }
            if purpose == .profile(name), element.record.hasExcludedKeys, !reset.contains(domain) {
                excluded.insert(domain)
            }
            for change in element.changeSet.changes {
                let trace = traces[domain]?[change.key]
                traces[domain, default: [:]][change.key] = Self.follow(
                    trace, through: change, of: element, profile: name)
            }
        }
        problem = standing.history.problem
        for (domain, traces) in traces {
            for (key, trace) in traces {
                switch trace {
                case .own(let own, _): keys[domain, default: [:]][key] = own
                case .foreign(let record, wasOwned: true): changed[domain, default: [:]][key] = record
                case .foreign, .reset: break
                }
            }
        }
    }

    /// Returns the trace of a key that includes the next older change.
    private static func follow(
        _ trace: Trace?, through change: KeyChange, of element: StandingChanges.Element, profile name: String
    ) -> Trace? {
        let purpose = element.changeSet.origin?.purpose
        switch (trace, purpose) {
        case (.own(var key, isOpen: true)?, .profile(name)?):
            key.former = change.old
            return .own(key, isOpen: true)
        case (.own(let key, _)?, _): return .own(key, isOpen: false)
        case (.foreign(let record, _)?, .profile(name)?): return .foreign(record, wasOwned: true)
        case (.foreign?, _): return trace
        // Keys that were reset together with this profile aren't its own anymore.
        case (.reset(ofProfile: name)?, _): return trace
        case (.reset(ofProfile: let other)?, .profile(let own)?) where own == other: return trace
        case (_, .reset(ofProfile: let other)?): return .reset(ofProfile: other)
        case (_, .profile(name)?): return .own(Key(value: change.new, former: change.old), isOpen: true)
        default: return .foreign(element.record, wasOwned: false)
        }
    }
}
