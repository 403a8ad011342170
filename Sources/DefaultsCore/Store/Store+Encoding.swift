import Glibc
import Linux
import PropertyList

/// The bytes of a new version, and backup copies of what it can't keep of the old one.
extension Store {
    /// Encodes the new version; returns `nil` bytes if the file must be removed.
    ///
    /// A text file keeps its own bytes except for the keys that change, if that is possible. Otherwise the version is
    /// written as a whole: as XML if the file is XML, or as binary. It is also binary if XML can't hold a value, or
    /// would be too large to be read again. The target of a link is emptied, not removed, since the link would then
    /// lead nowhere.
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
            // Not as old-style text, which would turn every number into a string.
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
        // Whatever is written to the file from now on, the save replaces these bytes or nothing.
        return ContentHash(bytes) == expected.hash ? bytes : nil
    }

    /// Makes a plan's edits in the bytes of the text file that it replaces, and leaves everything else in it as it is.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - bytes: The file's bytes.
    /// - Returns: The new version's bytes; `nil` if the file must be written as a whole.
    private func splice(_ plan: SavePlan, into bytes: [UInt8]) -> [UInt8]? {
        let result = TextSplice.splice(
            plan.edits.mapValues(\.value), into: bytes, resultingCount: plan.values.count)
        guard let result, result.count <= limits.bytes else { return nil }
        // Layouts vary endlessly: a result that doesn't read back as planned is never written.
        guard case .dictionary(let values)? = try? PropertyListValue(parsing: result),
            Difference(from: plan.values, to: values, readFrom: plan.format).isEmpty
        else { return nil }
        return result
    }

    /// Makes a backup copy of a file that a plan replaces, if the new version can't have all that is in it.
    func backUp(_ file: DomainFile, of domain: Domain, replacedBy plan: SavePlan) throws(DefaultsError) {
        if let damage = plan.damage {
            if damage.isProtected { throw damage.refusal }
            guard let version = damage.version else {
                // It can't be read, or isn't a file. So it can't be backed up either, and is left alone.
                let consequence = lifetime == .resident ? "Edits are kept in memory" : "Nothing is saved"
                throw DefaultsError(.notSaved, "\(consequence): \(damage.error)", errno: damage.error.errno)
            }
            try backUp(domain, file, version, because: .damaged, "is damaged")
        } else if plan.losesEquivalentKeys, let version = plan.expected {
            try backUp(
                domain, file, version, because: .equivalentKeys, "has keys that differ only in Unicode normalization")
        }
    }

    /// Makes a backup copy of a file before it is replaced, once for each content.
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
            // It is changing at this moment.
            if error.number == EBUSY { throw isOpen(file) }
            throw DefaultsError(
                .notSaved, errno: error.number,
                "\(file.path) \(finding) and can't be backed up, so it isn't replaced; \(lifetime.consequence)")
        }
        state.withLock { $0.domains[domain]?.backedUp = kept.hash }
    }
}
