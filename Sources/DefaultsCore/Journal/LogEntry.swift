import PropertyList

/// An entry in the change log file.
package enum LogEntry: Sendable {
    case record(LogRecord)
    case mark(FileMark)
    case marks(FileMarkGroup)
    case identity(LogIdentity)
    /// The end of the log, after which nothing is missing.
    case end

    /// The size of the length and the hash before a payload, in bytes.
    static let prefixSize = 12
    /// The bytes with which every payload begins.
    static let magic = Array("bplist00".utf8)

    /// Returns the position of the payload of the entry at a position; `nil` if the entry isn't whole.
    static func payload(in bytes: [UInt8], at position: Int) -> Range<Int>? {
        let start = position + prefixSize
        guard bytes.count >= start else { return nil }
        let length = Int(Frame.length(bytes, at: position))
        return length <= bytes.count - start ? start..<start + length : nil
    }

    /// Returns whether bytes that aren't an entry may be the beginning of one.
    static func isIncomplete(_ bytes: ArraySlice<UInt8>) -> Bool {
        let payload = bytes.dropFirst(prefixSize)
        if payload.isEmpty { return true }
        // If the hash is right, only the length is damaged.
        return magic.starts(with: payload.prefix(magic.count))
            && ContentHash(payload).value != Frame.number(Array(bytes.prefix(prefixSize)), at: prefixSize - 8)
    }

    /// Returns a payload; `nil` if it is damaged.
    static func intactPayload(_ range: Range<Int>, in bytes: [UInt8]) -> [UInt8]? {
        let payload = Array(bytes[range])
        return ContentHash(payload).value == Frame.number(bytes, at: range.lowerBound - 8) ? payload : nil
    }

    /// Returns the position of the first intact entry after a position; `nil` if none is found.
    ///
    /// The next entry usually follows immediately. If a length is damaged, every byte may be the beginning of the next
    /// entry, so the search ends after hashing as many bytes as a large log has.
    static func nextIntact(in bytes: [UInt8], after position: Int) -> Int? {
        var budget = 64 << 20
        for start in (position + 1)..<max(position + 1, bytes.count) {
            guard let range = payload(in: bytes, at: start) else { continue }
            budget -= range.count
            if budget < 0 { return nil }
            if !range.isEmpty, intactPayload(range, in: bytes) != nil { return start }
        }
        return nil
    }

    /// The bytes of the entry in the file: its length, its hash, and a binary property list.
    var encoded: [UInt8] {
        let fields: DomainValues =
            switch self {
            case .record(let record): record.fields
            case .mark(let mark): mark.fields
            case .marks(let group): group.fields
            case .identity(let identity): identity.fields
            case .end: ["type": "end"]
            }
        return Self.encode(fields)
    }

    /// Returns the bytes of an entry with fields.
    static func encode(_ fields: DomainValues) -> [UInt8] {
        // Every value in a domain can be written as binary. If one couldn't, its entry would be invalid, and recovery
        // would reject the whole log.
        let payload = (try? PropertyListValue.dictionary(fields).write(as: .binary)) ?? []
        return Frame.bigEndian(UInt32(clamping: payload.count)) + Frame.bigEndian(ContentHash(payload).value) + payload
    }
}

extension HistoryExclusions {
    /// Returns what may be kept of an entry of the change log.
    ///
    /// A mark loses the unsaved edits of excluded keys, and what was set together with them.
    func redact(_ entry: LogEntry) -> LogEntry {
        if isEmpty { return entry }
        switch entry {
        case .record(let record): return .record(redact(record))
        case .mark(var mark):
            mark.pending = edits(mark.pending, of: mark.domain)
            return .mark(mark)
        case .marks, .identity, .end: return entry
        }
    }
}
