import Glibc
import Linux
import PropertyList

/// The encoding of a new version, and backup copies of what the new version can't preserve.
extension Store {
    /// Encodes the new version; returns `nil` bytes if the file must be removed.
    ///
    /// If possible, a text file's bytes are preserved except for the keys that change. Otherwise, the whole version is
    /// written anew: as XML if the file is XML, and as binary if it isn't, if XML can't represent a value, or if the
    /// XML would be too large to read back. The target of a link is emptied rather than removed, since removing it
    /// would leave the link dangling.
    func encode(
        _ plan: SavePlan, for domain: Domain, in file: DomainFile
    ) throws(DefaultsError) -> (bytes: [UInt8]?, format: PropertyListFormat) {
        if plan.values.isEmpty, !file.isLink { return (nil, plan.format) }
        if let text = text(replacedBy: plan, in: file), let version = plan.expected {
            if let bytes = splice(plan, into: text) { return (bytes, plan.format) }
            if TextComments.exist(in: text, plan.format) {
                try backUp(domain, file, version, because: .comments, "has comments that would be lost")
            }
        }
        let value = PropertyListValue.dictionary(plan.values)
        if plan.format == .xml, let bytes = try? value.write(as: .xml), bytes.count <= limits.bytes {
            return (bytes, .xml)
        }
        let bytes: [UInt8]
        do throws(PropertyListError) {
            // Don't write old-style text: it would turn every number into a string.
            bytes = try value.write(as: .binary)
        } catch {
            throw DefaultsError(.invalidValue, "The domain \(domain) can't be written: \(error)")
        }
        guard bytes.count <= limits.bytes else {
            throw DefaultsError(
                .notSaved,
                "The domain \(domain) has grown to \(bytes.count) bytes; the limit of a file is \(limits.bytes). "
                    + "Remove a key, and store large data in a separate file.")
        }
        return (bytes, .binary)
    }

    /// Reads the text file that a plan replaces.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - file: The file.
    /// - Returns: Its bytes; `nil` if it isn't a text file, or is no longer in the expected state.
    private func text(replacedBy plan: SavePlan, in file: DomainFile) -> [UInt8]? {
        guard plan.format != .binary, plan.damage == nil, !plan.losesEquivalentKeys, let expected = plan.expected else {
            return nil
        }
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            let source = try FileDescriptor(opening: file.path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            bytes = try source.read(upTo: Int(expected.identity.size))
        } catch {
            return nil
        }
        // Even if the file is written from now on, the save replaces these bytes or nothing.
        return ContentHash(bytes) == expected.hash ? bytes : nil
    }

    /// Applies a plan's edits to the bytes of the text file, and leaves the rest of the text as it is.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - bytes: The file's bytes.
    /// - Returns: The new version's bytes; `nil` if the whole file must be written anew.
    private func splice(_ plan: SavePlan, into bytes: [UInt8]) -> [UInt8]? {
        let result = TextSplice.splice(
            plan.edits.mapValues(\.value), into: bytes, resultingCount: plan.values.count)
        guard let result, result.count <= limits.bytes else { return nil }
        // Layouts vary endlessly, so a result that doesn't read back as planned is never used.
        guard case .dictionary(let values)? = try? PropertyListValue(parsing: result),
            Difference(from: plan.values, to: values, readFrom: plan.format).isEmpty
        else { return nil }
        return result
    }

    /// Backs up a file that a plan replaces, if the new version can't preserve everything in it.
    func backUp(_ file: DomainFile, of domain: Domain, replacedBy plan: SavePlan) throws(DefaultsError) {
        if let damage = plan.damage {
            if damage.isProtected { throw damage.refusal }
            guard let version = damage.version else {
                // The file can't be read, or isn't a regular file. It can't be backed up either, so leave it alone.
                let consequence = lifetime == .resident ? "Edits are kept in memory" : "Nothing is saved"
                throw DefaultsError(.notSaved, "\(consequence): \(damage.error)", errno: damage.error.errno)
            }
            try backUp(domain, file, version, because: .damaged, "is damaged")
        } else if plan.losesEquivalentKeys, let version = plan.expected {
            try backUp(
                domain, file, version, because: .equivalentKeys, "has keys that differ only in Unicode normalization")
        }
    }

    /// Backs up a file before it is replaced, unless the same contents have been backed up already.
    private func backUp(
        _ domain: Domain, _ file: DomainFile, _ version: FileVersion, because reason: BackupFile.Reason,
        _ finding: String
    ) throws(DefaultsError) {
        if state.withLock({ $0.domains[domain]?.backedUp == version.hash }) { return }
        let kept: FileVersion
        do throws(SystemCall.Failure) {
            let source = try FileDescriptor(opening: file.path, O_RDONLY | O_NONBLOCK)
            guard let (bytes, version, _) = try file.readWhole(source, openWriters: .readAnyway) else {
                throw SystemCall.Failure(number: EBUSY)
            }
            reportCopy(try BackupFile.write(bytes, of: file.path, because: reason))
            kept = version
        } catch {
            // The file is being written right now.
            if error.number == EBUSY { throw isOpen(file) }
            throw DefaultsError(
                .notSaved, errno: error.number,
                "\(file.path) \(finding) and can't be backed up, so it isn't replaced; \(lifetime.consequence)")
        }
        state.withLock { $0.domains[domain]?.backedUp = kept.hash }
    }
}
