import PropertyList

/// An entry in the change log file about a domain's file, from which a later agent can tell whether that file has
/// changed.
package struct FileMark: Hashable, Sendable {
    package var domain: Domain
    /// The hash of the file's bytes; `nil` if there is no file.
    package var hash: ContentHash?
    /// The revision of the last log record that the file and `pending` together reflect.
    package var revision: Revision
    /// The edits that the file doesn't hold.
    package var pending: [String: Edit] = [:]
    /// The values that the file holds of the keys of these edits; `nil` for a key that it doesn't have.
    ///
    /// A key is missing if its value isn't known: earlier versions of the agent didn't write these values.
    package var replaced: Difference = [:]
    /// The revisions of change sets that neither the file nor `pending` has.
    ///
    /// Some of their keys are excluded from the history. They are lost unless the agent saves them.
    package var lost: Set<Revision> = []
    /// The revision of a record up to which the file, or an earlier version of it, has all changes; 0 if that isn't
    /// known.
    var complete: Revision = 0
    /// Whether the file was missing when the last of these edits was made, so that a program that creates it anew
    /// doesn't know their values.
    package var isMissing = false
    /// Whether the mark announces a save of this version, which may never have happened.
    package var isIntent = false
    /// The file that an announced save replaces; `nil` if there is none.
    ///
    /// Earlier versions of the agent didn't write this.
    package var expected: FileStamp?
    /// The hash of the version before, if this one replaced it unread.
    package var unread: ContentHash?
    /// Whether a problem with the domain has been reported, but its recovery has not.
    package var isTroubled = false
    /// Whether another version has replaced this one, so that the mark has only the keys of the edits.
    package private(set) var isReplaced = false

    /// Whether the file held everything about the domain.
    var isComplete: Bool { pending.isEmpty && lost.isEmpty && !isIntent && !isTroubled }

    /// The number of edits that the file lacks.
    var missing: Int { pending.count + lost.count }

    /// Returns whether a log with records from a revision on has all of them since the mark, and those of edits that
    /// are lost.
    func isCovered(since oldest: Revision) -> Bool {
        // A recovered mark's revision is less than the maximum.
        revision + 1 >= oldest && lost.allSatisfy { $0 >= oldest }
    }

    /// The mark of the same version once another one has replaced it.
    ///
    /// The values of the edits may be large, and only matter in the mark of the newest version.
    var ofReplacedVersion: FileMark {
        var mark = FileMark(domain: domain, hash: hash, revision: revision)
        for key in pending.keys { mark.pending[key] = Self.replacedEdit }
        (mark.lost, mark.complete) = (lost, complete)
        mark.isReplaced = true
        return mark
    }

    /// The stand-in for an edit of which only the key is known.
    private static let replacedEdit = Edit(
        value: nil, time: Timestamp(nanoseconds: 0), writer: .agent, sequence: Edit.unordered)
}

extension [FileMark] {
    /// The versions that were always replaced unread.
    var unreadVersions: Set<ContentHash> {
        var (unread, read): (Set<ContentHash>, Set<ContentHash>) = ([], [])
        let certain = filter { !$0.isIntent && !$0.isReplaced }
        for (former, mark) in zip(certain, certain.dropFirst()) where former.hash != mark.hash {
            guard let hash = former.hash else { continue }
            if mark.unread == hash { unread.insert(hash) } else { read.insert(hash) }
        }
        return unread.subtracting(read)
    }
}

extension FileMark {
    package var fields: DomainValues {
        var fields = domain.fields
        fields["type"] = "mark"
        fields["revision"] = .number(revision)
        fields["hash"] = hash.map { .number($0.value) }
        if isMissing { fields["missing"] = true }
        if isIntent { fields["intent"] = true }
        if let expected {
            (fields["inode"], fields["modified"]) = (.number(expected.inode), .integer(expected.modified.nanoseconds))
        }
        fields["unread"] = unread.map { .number($0.value) }
        if isTroubled { fields["troubled"] = true }
        if complete > 0 { fields["complete"] = .number(complete) }
        if !lost.isEmpty { fields["lost"] = .array(lost.sorted().map { .number($0) }) }
        if isReplaced {
            fields["replacedWithout"] = .array(pending.keys.map { .string($0) })
        } else if !pending.isEmpty {
            fields["pending"] = .array(
                pending.map { .dictionary(Self.fields(of: $1, key: $0, replacing: replaced[$0])) })
        }
        return fields
    }

    package init(_ fields: Fields) throws(DefaultsError) {
        var pending: [String: Edit] = [:]
        var replaced: Difference = [:]
        for value in try fields.array("pending") {
            let entry = try Fields(value, of: "A pending edit")
            let sequence = try entry.unsigned("sequence")
            guard sequence <= UInt64(Int64.max) else { throw Fields.wrong("sequence", not: "at most 2^63 - 1") }
            let key = try entry.string("key")
            // An array, as there may be no value.
            if entry.values["replaced"] != nil { replaced[key] = .some(try entry.array("replaced").first) }
            pending[key] = Edit(
                value: entry.values["value"], time: Timestamp(nanoseconds: try entry.integer("time")),
                writer: try Writer(Fields(.dictionary(entry.dictionary("source")), of: "A source")),
                sequence: sequence, identity: try EditIdentity(entry))
        }
        self.init(
            domain: try fields.domain(),
            hash: try fields.hash("hash"),
            revision: try fields.unsigned("revision"), pending: pending, replaced: replaced,
            isMissing: try fields.flag("missing"), isIntent: try fields.flag("intent"),
            expected: fields.values["inode"] == nil ? nil : try FileStamp(fields),
            unread: try fields.hash("unread"), isTroubled: try fields.flag("troubled"))
        lost = Set(try fields.numbers("lost"))
        complete = fields.values["complete"] == nil ? 0 : try fields.unsigned("complete")
        guard fields.values["replacedWithout"] != nil else { return }
        for case .string(let key) in try fields.array("replacedWithout") { self.pending[key] = Self.replacedEdit }
        isReplaced = true
    }

    private static func fields(of edit: Edit, key: String, replacing value: PropertyListValue??) -> DomainValues {
        var fields: DomainValues = [
            "key": .string(key), "time": .integer(edit.time.nanoseconds),
            "source": .dictionary(edit.writer.fields), "sequence": .number(edit.sequence),
        ]
        fields["value"] = edit.value
        edit.identity?.add(to: &fields)
        fields["replaced"] = value.map { .array($0.map { [$0] } ?? []) }
        return fields
    }
}

extension Fields {
    fileprivate func hash(_ name: String) throws(DefaultsError) -> ContentHash? {
        values[name] == nil ? nil : ContentHash(value: try unsigned(name))
    }
}

extension FileStamp {
    fileprivate init(_ fields: Fields) throws(DefaultsError) {
        self.init(
            inode: try fields.unsigned("inode"), modified: Timestamp(nanoseconds: try fields.integer("modified")))
    }
}
