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
        /// Whether neither the log nor the archive has values of these keys.
        var areApplied: Bool
        /// The random number that the archive got when they were removed (`HistoryArchive.redaction`).
        var redaction: UInt64 = 0
    }

    let path: String
    private static let appliedKey = "applied"
    private static let redactionKey = "redaction"

    package init(besideLog log: String) {
        path = "\(log).excludes"
    }

    /// The exclusions in the file; `nil` if there is no such file, or it can't be understood.
    package var exclusions: HistoryExclusions? { contents?.exclusions }

    /// The contents of the file; `nil` if there is no such file, or it can't be understood.
    var contents: Contents? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            let bytes = try? file.read(upTo: Int(status.st_size)),
            let value = try? PropertyListValue(parsing: bytes)
        else { return nil }
        switch value {
        // Earlier versions wrote an array before they applied the exclusions, at every start.
        case .array(let values): return Self.contents(values, areApplied: false)
        case .dictionary(let entries):
            guard case .array(let values)? = entries[Self.appliedKey] else { return nil }
            var contents = Self.contents(values, areApplied: true)
            if case .integer(let number)? = entries[Self.redactionKey] {
                contents?.redaction = UInt64(clamping: number)
            }
            return contents
        default: return nil
        }
    }

    private static func contents(_ values: [PropertyListValue], areApplied: Bool) -> Contents? {
        let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        return texts.count == values.count
            ? Contents(exclusions: HistoryExclusions(texts), areApplied: areApplied) : nil
    }

    /// Makes the exclusions durable.
    ///
    /// Waits for the disk. If it fails, none are known, rather than former ones.
    ///
    /// - Parameters:
    ///   - exclusions: The exclusions. Unknown ones leave the file as it is.
    ///   - areApplied: Whether neither the log nor the archive has values of these keys.
    ///   - redaction: The random number that the archive got when they were removed.
    ///   - mayBeMissing: Whether no file is created for exclusions of no key.
    func write(
        _ exclusions: HistoryExclusions, areApplied: Bool, _ redaction: UInt64 = 0, mayBeMissing: Bool = false
    ) {
        let known = contents
        let new = Contents(exclusions: exclusions, areApplied: areApplied, redaction: areApplied ? redaction : 0)
        if exclusions.areUnknown || known == new || known == nil && exclusions.isEmpty && mayBeMissing {
            return
        }
        let temporary = "\(path).new"
        unlink(temporary)
        do {
            let texts = PropertyListValue.array(exclusions.texts.map { .string($0) })
            let applied: DomainValues = [Self.appliedKey: texts, Self.redactionKey: .number(new.redaction)]
            let bytes = try (areApplied ? .dictionary(applied) : texts).write(as: .xml)
            let file = try FileDescriptor(opening: temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try file.write(bytes)
            try file.synchronize()
            try SystemCall.run { rename(temporary, path) }
        } catch {
            unlink(temporary)
            forget()
        }
    }

    /// Removes the file.
    func forget() { unlink(path) }
}
