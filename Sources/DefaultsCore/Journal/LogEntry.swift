import PropertyList

/// An entry in the change log file.
package enum LogEntry: Sendable {
    case record(LogRecord)
    case mark(FileMark)
    case marks(FileMarkGroup)
    case identity(LogIdentity)
    /// The end of the log, after which nothing is missing.
    case end

    /// The changes that an archive has lost by thinning (`ThinnedChanges`).
    case thinned(Fields)

    /// The size of the length and the hash before a payload, in bytes.
    static let prefixSize = 12
    /// The bytes with which every payload begins.
    static let magic = Array("bplist00".utf8)

    /// Decodes the payload of an entry; fails if it is invalid, or from a later version.
    init?(decoding payload: ArraySlice<UInt8>, limits: PropertyListLimits = Frame.messageLimits) {
        do {
            let value = try payload.withUnsafeBytes { try PropertyListValue(parsing: $0, limits: limits) }
            let fields = try Fields(value, of: "An entry")
            switch fields.values["type"] {
            case "mark": self = .mark(try FileMark(fields))
            case .string(FileMarkGroup.type): self = .marks(try FileMarkGroup(fields))
            case .string(LogIdentity.type): self = .identity(try LogIdentity(fields))
            case .string(ThinnedChanges.type): self = .thinned(fields)
            case "end": self = .end
            default: self = .record(try LogRecord(fields))
            }
        } catch {
            return nil
        }
    }

    /// The bytes of the entry in the file: its length, its hash, and a binary property list.
    var encoded: [UInt8] {
        let fields: DomainValues =
            switch self {
            case .record(let record): record.fields
            case .mark(let mark): mark.fields
            case .marks(let group): group.fields
            case .identity(let identity): identity.fields
            case .thinned(let fields): fields.values
            case .end: ["type": "end"]
            }
        // Every value in a domain can be written as binary. If one couldn't, its entry would be invalid, and recovery
        // would reject the whole log.
        let payload = (try? PropertyListValue.dictionary(fields).write(as: .binary)) ?? []
        return Frame.bigEndian(UInt32(clamping: payload.count)) + Frame.bigEndian(ContentHash(payload).value) + payload
    }
}

extension HistoryExclusions {
    /// Returns what may be kept of an entry of the change log; a mark has only edits that may be kept
    /// (`StoreState.marks`).
    func redact(_ entry: LogEntry) -> LogEntry {
        if case .record(let record) = entry { .record(redact(record)) } else { entry }
    }
}
