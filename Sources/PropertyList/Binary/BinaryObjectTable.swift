/// The objects of a binary property list, found by their numbers.
struct BinaryObjectTable {
    let bytes: UnsafeRawBufferPointer
    let trailer: BinaryTrailer

    init(_ bytes: UnsafeRawBufferPointer) throws(ReadingFailure) {
        self.bytes = bytes
        trailer = try BinaryTrailer(bytes)
    }

    @inline(__always)
    func object(_ number: Int) throws(ReadingFailure) -> BinaryObject {
        try BinaryObject(
            bytes, at: try offset(of: number), end: trailer.tableOffset, referenceSize: trailer.referenceSize)
    }

    @inline(__always)
    func offset(of object: Int) throws(ReadingFailure) -> Int {
        let entry = trailer.tableOffset + object * trailer.offsetSize
        guard let offset = Int(exactly: number(at: entry, size: trailer.offsetSize)),
            offset >= BinaryTrailer.header.utf8.count, offset < trailer.tableOffset
        else {
            throw badOffset(of: object, at: entry)
        }
        return offset
    }

    /// Returns the number of the object that the reference at an offset refers to.
    @inline(__always)
    func reference(at position: Int) throws(ReadingFailure) -> Int {
        guard let object = Int(exactly: number(at: position, size: trailer.referenceSize)), object < trailer.objectCount
        else {
            throw noObject(at: position)
        }
        return object
    }

    /// Returns the number at an offset before the trailer.
    ///
    /// This always loads eight bytes. The trailer is longer than that, so the load stays within the input.
    @inline(__always)
    private func number(at offset: Int, size: Int) -> UInt64 {
        UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) >> UInt64(64 - 8 * size)
    }

    // These are out of line, so that the code above stays small.

    @inline(never)
    private func badOffset(of object: Int, at position: Int) -> ReadingFailure {
        ReadingFailure(
            code: .offsetOutOfRange, offset: position,
            message: "the offset of object \(object) is not within the input")
    }

    @inline(never)
    private func noObject(at position: Int) -> ReadingFailure {
        ReadingFailure(
            code: .offsetOutOfRange, offset: position, message: "a container refers to an object that does not exist")
    }
}
