/// The validated trailer of a binary property list: its last 32 bytes, which locate its objects.
struct BinaryTrailer {
    static let length = 32
    static let header = "bplist00"

    /// The size in bytes of an entry in the offset table.
    let offsetSize: Int
    /// The size in bytes of a reference from a container to an object.
    let referenceSize: Int
    let objectCount: Int
    let topObject: Int
    /// The start of the offset table; all objects lie between the header and the table.
    let tableOffset: Int

    init(_ bytes: UnsafeRawBufferPointer) throws(ReadingFailure) {
        let count = bytes.count
        // Like Apple's reader, accept any final digit in the version; versions that begin with 1 are a different
        // format.
        guard bytes.starts(with: "bplist0".utf8) else {
            throw ReadingFailure(
                code: .unsupported, offset: 0, message: "expected version bplist00, found a different one")
        }
        guard count >= Self.header.utf8.count + Self.length + 2 else {
            throw ReadingFailure(code: .syntax, offset: count, message: "the input is too short to be complete")
        }
        let start = count - Self.length
        offsetSize = Int(bytes[start + 6])
        referenceSize = Int(bytes[start + 7])
        guard (1...8).contains(offsetSize) else {
            throw ReadingFailure(
                code: .syntax, offset: start + 6, message: "expected offsets of 1 to 8 bytes, found \(offsetSize)")
        }
        guard (1...8).contains(referenceSize) else {
            throw ReadingFailure(
                code: .syntax, offset: start + 7, message: "expected references of 1 to 8 bytes, found \(referenceSize)"
            )
        }
        guard let objectCount = Int(exactly: Self.number(bytes, at: start + 8)), objectCount > 0,
            objectCount <= count, objectCount < Int32.max
        else {
            throw ReadingFailure(
                code: .offsetOutOfRange, offset: start + 8, message: "the number of objects is not valid")
        }
        guard let topObject = Int(exactly: Self.number(bytes, at: start + 16)), topObject < objectCount else {
            throw ReadingFailure(
                code: .offsetOutOfRange, offset: start + 16, message: "the top-level object does not exist")
        }
        // The object count is at most the input's length, so the product can't overflow.
        guard let tableOffset = Int(exactly: Self.number(bytes, at: start + 24)), tableOffset > Self.header.utf8.count,
            tableOffset <= start, objectCount * offsetSize <= start - tableOffset
        else {
            throw ReadingFailure(
                code: .offsetOutOfRange, offset: start + 24, message: "the offset table is not within the input")
        }
        self.objectCount = objectCount
        self.topObject = topObject
        self.tableOffset = tableOffset
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}
