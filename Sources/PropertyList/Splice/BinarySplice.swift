/// An editor that changes keys of a binary property list without reading or encoding the other values.
///
/// New objects and the changed dictionary go to the end, and all other objects keep their bytes. The values replaced
/// leave holes without their contents. When these make up a quarter of the document, it must be written as a whole.
package struct BinarySplice {
    private let table: BinaryObjectTable
    private let dictionary: BinaryObject
    /// The encoded scalars to append; the first one's number is the number of objects in the document.
    private var added: [[UInt8]] = []
    /// The objects of the changed dictionary.
    private var keys: [Int] = []
    private var values: [Int] = []
    /// For each object, the number of references to it, up to two.
    private var uses: [UInt8] = []
    /// The objects that aren't used anymore.
    private var unused: [BinaryObject] = []

    /// Changes keys of a document's outermost dictionary.
    ///
    /// - Parameters:
    ///   - edits: The keys to set, or to remove if the value is `nil`. Every key of the document is compared with each
    ///     of them, so this is only worthwhile for a few.
    ///   - document: The whole document, which must be valid.
    ///   - count: The expected number of keys after the change. A different count reveals duplicate keys and keys that
    ///     are written in an unusual way.
    /// - Returns: The changed document, or `nil` if it must be written as a whole: if a new value is an array or a
    ///   dictionary, if references become too long, if too much of the document is unused, or if objects overlap.
    package static func splice(
        _ edits: [String: PropertyListValue?], into document: [UInt8], resultingCount count: Int
    ) -> [UInt8]? {
        document.withUnsafeBytes { bytes in
            do throws(ReadingFailure) {
                var splice = try BinarySplice(bytes)
                guard try splice?.isSuitable() == true, try splice?.apply(edits) == true, splice?.keys.count == count
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
        guard dictionary.kind == .dictionary else { return nil }
        keys.reserveCapacity(dictionary.count + 1)
        values.reserveCapacity(dictionary.count + 1)
    }

    // MARK: Reading

    private func reference(_ index: Int, of container: BinaryObject) throws(ReadingFailure) -> Int {
        try table.reference(at: container.content + index * table.trailer.referenceSize)
    }

    /// Returns whether no other object overlaps the dictionary, and at most a quarter of the document is unused.
    private mutating func isSuitable() throws(ReadingFailure) -> Bool {
        let trailer = table.trailer
        uses = [UInt8](repeating: 0, count: trailer.objectCount)
        var open = [trailer.topObject]
        uses[trailer.topObject] = 1
        var objects = 0
        var size = 0
        while let number = open.popLast() {
            let object = try table.object(number)
            let end = end(of: object)
            objects += 1
            size += end - object.offset
            if number != trailer.topObject, end > dictionary.offset, object.offset < self.end(of: dictionary) {
                return false
            }
            for index in 0..<(object.references ?? 0) {
                let number = try reference(index, of: object)
                if uses[number] == 0 { open.append(number) }
                uses[number] = min(uses[number] + 1, 2)
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
            try discard(value)
            guard let new = rest.remove(at: edit).value else {
                try discard(key)
                continue
            }
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

    /// Notes that a reference to an object is gone.
    ///
    /// A container's contents stay in the document.
    private mutating func discard(_ number: Int) throws(ReadingFailure) {
        let object = try table.object(number)
        if uses[number] == 1, object.references == nil { unused.append(object) }
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
        for object in unused {
            let start = object.offset < end ? object.offset : object.offset - length
            // A Boolean, in case a reader looks at unused objects.
            result[start] = 0x08
            for index in (start + 1)..<max(start + 1, start + self.end(of: object) - object.offset) {
                result[index] = 0
            }
        }
        return result
    }
}
