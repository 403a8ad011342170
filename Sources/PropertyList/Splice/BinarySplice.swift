/// An editor that changes keys of a binary property list without reading or encoding the other values.
///
/// New objects and the changed dictionary go to the end, and all other objects in use keep their numbers and bytes.
/// Everything else is cleared. When holes make up a quarter of the document, it must be written as a whole.
///
/// The result isn't read back, as a text is: that would take longer than the splice. Instead, the ranges of all objects
/// that the result uses are compared. None may overlap another or the dictionary that is cut out, so neither the cut
/// nor the clearing can change an object in use. The references in these objects are numbers, which also stay.
package struct BinarySplice {
    private let table: BinaryObjectTable
    private let dictionary: BinaryObject
    /// The encoded scalars to append; the first one's number is the number of objects in the document.
    private var added: [[UInt8]] = []
    /// The objects of the changed dictionary.
    private var keys: [Int] = []
    private var values: [Int] = []
    /// The bytes of the header, of the old dictionary and of the objects that stay in use.
    private var used: ByteCover

    /// Changes keys of a document's outermost dictionary.
    ///
    /// - Parameters:
    ///   - edits: The keys to set, or to remove if the value is `nil`. Every key of the document is compared with each
    ///     of them, so this is only worthwhile for a few.
    ///   - document: The whole document, which must be valid.
    ///   - count: The expected number of keys after the change. A different count reveals duplicate keys and keys that
    ///     are written in an unusual way.
    /// - Returns: The changed document, or `nil` if it must be written as a whole: if a new value is an array or a
    ///   dictionary, if references become too long, if too much of the document is unused, or if objects
    ///   overlap or share an offset.
    package static func splice(
        _ edits: [String: PropertyListValue?], into document: [UInt8], resultingCount count: Int
    ) -> [UInt8]? {
        document.withUnsafeBytes { bytes in
            do throws(ReadingFailure) {
                var splice = try BinarySplice(bytes)
                guard try splice?.apply(edits) == true, splice?.keys.count == count, try splice?.isSuitable() == true
                else { return nil }
                return try splice?.result()
            } catch {
                return nil
            }
        }
    }

    private init?(_ bytes: UnsafeRawBufferPointer) throws(ReadingFailure) {
        table = try BinaryObjectTable(bytes)
        dictionary = try table.object(table.trailer.topObject)
        used = ByteCover(count: table.trailer.tableOffset)
        guard dictionary.kind == .dictionary else { return nil }
        keys.reserveCapacity(dictionary.count + 1)
        values.reserveCapacity(dictionary.count + 1)
    }

    // MARK: Reading

    private func reference(_ index: Int, of container: BinaryObject) throws(ReadingFailure) -> Int {
        try table.reference(at: container.content + index * table.trailer.referenceSize)
    }

    /// Finds the objects in use after the edits; returns whether none overlap, and at most a quarter of the document is
    /// unused.
    private mutating func isSuitable() throws(ReadingFailure) -> Bool {
        let trailer = table.trailer
        var isFound = [Bool](repeating: false, count: trailer.objectCount)
        isFound[trailer.topObject] = true
        var open: [Int] = []
        for number in keys + values where number < trailer.objectCount && !isFound[number] {
            isFound[number] = true
            open.append(number)
        }
        let end = end(of: dictionary)
        guard used.insert(0..<BinaryTrailer.header.utf8.count), used.insert(dictionary.offset..<end) else {
            return false
        }
        var objects = 1
        var size = end - dictionary.offset
        while let number = open.popLast() {
            let object = try table.object(number)
            let end = self.end(of: object)
            guard used.insert(object.offset..<end) else { return false }
            objects += 1
            size += end - object.offset
            for index in 0..<(object.references ?? 0) {
                let number = try reference(index, of: object)
                if !isFound[number] {
                    isFound[number] = true
                    open.append(number)
                }
            }
        }
        return size >= trailer.tableOffset / 4 * 3 && objects >= trailer.objectCount / 4 * 3
    }

    private func end(of object: BinaryObject) -> Int {
        object.content + (object.references.map { $0 * table.trailer.referenceSize } ?? object.count)
    }

    // MARK: Editing

    /// Applies the edits to the dictionary's references; returns `false` if a value isn't a scalar.
    private mutating func apply(_ edits: [String: PropertyListValue?]) throws(ReadingFailure) -> Bool {
        var rest: [(key: [UInt8], value: PropertyListValue?)] = []
        for (key, value) in edits {
            guard let key = BinaryWriter.scalar(.string(key)) else { return false }
            rest.append((key, value))
        }
        for index in 0..<dictionary.count {
            let key = try reference(index, of: dictionary)
            let offset = try table.offset(of: key)
            let value = try reference(dictionary.count + index, of: dictionary)
            guard let edit = rest.firstIndex(where: { table.bytes[offset...].starts(with: $0.key) }) else {
                keys.append(key)
                values.append(value)
                continue
            }
            guard let new = rest.remove(at: edit).value else { continue }
            guard let number = add(new) else { return false }
            keys.append(key)
            values.append(number)
        }
        for (key, value) in rest {
            guard let value else { continue }
            keys.append(add(encoded: key))
            guard let number = add(value) else { return false }
            values.append(number)
        }
        return true
    }

    private mutating func add(_ value: PropertyListValue) -> Int? {
        BinaryWriter.scalar(value).map { add(encoded: $0) }
    }

    private mutating func add(encoded bytes: [UInt8]) -> Int {
        added.append(bytes)
        return table.trailer.objectCount + added.count - 1
    }

    // MARK: Writing

    /// Returns the changed document; `nil` if a reference doesn't fit, or if an unused object is in the dictionary.
    private func result() throws(ReadingFailure) -> [UInt8]? {
        let (bytes, trailer) = (table.bytes, table.trailer)
        let objectCount = trailer.objectCount + added.count
        guard trailer.referenceSize >= 4 || objectCount <= 1 << (8 * trailer.referenceSize) else { return nil }
        let end = end(of: dictionary)
        let length = end - dictionary.offset
        var output = MoveStack<UInt8>(minimumCapacity: bytes.count + bytes.count / 8 + 1024)
        output.append(UnsafeRawBufferPointer(rebasing: bytes[..<dictionary.offset]).assumingMemoryBound(to: UInt8.self))
        output.append(
            UnsafeRawBufferPointer(rebasing: bytes[end..<trailer.tableOffset]).assumingMemoryBound(to: UInt8.self))
        var offsets: [Int] = []
        offsets.reserveCapacity(objectCount)
        for number in 0..<trailer.objectCount {
            let offset = try table.offset(of: number)
            if offset > dictionary.offset, offset < end { return nil }
            offsets.append(offset < end ? offset : offset - length)
        }
        for scalar in added {
            offsets.append(output.count)
            output.append(scalar[...])
        }
        offsets[trailer.topObject] = output.count
        BinaryWriter.append(marker: 0xD0, count: keys.count, to: &output)
        for reference in keys { output.append(bigEndian: UInt64(reference), size: trailer.referenceSize) }
        for reference in values { output.append(bigEndian: UInt64(reference), size: trailer.referenceSize) }
        BinaryWriter.finish(
            &output, offsets: offsets, topObject: trailer.topObject, referenceSize: trailer.referenceSize)
        var result = [UInt8](output.elements)
        used.forEachGap { position in
            // A Boolean, in case a reader looks at unused objects.
            result[position < end ? position : position - length] = 0x08
        }
        return result
    }
}
