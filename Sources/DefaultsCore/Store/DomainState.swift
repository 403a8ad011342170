import PropertyList

/// All that is known of one domain.
struct DomainState {
    /// The file's values, its recent versions, and the edits that it doesn't hold yet.
    var merge = Merge()
    /// The state of the file that `merge.base` was read from or published as; `nil` for no file.
    var file: FileVersion?
    /// The content of the file when an earlier agent ended, as long as the file can't be read; `merge.base` then comes from
    /// the log.
    var earlierFile: ContentHash?
    /// The format in which the file is, or will be when there is none.
    var format = PropertyListFormat.xml
    /// Since when the file is gone that `file` tells of, while that isn't believed yet.
    var missingSince: Timestamp?
    /// Where the versions that an earlier agent's log tells of stand in the history: its total when they were the newest.
    var earlierVersions: [ContentHash: Int] = [:]
    /// Why the file can't be taken as it is; `merge.base` is then its last good state.
    var damage: FileDamage?
    /// The content of the last version of the file that had keys which differ only in Unicode normalization.
    var equivalentKeys: ContentHash?
    /// The content of a file that has been copied aside already.
    var keptAside: ContentHash?
    /// What the log's file was told of a publication that is under way.
    var intent: FileMark?
    /// Why the last attempt to publish failed.
    var failure: DefaultsError?
    /// Whether it was told that something is wrong, and not yet that it is over.
    var isTroubled = false

    /// The content of the file as it was known last; `nil` for no file.
    var hash: ContentHash? { file?.hash ?? earlierFile }
}
