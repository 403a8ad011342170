import Glibc
import Linux
import PropertyList

/// The file with the last known exclusions, beside the change log, for an agent that can't read its settings.
package struct ExclusionsFile {
    private let path: String

    package init(besideLog log: String) {
        path = "\(log).excludes"
    }

    /// The exclusions in the file; `nil` if there is no such file, or it can't be understood.
    package var exclusions: HistoryExclusions? {
        guard let file = try? FileDescriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            let bytes = try? file.read(upTo: Int(status.st_size)),
            case .array(let values)? = try? PropertyListValue(parsing: bytes)
        else { return nil }
        let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        return texts.count == values.count ? HistoryExclusions(texts) : nil
    }

    /// Makes the exclusions durable.
    ///
    /// Waits for the disk. If it fails, none are known, rather than former ones.
    ///
    /// - Parameters:
    ///   - exclusions: The exclusions. Unknown ones leave the file as it is.
    ///   - mayBeMissing: Whether no file is created for exclusions of no key.
    func write(_ exclusions: HistoryExclusions, mayBeMissing: Bool) {
        let known = self.exclusions
        if exclusions.areUnknown || exclusions == known || known == nil && exclusions.isEmpty && mayBeMissing { return }
        let temporary = "\(path).new"
        unlink(temporary)
        do {
            let bytes = try PropertyListValue.array(exclusions.texts.map { .string($0) }).write(as: .xml)
            let file = try FileDescriptor(opening: temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try file.write(bytes)
            try file.synchronize()
            try SystemCall.run { rename(temporary, path) }
        } catch {
            unlink(temporary)
            unlink(path)
        }
    }
}
