import PropertyList

/// The state of one domain.
struct DomainState {
    /// The file's values, its recent versions, and the edits that it doesn't hold yet.
    var merge = Merge()
    /// The state of the file from which `merge.base` was read, or to which it was saved; `nil` if there is no file.
    var file: FileVersion?
    /// The hash of the file when an earlier agent ended, while the file can't be read; `merge.base` then comes from the
    /// log.
    var earlierFile: ContentHash?
    /// The format of the file, or of the file to create if there is none.
    var format = PropertyListFormat.xml
    /// The time since which the file in `file` has been missing, while its loss isn't confirmed.
    var missingSince: Timestamp?
    /// The positions in the history of the versions in an earlier agent's log: its total when each was the newest.
    var earlierVersions: [ContentHash: Int] = [:]
    /// The reason why the file can't be used; `merge.base` is then its last good state.
    var damage: FileDamage?
    /// The hash of the last version of the file with keys that differ only in Unicode normalization.
    var equivalentKeys: ContentHash?
    /// The hash of a file that has been backed up already.
    var backedUp: ContentHash?
    /// The mark of a save that is under way, as it is in the log's file.
    var intent: FileMark?
    /// The reason why the last save failed.
    var failure: DefaultsError?
    /// Whether a problem has been reported, but not yet its recovery.
    var isTroubled = false

    /// The hash of the file's last known content; `nil` if there is no file.
    var hash: ContentHash? { file?.hash ?? earlierFile }
}

/// A plan for saving a domain, made at one moment.
struct SavePlan {
    /// The edits that the new version includes.
    var edits: [String: Edit]
    /// The values of the new version; empty to remove the file.
    var values: DomainValues
    var format: PropertyListFormat
    /// The state of the file to replace.
    var expected: FileVersion?
    /// The reason why that file can't be used; it must then be backed up first.
    var damage: FileDamage?
    /// Whether that file has keys that the new version lacks, and must be backed up first.
    var losesEquivalentKeys: Bool
    /// The revision up to which the new version includes the log.
    var revision: Revision
    /// The time of the newest of the edits.
    var newest: Timestamp? { edits.values.map(\.time).max() }
    /// The history's total before the new version.
    var total: Int
}
