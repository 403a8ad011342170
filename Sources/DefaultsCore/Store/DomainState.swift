import PropertyList

/// The state of one domain.
///
/// `file`, `earlierFile` and `damage` together describe the file:
///
/// | `file` | `earlierFile` | `damage` | state |
/// | --- | --- | --- | --- |
/// | | | | There is no file. |
/// | set | | | The file is usable. |
/// | set | | set | The file can't be used; `file` is its last good version. |
/// | | set | | The file hasn't been readable since this agent began; the log has its last version. |
/// | | set | set | The same, and the file can't be used. |
/// | | | set | The file can't be used, and no good version of it has been read. |
///
/// `missingSince` is independent of them: while the loss isn't confirmed, they describe the file before it.
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
    /// The mark of a save that is under way, as it is in the log file.
    var intent: FileMark?
    /// The reason why the last save failed.
    var failure: DefaultsError?
    /// Whether a problem has been reported, but not yet its recovery.
    var isTroubled = false

    /// The hash of the file's last known content; `nil` if there is no file.
    var hash: ContentHash? { file?.hash ?? earlierFile }

    /// Records the file's version, which is usable, or that there is no file.
    mutating func setFile(_ version: FileVersion?) { (file, earlierFile, damage) = (version, nil, nil) }
}
