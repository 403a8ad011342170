import Glibc
import Linux
import PropertyList

/// The encoding of a new version, and backup copies of what the new version can't preserve.
extension Saver {
    /// Encodes as much of a plan as a file can hold, so that an edit that is too large doesn't block the others.
    ///
    /// If necessary, the edits that make the file largest are removed from the plan.
    ///
    /// - Returns: The same as `encode`.
    /// - Throws: The reason why none of the edits can be saved.
    func encodeWhatFits(
        _ plan: inout SavePlan, for domain: Domain, in file: DomainFile
    ) throws(DefaultsError) -> (bytes: [UInt8]?, format: PropertyListFormat) {
        let reason: DefaultsError
        do throws(DefaultsError) { return try encode(plan, for: domain, in: file) } catch { reason = error }
        guard reason.code == .invalidValue else { throw reason }
        let groups = plan.groupsByGrowth
        // Edits that don't make the file larger are never left out. Each attempt encodes the whole file.
        var (least, tooMany) = (max(groups.firstIndex { $0.growth > 0 } ?? groups.count, 1), groups.count)
        var fitting: (edits: [String: Edit], new: (bytes: [UInt8]?, format: PropertyListFormat))?
        while least < tooMany {
            let count = (least + tooMany) / 2
            var part = plan
            for group in groups[count...] { for key in group.keys { part.edits[key] = nil } }
            do throws(DefaultsError) {
                fitting = (part.edits, try encode(part, for: domain, in: file))
                least = count + 1
            } catch {
                guard error.code == .invalidValue else { throw error }
                tooMany = count
            }
        }
        guard let (edits, new) = fitting else { throw .excess(of: plan.edits.keys, reason) }
        plan.excess = .excess(of: plan.edits.keys.filter { edits[$0] == nil }, reason)
        plan.edits = edits
        return new
    }

    /// Encodes the new version; returns `nil` bytes if the file must be removed.
    ///
    /// If possible, the bytes of a text file or a large binary file are preserved except for the keys that change.
    /// Otherwise, the whole version is written anew. A file that can't be removed is emptied. So is the target of a
    /// link, since removing it would leave the link dangling.
    func encode(
        _ plan: SavePlan, for domain: Domain, in file: DomainFile
    ) throws(DefaultsError) -> (bytes: [UInt8]?, format: PropertyListFormat) {
        let count = plan.count
        if count == 0, !file.isLink, !file.isFixed { return (nil, plan.format) }
        var lost: FileVersion?
        if let old = try bytes(replacedBy: plan, in: file), let version = plan.expected {
            let edits = plan.edits.mapValues(\.value)
            let new =
                plan.format == .binary
                ? BinarySplice.splice(edits, into: old, resultingCount: count)
                : TextSplice.splice(edits, into: old, resultingCount: count).flatMap {
                    isAsPlanned($0, in: plan) ? $0 : nil
                }
            // Without its last key, a strings file would be blank, which counts as damage.
            let isBlank = count == 0 && plan.format == .oldStyle && new.map(TextComments.areAll) == true
            if let new, !isBlank, new.count <= store.limits.bytes { return (new, plan.format) }
            if TextComments.exist(in: old, plan.format) { lost = version }
        }
        let new = try store.encode(plan.values(), as: plan.format, for: domain)
        // An edit that is too large makes no copy.
        guard let lost else { return new }
        try backUp(lost, in: file, of: domain, because: .comments, finding: "has comments that would be lost")
        return new
    }

    /// Reads the file that a plan replaces if its bytes are worth preserving.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - file: The file.
    /// - Returns: Its bytes; `nil` if it is binary and small or many keys change, or if it is no longer in the expected
    ///   state.
    /// - Throws: `notSaved` if the file can't be read now, so that comments and the like aren't lost.
    private func bytes(replacedBy plan: SavePlan, in file: DomainFile) throws(DefaultsError) -> [UInt8]? {
        guard plan.damage == nil, !plan.losesEquivalentKeys, let expected = plan.expected else { return nil }
        // Up to about a thousand keys, encoding all of them takes less time than the disk.
        if plan.format == .binary, expected.identity.size < 32_768 || plan.edits.count > 16 { return nil }
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            let source = try FileDescriptor(openingUnseen: file.path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            bytes = try source.read(upTo: Int(expected.identity.size))
        } catch {
            if error.number == ENOENT { return nil }
            throw DefaultsError(.notSaved, errno: error.number, "\(file.path) can't be read").adding(
                store.lifetime.consequence)
        }
        // Even if the file is written from now on, the save replaces these bytes or nothing.
        return ContentHash(bytes) == expected.hash ? bytes : nil
    }

    /// Returns whether a spliced text reads back as the plan's values.
    ///
    /// Layouts of text vary endlessly, so a result that doesn't is never used.
    private func isAsPlanned(_ text: [UInt8], in plan: SavePlan) -> Bool {
        guard case .dictionary(let values)? = try? PropertyListValue(parsing: text) else { return false }
        return Difference(from: plan.values(), to: values, readFrom: plan.format).isEmpty
    }

    /// Backs up a file that a plan replaces, if the new version can't preserve everything in it.
    func backUp(_ file: DomainFile, of domain: Domain, replacedBy plan: SavePlan) throws(DefaultsError) {
        if let damage = plan.damage {
            if damage.isProtected { throw damage.refusal }
            guard let version = damage.version else {
                // The file can't be read, or isn't a regular file. It can't be backed up either, so leave it alone.
                let error = damage.error
                throw DefaultsError(.notSaved, error.what, remedy: error.remedy, errno: error.errno)
                    .adding(store.lifetime.consequence)
            }
            try backUp(version, in: file, of: domain, because: .damaged, finding: "is damaged")
        } else if plan.losesEquivalentKeys, let version = plan.expected {
            try backUp(
                version, in: file, of: domain, because: .equivalentKeys,
                finding: "has keys that differ only in Unicode normalization")
        }
    }

    /// Backs up a file before it is replaced, unless the same contents have been backed up already.
    private func backUp(
        _ version: FileVersion, in file: DomainFile, of domain: Domain, because reason: BackupFile.Reason,
        finding: String
    ) throws(DefaultsError) {
        if store.state.withLock({ $0.domains[domain]?.backedUp == version.hash }) { return }
        let kept: FileVersion
        do throws(SystemCall.Failure) {
            let source = try FileDescriptor(openingUnseen: file.path, O_RDONLY | O_NONBLOCK)
            guard let (bytes, version, _) = try file.readWhole(source, openWriters: .readAnyway) else {
                throw SystemCall.Failure(number: EBUSY)
            }
            store.reportCopy(try BackupFile.write(bytes, of: file.path, because: reason))
            kept = version
        } catch {
            // The file is being written right now.
            if error.number == EBUSY { throw isOpen(file) }
            throw DefaultsError(.notSaved, errno: error.number, "\(file.path) \(finding) and can't be backed up")
                .adding("So it isn't replaced. \(store.lifetime.consequence)")
        }
        store.state.withLock { $0.domains[domain]?.backedUp = kept.hash }
    }
}

extension DefaultsError {
    /// Returns the error of edits that don't fit into a file.
    static func excess(of keys: some Sequence<String>, _ reason: DefaultsError) -> DefaultsError {
        let keys = keys.sorted().map { "\"\($0)\"" }
        let list = (keys.prefix(3) + (keys.count > 3 ? ["…"] : [])).joined(separator: ", ")
        return DefaultsError(.invalidValue, "Can't save \(list). \(reason)")
    }
}
