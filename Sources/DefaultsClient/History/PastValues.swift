package import DefaultsCore
import PropertyList

/// The values of a domain at an earlier time.
package struct PastValues {
    /// The values, as far as the history tells.
    package private(set) var values: DomainValues
    /// The keys whose past values may be wrong, because the history lacks some of their changes.
    ///
    /// These have been thinned out, or were made while no agent was running and then overwritten.
    package private(set) var uncertain: Set<String> = []
    /// The keys that have values now, but are excluded from the history.
    package private(set) var excluded: Set<String> = []
    /// Whether the file has been changed since by programs that the history doesn't know.
    package private(set) var hasUnknownChanges = false
    /// Whether the history has any record of the domain.
    package private(set) var hasRecords = false
    /// Whether the history doesn't reach back far enough.
    package private(set) var isTooOld = false

    /// Follows a domain's history back from its present values.
    ///
    /// - Parameters:
    ///   - present: The present values.
    ///   - history: The history of the domain alone.
    ///   - exclusions: The keys that are excluded from the history.
    ///   - revision: The revision after which the values are wanted; `nil` for that of the first record in the past.
    ///   - isPast: A function that returns whether a record is part of the past to return.
    /// - Throws: The errors of the reader.
    package init(
        from present: DomainSnapshot, _ history: inout HistoryReader, excluding exclusions: HistoryExclusions,
        after revision: Revision? = nil, until isPast: (LogRecord) -> Bool
    ) throws(DefaultsError) {
        values = present.values
        var last: Revision = 0
        for key in values.keys where exclusions.exclude(key, of: present.domain) {
            excluded.insert(key)
            values[key] = nil
        }
        while let record = try history.next() {
            hasRecords = hasRecords || record.domain == present.domain
            if isPast(record) {
                last = record.revision
                break
            }
            if record.domain != present.domain || record.revision > present.cursor.revision { continue }
            if record.isUnknown { hasUnknownChanges = true }
            for key in values.keys where record.changeSet?.mayHaveChanged(key) == true {
                excluded.insert(key)
                values[key] = nil
            }
            for change in record.changeSet?.changes ?? [] where !exclusions.exclude(change.key, of: present.domain) {
                if !PropertyListValue.areSame(change.new, inEffect: values[change.key]) { uncertain.insert(change.key) }
                values[change.key] = change.old
            }
        }
        isTooOld = last == 0
        let known = Set(values.keys).union(present.values.keys).subtracting(excluded)
        uncertain.formUnion(history.thinned.keys(in: present.domain, after: revision ?? last, among: known))
    }
}
