import Glibc
import Linux
import PropertyList

/// The file with the last known exclusions, beside the change log.
///
/// An agent that can't read its settings uses them. An agent that can sees whether the files of the history still have
/// to be searched for excluded keys.
package struct ExclusionsFile {
    struct Contents: Equatable {
        var exclusions: HistoryExclusions
        /// The random number that the archive got when values of these keys were removed from it
        /// (`HistoryArchive.redaction`), or 0; `nil` if the log or the archive may still have such values.
        var redaction: UInt64?
    }

    let path: String
    private static let appliedKey = "applied"
    private static let unappliedKey = "patterns"
    private static let sensitiveKey = "sensitive"
    private static let redactionKey = "redaction"

    package init(besideLog log: String) {
        path = "\(log).excludes"
    }

    /// The exclusions in the file; `nil` if there is no such file, or it can't be understood.
    package var exclusions: HistoryExclusions? { contents?.exclusions }

    /// The contents of the file; `nil` if there is no such file, or it can't be understood.
    var contents: Contents? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), status.isRegular, status.isOwn,
            let bytes = try? file.read(upTo: Int(status.st_size)),
            let value = try? PropertyListValue(parsing: bytes)
        else { return nil }
        // Earlier versions wrote an array before they applied the exclusions, at every start.
        var (values, redaction): (PropertyListValue?, UInt64?) = (value, nil)
        var sensitive: [String] = []
        if case .dictionary(let entries) = value {
            values = entries[Self.appliedKey] ?? entries[Self.unappliedKey]
            if entries[Self.appliedKey] != nil { redaction = 0 }
            if case .integer(let number)? = entries[Self.redactionKey] { redaction = UInt64(clamping: number) }
            if case .array(let elements)? = entries[Self.sensitiveKey] { sensitive = elements.compactMap(\.text) }
        }
        guard case .array(let elements)? = values else { return nil }
        let texts = elements.compactMap(\.text)
        let manifests = Set(sensitive)
        let others = HistoryExclusions(texts.filter { !manifests.contains($0) })
        return texts.count == elements.count
            ? Contents(exclusions: others.adding(sensitive), redaction: redaction) : nil
    }

    /// Makes the exclusions durable; unknown ones leave the file as it is.
    ///
    /// Waits for the disk. If it fails, none are known, rather than former ones.
    ///
    /// - Parameters:
    ///   - new: The exclusions.
    ///   - mayBeMissing: Whether no file is created for exclusions of no key.
    func write(_ new: Contents, mayBeMissing: Bool = false) {
        let known = contents
        let isKnown = known == new && known?.exclusions.sensitive == new.exclusions.sensitive
        if new.exclusions.areUnknown || isKnown || known == nil && new.exclusions.isEmpty && mayBeMissing { return }
        func array(_ texts: [String]) -> PropertyListValue { .array(texts.map { .string($0) }) }
        var entries: DomainValues = [Self.sensitiveKey: array(new.exclusions.sensitive)]
        entries[new.redaction == nil ? Self.unappliedKey : Self.appliedKey] = array(new.exclusions.texts)
        entries[Self.redactionKey] = new.redaction.map { .number($0) }
        do {
            try NewFile.replace(path, with: PropertyListValue.dictionary(entries).write(as: .xml))
        } catch {
            forget()
        }
    }

    /// Removes the file.
    func forget() { unlink(path) }
}
