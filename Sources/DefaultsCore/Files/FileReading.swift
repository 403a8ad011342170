import Glibc
package import Linux
package import PropertyList

/// The outcome of reading a domain's file.
package enum FileReading: Sendable {
    /// There is no file of that name.
    case missing
    /// The file has the same bytes as before, though its identity may have changed.
    case unchanged(FileVersion)
    /// The file's contents have changed.
    case contents(FileContents)
    /// A program has the file open for writing; read it again soon.
    case beingWritten
    /// The file can't be used: it doesn't parse, is empty or too large, isn't a regular file, or can't be read.
    case unusable(FileDamage)

    /// Whether the file is missing or unusable, perhaps only because its directory is missing or unusable.
    var isLoss: Bool {
        switch self {
        case .missing, .unusable: true
        case .unchanged, .contents, .beingWritten: false
        }
    }

    /// Whether a program has the file open for writing.
    var isBeingWritten: Bool { if case .beingWritten = self { true } else { false } }

    /// Returns whether the file is newly missing or damaged, which may be temporary.
    func isNewLoss(after version: FileVersion?, _ damage: FileDamage?) -> Bool {
        switch self {
        case .missing: version != nil
        case .unusable(let new): damage?.version?.hash != new.version?.hash || damage?.error != new.error
        case .unchanged, .contents, .beingWritten: false
        }
    }
}

/// The reason why a file can't be used, reported once for each state of the file.
package struct FileDamage: Hashable, Sendable {
    /// The error, with a sentence that names the file, the line or byte, and the remedy.
    package var error: DefaultsError
    /// The state of the file, if it could be read at all.
    package var version: FileVersion?
    /// Whether the file must not be replaced even after a backup.
    ///
    /// Such a file is the target of a link, or was given by its path and may not be a preferences file.
    package var isProtected = false
    /// Whether the file is text, and so must be replaced by text.
    var isText = false

    /// The error for an edit that would have to replace the file.
    package var refusal: DefaultsError {
        DefaultsError(
            .damaged, "\(error.what) It may not be a preferences file, so it was not replaced.",
            remedy: "Repair it, move it away, or run `defaults write --force`.")
    }
}

/// The contents of a domain's file, read as a whole at one moment.
package struct FileContents: Sendable {
    /// The values, which may have to be parsed first.
    package var values: DomainValues { stored.values }
    let stored: FileValues
    package var format: PropertyListFormat
    package var version: FileVersion
    /// Whether a dictionary has keys that differ only in Unicode normalization; `values` has only one of them.
    package var hasEquivalentKeys = false
    /// The mark set by the store that saved the file; `nil` if the file has no valid mark, like a foreign writer's
    /// file.
    package var saveMark: SaveMark?

    /// The evidence of how a foreign writer came to write the contents.
    package var evidence: WriterEvidence
    /// The time of the file's last change by another program, as far as that is known.
    private var changed: Timestamp

    /// Creates contents from the file's values.
    package init(values: DomainValues, format: PropertyListFormat, version: FileVersion) {
        self.init(values: FileValues(values), format: format, version: version)
    }

    init(
        values: FileValues, format: PropertyListFormat, version: FileVersion, hasEquivalentKeys: Bool = false
    ) {
        stored = values
        self.format = format
        self.version = version
        self.hasEquivalentKeys = hasEquivalentKeys
        // A program may set any time of modification, as `rsync -t` does on a machine whose clock is ahead.
        evidence = WriterEvidence(written: min(version.identity.modified, version.identity.changed))
        changed = version.identity.changed
    }

    /// Removes the times of edits if the file is an earlier version that was moved back into place.
    ///
    /// It then counts as changed when it was moved.
    mutating func removeTimes(ifPutBackAmong versions: FileVersions) {
        guard let newest = saveMark?.times?.newest, versions.haveReplaced(version.hash, editedAt: newest) else {
            return
        }
        saveMark?.times = nil
    }

    /// Sets the time of a file that a save displaced.
    ///
    /// The exchange changed all its times, except that of its contents.
    ///
    /// - Parameter time: A time when the file wasn't in place yet, or still was the version that the save expected.
    mutating func setTime(displacedAfter time: Timestamp) { changed = min(max(evidence.written, time), changed) }

    /// The time of the newest edit if a store saved the contents, or else of the file's last change.
    package var time: Timestamp {
        // Clamp a time from the future: the contents are no newer than the file's last change.
        saveMark?.times.map { min($0.newest, changed) } ?? changed
    }

    /// Returns the time of a key's last change, or else the earliest time by which it had happened.
    package func time(of key: String) -> Timestamp {
        saveMark?.times.map { min($0[key], changed) } ?? changed
    }
}

