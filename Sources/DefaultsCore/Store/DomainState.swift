import PropertyList

/// The state of one domain.
struct DomainState {
    /// The file's values, its recent versions, and the edits that it doesn't hold yet.
    var merge = Merge()
    /// The last known state of the file; while a loss is unconfirmed, the state before it.
    private(set) var fileState = FileState.none
    /// The format of the file, or of the file to create if there is none.
    var format = PropertyListFormat.xml
    /// The time at which the file went missing, while the loss is unconfirmed.
    var missingSince: Timestamp?
    /// `merge.versions.total` when each version in an earlier agent's log was the newest; `nil` for one of which the
    /// log doesn't tell that anymore.
    var earlierVersions: [ContentHash: Int?] = [:]
    /// The hash of the version before the file's, if this agent's last save replaced it unread.
    var unread: ContentHash?
    /// The revision of a record up to which the file, or an earlier version of it, has all changes; 0 if that isn't
    /// known.
    var complete: Revision = 0
    /// The revisions of change sets in the log that earlier agents lost before they saved them.
    var lostChangeSets: Set<Revision> = []
    /// The hash of the last version of the file with keys that differ only in Unicode normalization.
    var equivalentKeys: ContentHash?
    /// The hash of a file that has been backed up already.
    var backedUp: ContentHash?
    /// The mark, already in the log file, of a save that is under way, and the edits that it saves.
    var intent: (mark: FileMark, edits: [String: Edit])?
    /// The reason why the last save failed.
    var failure: DefaultsError?
    /// Whether a problem has been reported, but its end has not.
    var isTroubled = false

    /// The last good version of the file, from which `merge.base` was read or to which it was saved; `nil` if there is
    /// no file, or if this agent hasn't read a good version.
    var file: FileVersion? {
        switch fileState {
        case .usable(let version), .damaged(_, lastGood: let version?): version
        case .none, .unseen, .damaged: nil
        }
    }

    /// The reason why the file can't be used; `merge.base` is then its last good state.
    var damage: FileDamage? {
        switch fileState {
        case .damaged(let damage, _), .unseen(_, let damage?): damage
        case .none, .usable, .unseen: nil
        }
    }

    /// The hash of the file's last known content; `nil` if there is no file.
    var hash: ContentHash? { if case .unseen(let hash, _) = fileState { hash } else { file?.hash } }

    /// Records a usable version of the file, or that there is no file.
    ///
    /// Files aren't read while they are being saved, so an announced save has happened or failed.
    mutating func setFile(_ version: FileVersion?) {
        fileState = version.map { .usable($0) } ?? .none
        (intent, unread) = (nil, nil)
    }

    /// Records that the file can't be used.
    mutating func setDamage(_ damage: FileDamage) {
        if case .unseen(let hash, _) = fileState {
            fileState = .unseen(hash, damage)
        } else {
            fileState = .damaged(damage, lastGood: file)
        }
    }

    /// Sets the seal of a version, if that is still the file.
    mutating func setSeal(_ seal: Seal, of version: FileVersion) {
        guard case .usable(var current) = fileState, current == version else { return }
        current.seal = seal
        fileState = .usable(current)
    }

    /// Records that a file that hasn't been readable since this agent began had a version in the earlier agent's log.
    mutating func setUnseen(_ hash: ContentHash) { fileState = .unseen(hash, damage) }
}

/// The last known state of a domain's file.
enum FileState {
    /// There is no file.
    case none
    /// The file is usable.
    case usable(FileVersion)
    /// The file can't be used; its last good version, if this agent has read one, is still in effect.
    case damaged(FileDamage, lastGood: FileVersion?)
    /// The file hasn't been readable since this agent began, perhaps because of damage.
    ///
    /// The hash is that of its last version in the earlier agent's log, from which `merge.base` comes.
    case unseen(ContentHash, FileDamage?)
}
