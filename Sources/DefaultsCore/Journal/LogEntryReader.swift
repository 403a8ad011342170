import Linux

/// A reader of the entries in a change log file, of which it holds only a part in memory, or in an archive.
struct LogEntryReader: ~Copyable {
    enum Item {
        case entry(Entry)
        /// Bytes that aren't an intact entry, up to the position of one.
        case damage(before: Int)
    }

    /// An intact entry.
    struct Entry {
        let payload: ArraySlice<UInt8>
        let hash: ContentHash
        /// The position of the whole entry in the file.
        let range: Range<Int>
    }

    /// The file; `nil` if all of it is in the buffer.
    private let file: FileDescriptor?
    private let size: Int
    /// The position of the next entry.
    private(set) var position: Int
    private var buffer: [UInt8] = []
    private var bufferStart = 0
    /// The number of bytes that may still be hashed in the search for an intact entry behind damage.
    private var budget = 64 << 20

    /// The number of bytes to read at a time.
    static let portion = 1 << 20

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - file: The file, opened for reading.
    ///   - size: The size of the file; later entries aren't read.
    ///   - position: The position of the first entry.
    init(_ file: consuming FileDescriptor?, size: Int, from position: Int) {
        self.file = file
        (self.size, self.position) = (size, position)
    }

    /// Creates a reader of bytes.
    init(_ bytes: [UInt8], from position: Int) {
        self.init(nil, size: bytes.count, from: position)
        buffer = bytes
    }

    /// Reads the next entry; returns `nil` if no intact entry follows.
    ///
    /// An incomplete entry at the end, which a crash leaves, isn't reported as damage.
    mutating func next() throws(SystemCall.Failure) -> Item? {
        if let entry = try entry(at: position) {
            position = entry.range.upperBound
            return .entry(entry)
        }
        guard try findEntry() else { return nil }
        return .damage(before: position)
    }

    /// Moves on to the next intact entry, which may begin at any byte if a length is damaged.
    private mutating func findEntry() throws(SystemCall.Failure) -> Bool {
        // A damaged payload may hold bytes that look like an entry.
        if try load(at: position, count: LogEntry.prefixSize) {
            let next = position + LogEntry.prefixSize + Int(Frame.length(buffer, at: position - bufferStart))
            if try entry(at: next) != nil {
                position = next
                return true
            }
        }
        var candidate = position + 1
        while candidate + LogEntry.prefixSize + LogEntry.magic.count <= size {
            let start = candidate + LogEntry.prefixSize
            guard try load(at: candidate, count: LogEntry.prefixSize + LogEntry.magic.count) else { return false }
            if buffer[(start - bufferStart)...].starts(with: LogEntry.magic) {
                let length = Int(Frame.length(buffer, at: candidate - bufferStart))
                if length <= size - start { budget -= length }
                if budget < 0 { return false }
                if try entry(at: candidate) != nil {
                    position = candidate
                    return true
                }
            }
            candidate += 1
        }
        return false
    }

    /// Reads the entry at a position; returns `nil` if there is no intact one.
    private mutating func entry(at position: Int) throws(SystemCall.Failure) -> Entry? {
        guard try load(at: position, count: LogEntry.prefixSize) else { return nil }
        let length = Int(Frame.length(buffer, at: position - bufferStart))
        let range = position..<position + LogEntry.prefixSize + length
        guard length > 0, range.upperBound <= size, try load(at: position, count: range.count) else { return nil }
        let payload = buffer[(range.upperBound - length - bufferStart)..<(range.upperBound - bufferStart)]
        let hash = ContentHash(value: Frame.number(buffer, at: position + 4 - bufferStart))
        return ContentHash(payload) == hash ? Entry(payload: payload, hash: hash, range: range) : nil
    }

    /// Loads a part of the file into the buffer; returns false if the file ends before that.
    private mutating func load(at position: Int, count: Int) throws(SystemCall.Failure) -> Bool {
        if position >= bufferStart, position + count <= bufferStart + buffer.count { return true }
        guard position + count <= size else { return false }
        buffer = try file?.read(upTo: min(max(count, Self.portion), size - position), from: position) ?? []
        bufferStart = position
        return buffer.count >= count
    }
}
