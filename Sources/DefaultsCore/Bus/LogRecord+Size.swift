import PropertyList

extension LogRecord {
    /// Roughly how many bytes of memory the record holds.
    var estimatedSize: Int {
        switch event {
        case .change(let changeSet):
            let changes = changeSet.changes.reduce(0) {
                $0 + $1.key.utf8.count + Self.size($1.old) + Self.size($1.new) + 64
            }
            return changeSet.overruled.reduce(changes) { $0 + $1.key.utf8.count + Self.size($1.value) + 64 } + 128
        case .damaged(_, let reason), .unsaved(_, let reason): return reason.utf8.count + 128
        case .recovered, .unknown: return 128
        }
    }

    private static func size(_ value: PropertyListValue?) -> Int {
        switch value {
        case .string(let text)?: text.utf8.count
        case .data(let bytes)?: bytes.count
        case .array(let elements)?: elements.reduce(16) { $0 + size($1) + 24 }
        case .dictionary(let entries)?: entries.reduce(16) { $0 + $1.key.utf8.count + size($1.value) + 48 }
        case nil, .integer, .unsigned, .real, .real32, .boolean, .date, .uid: 8
        }
    }
}