/// A version of a file: its identity and the hash of its bytes.
package struct FileVersion: Hashable, Sendable {
    package var identity: FileIdentity
    package var hash: ContentHash
    /// Whether a file with the same identity is certain to have the same bytes.
    ///
    /// This is the case if the file was old enough, when its bytes were read, that any later change has other times.
    /// Its age at the next read doesn't matter.
    var isSettled: Bool
    /// The evidence of whether the version has been read; `nil` if there is none.
    var seal: Seal?
    /// Whether another program replaced the version with a copy of it, so that it has read it.
    var isCopied = false

    /// Whether no program but its writer has read the version; `nil` if that isn't known.
    var isUnread: Bool? { isCopied ? false : seal?.isUnread }

    /// Sets in the evidence for the file's next contents what is known about whether this version has been read.
    func addEvidence(to contents: inout FileContents) {
        contents.evidence.isInPlace = identity.isSameFile(as: contents.version.identity)
        guard seal != nil || isCopied else { return }
        let isUnread = isUnread
        // Foundation's UserDefaults writes into the file and then reads it back, all within one tick of the file's
        // times. So that read may have followed the write.
        let mayFollowWrite = contents.evidence.isInPlace && !isCopied
        contents.evidence.isUnread = isUnread == false && mayFollowWrite ? nil : isUnread
    }

    package static func == (first: FileVersion, second: FileVersion) -> Bool {
        first.identity == second.identity && first.hash == second.hash
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(hash)
    }
}

/// The metadata that distinguishes one state of a file from another without reading it.
///
/// The inode number alone isn't enough: ext4 reuses a deleted file's number immediately. Nor does the same identity
/// prove the same content while the file is fresh, because file times advance in ticks (see `isFresh`).
package struct FileIdentity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    package let modified: Timestamp
    package let changed: Timestamp

    package init(_ status: FileStatus) {
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
        self.modified = Timestamp(status.st_mtim)
        self.changed = Timestamp(status.st_ctim)
    }

    /// The part of the identity by which a later agent recognizes the file.
    var stamp: FileStamp { FileStamp(inode: inode, modified: modified) }

    /// Returns whether two identities are those of one file at different times.
    func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }

    /// Returns whether the file changed so shortly before `now` that another change could get the same times.
    ///
    /// Git calls an index entry for such a file "racy".
    package func isFresh(at now: Timestamp) -> Bool {
        FileClock.mayRepeat(modified: modified.nanoseconds, changed: changed.nanoseconds, now: now.nanoseconds)
    }

    /// Returns whether the file changed so long before `now` that no program is still writing it.
    ///
    /// A minute is long for a writer, and for a server's clock to be behind. A time in the future proves nothing.
    func isOld(at now: Timestamp) -> Bool {
        max(modified.nanoseconds, changed.nanoseconds) < now.nanoseconds - 60_000_000_000
    }
}

/// The traits that distinguish a file from one written since, even if both have the same bytes.
///
/// A change of the file's mode or access time changes neither.
package struct FileStamp: Hashable, Sendable {
    package var inode: UInt64
    package var modified: Timestamp
}
