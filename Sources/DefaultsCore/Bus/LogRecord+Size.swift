import PropertyList

extension LogRecord {
    /// Roughly how many bytes of memory the record holds.
    var estimatedSize: Int {
        switch event {
        case .change(let changeSet):
            let changes = changeSet.changes.reduce(0) {
                $0 + $1.key.utf8.count + ($1.old?.estimatedSize ?? 8) + ($1.new?.estimatedSize ?? 8) + 64
            }
            return changeSet.overruled.reduce(changes) { $0 + $1.key.utf8.count + ($1.value?.estimatedSize ?? 8) + 64 }
                + 128
        case .damaged(_, let reason), .unsaved(_, let reason): return reason.utf8.count + 128
        case .recovered, .unknown: return 128
        }
    }
}

extension PropertyListValue {
    /// The value's bytes in memory, roughly.
    var estimatedSize: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        case .array(let elements): elements.reduce(16) { $0 + $1.estimatedSize + 24 }
        case .dictionary(let entries): entries.reduce(16) { $0 + $1.key.utf8.count + $1.value.estimatedSize + 48 }
        case .integer, .unsigned, .real, .real32, .boolean, .date, .uid: 8
        }
    }
}
