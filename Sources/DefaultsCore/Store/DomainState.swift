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
/// `missingSince` is independent of these three: until a loss is confirmed, they describe the file as it was before.
struct DomainState {
    /// The file's values, its recent versions, and the edits that it doesn't hold yet.
    var merge = Merge()
    /// The state of the file from which `merge.base` was read, or to which it was saved; `nil` if there is no file.
    var file: FileVersion?
    /// The hash that the file had when an earlier agent ended, set while the file can't be read; `merge.base` then
    /// comes from the log.
    var earlierFile: ContentHash?
    /// The format of the file, or of the file to create if there is none.
    var format = PropertyListFormat.xml
    /// The time at which `file` went missing, while the loss is unconfirmed.
    var missingSince: Timestamp?
    /// The history's total when each version in an earlier agent's log was the newest.
    var earlierVersions: [ContentHash: Int] = [:]
    /// The reason why the file can't be used; `merge.base` is then its last good state.
    var damage: FileDamage?
    /// The hash of the last version of the file with keys that differ only in Unicode normalization.
    var equivalentKeys: ContentHash?
    /// The hash of a file that has been backed up already.
    var backedUp: ContentHash?
    /// The mark, already in the log file, of a save that is under way.
    var intent: FileMark?
    /// The reason why the last save failed.
    var failure: DefaultsError?
    /// Whether a problem has been reported, but its recovery has not.
    var isTroubled = false

    /// The hash of the file's last known content; `nil` if there is no file.
    var hash: ContentHash? { file?.hash ?? earlierFile }

    /// Records a usable version of the file, or that there is no file.
    ///
    /// Files aren't read while they are being saved, so an announced save has happened or failed.
    mutating func setFile(_ version: FileVersion?) {
        (file, earlierFile, damage, intent) = (version, nil, nil, nil)
    }
}
