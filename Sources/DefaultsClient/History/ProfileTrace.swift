package import DefaultsCore
package import PropertyList

/// The keys that a profile has set, and their values before that.
///
/// A key is the profile's if its last change in the history was made by an application of the profile.
package struct ProfileTrace {
    /// A key that a profile has set.
    package struct Key: Hashable, Sendable {
        /// The value that the profile gave the key; `nil` if it removed the key.
        package var value: PropertyListValue?
        /// The value before the profile first changed the key.
        package var former: PropertyListValue?
        /// The position of the profile's last change to the key.
        package var cursor: Cursor
    }

    private enum Trace {
        case own(Key, isOpen: Bool)
        case foreign
    }

    /// The profile's keys by domain.
    package private(set) var keys: [Domain: [String: Key]] = [:]

    /// Reads the whole history.
    package init(ofProfile name: String, in history: inout HistoryReader) throws(DefaultsError) {
        var traces: [Domain: [String: Trace]] = [:]
        while let record = try history.next() {
            guard case .change(let changeSet) = record.event else { continue }
            let isOwn = changeSet.origin?.purpose == .profile(name)
            for change in changeSet.changes {
                switch traces[record.domain]?[change.key] {
                case nil where isOwn:
                    let cursor = Cursor(epoch: history.epoch, revision: record.revision)
                    let key = Key(value: change.new, former: change.old, cursor: cursor)
                    traces[record.domain, default: [:]][change.key] = .own(key, isOpen: true)
                case .own(var key, isOpen: true)?:
                    if isOwn { key.former = change.old }
                    traces[record.domain]?[change.key] = .own(key, isOpen: isOwn)
                case nil: traces[record.domain, default: [:]][change.key] = .foreign
                default: break
                }
            }
        }
        keys = traces.mapValues { traces in
            traces.compactMapValues { if case .own(let key, _) = $0 { key } else { nil } }
        }.filter { !$1.isEmpty }
    }
}
