/// A reader of binary property lists (`bplist00`).
///
/// Objects may be shared, so containers and larger scalars are cached on their second use; most are used only once.
/// Each use counts their expanded size against the limits, so a small file can't represent an enormous tree.
struct BinaryReader: ~Copyable {
    private let table: BinaryObjectTable
    private let limits: PropertyListLimits
    private var objects = 0
    /// The number of bytes of text and data so far; shared values count once per use.
    private var content = 0
    /// The innermost open container.
    private var innermost = Level()
    /// The containers around it, after a level that stands for the document.
    private var outer: [Level] = []
    /// The values and keys of open containers.
    private var values = MoveStack<PropertyListValue>()
    private var keys = MoveStack<String>()
    private var kept: [CachedValue] = []
    /// For each object, its index in `kept` plus one, or one of the states below.
    private var positions: [Int32]
    /// The check applied to every key; set only when the document is read a second time.
    private var check: KeyCheck?
    /// Whether any dictionary contained a key more than once.
    private var hasEqualKeys = false

    /// An object not encountered yet.
    private static let unknown: Int32 = 0
    /// A container that is being read.
    private static let open: Int32 = -1
    /// An object encountered once, and not cached.
    private static let met: Int32 = -2

    /// A container being read.
    private struct Level {
        var object = 0
        var references = 0
        var count = 0
        var next = 0
        var isDictionary = false
        /// Whether the container has been read before.
        var isMet = false
        /// The values of `objects` and `content` when this container was opened.
        var objectsBefore = 0
        var contentBefore = 0
        /// The maximum nesting depth of the containers inside this one.
        var height = 0
    }

    /// A cached object, which may be referenced again.
    private struct CachedValue {
        var value: PropertyListValue
        /// The number of values in the expanded object, including the object itself.
        var objects: Int
        /// The number of bytes of text and data in the expanded object.
        var content: Int
        /// The nesting depth of its containers, including itself.
        var height: Int
    }

    init(
        _ bytes: UnsafeRawBufferPointer, limits: PropertyListLimits, check: KeyCheck? = nil
    ) throws(ReadingFailure) {
        self.limits = limits
        self.check = check
        table = try BinaryObjectTable(bytes)
        positions = [Int32](repeating: Self.unknown, count: table.trailer.objectCount)
    }

    static func read(
        _ bytes: UnsafeRawBufferPointer, limits: PropertyListLimits, refusesEquivalentKeys: Bool
    ) throws(ReadingFailure) -> (value: PropertyListValue, hasEquivalentKeys: Bool) {
        try KeyCheck.read(refusesEquivalent: refusesEquivalentKeys) { check throws(ReadingFailure) in
            var reader = try BinaryReader(bytes, limits: limits, check: check)
            return (try reader.readDocument(), reader.hasEqualKeys)
        }
    }

    private mutating func readDocument() throws(ReadingFailure) -> PropertyListValue {
        if let value = try value(of: table.trailer.topObject, referredAt: table.bytes.count - 16) { return value }
        while true {
            if try readScalars() { continue }
            let value = close()
            if outer.isEmpty { return value }
            values.append(value)
        }
    }

    /// Reads the innermost container's values until it reaches a nested container, which must be read first.
    ///
    /// - Returns: Whether a nested container was opened; `false` once all values have been read.
    private mutating func readScalars() throws(ReadingFailure) -> Bool {
        while innermost.next < innermost.count {
            var position = innermost.references + innermost.next * table.trailer.referenceSize
            innermost.next += 1
            if innermost.isDictionary {
                let key = try key(of: table.reference(at: position), referredAt: position)
                if check != nil { try check?.add(key, at: position) }
                keys.append(key)
                position += innermost.count * table.trailer.referenceSize
            }
            guard let value = try value(of: table.reference(at: position), referredAt: position) else { return true }
            values.append(value)
        }
        return false
    }

    /// Pops the completed container off the stack.
    private mutating func close() -> PropertyListValue {
        let level = innermost
        innermost = outer.removeLast()
        innermost.height = max(innermost.height, level.height + 1)
        let value: PropertyListValue
        if level.isDictionary {
            check?.close()
            let dictionary = values.popDictionary(level.count, keys: &keys, distinct: table.trailer.objectCount)
            if dictionary.count < level.count { hasEqualKeys = true }
            value = .dictionary(dictionary)
        } else {
            value = .array(values.popArray(level.count))
        }
        positions[level.object] = Self.met
        if level.isMet {
            store(
                CachedValue(
                    value: value, objects: objects - level.objectsBefore, content: content - level.contentBefore,
                    height: level.height + 1),
                as: level.object)
        }
        return value
    }

    // MARK: Objects

    /// Returns the value of an object, or pushes a container that hasn't been read yet onto the stack and returns
    /// `nil`.
    private mutating func value(of object: Int, referredAt position: Int) throws(ReadingFailure) -> PropertyListValue? {
        let known = positions[object]
        if known > 0 || known == Self.open { return try cachedValue(known, referredAt: position) }
        let found = try table.object(object)
        try count(objects: 1, at: found.offset)
        switch found.kind {
        case .no: return .boolean(false)
        case .yes: return .boolean(true)
        case .integer: return try BinaryScalar.integer(in: table.bytes, of: found)
        case .real: return BinaryScalar.real(in: table.bytes, of: found)
        case .date:
            let seconds = BinaryScalar.double(in: table.bytes, at: found.content)
            return .date(PropertyListDate(secondsSinceReferenceDate: seconds))
        case .uid: return .uid(try BinaryScalar.unsigned(in: table.bytes, of: found))
        case .ascii, .utf16:
            try count(content: found.count, at: found.offset)
            let string = try BinaryScalar.string(in: table.bytes, of: found)
            if found.count > Self.inlined { store(.string(string), of: found, as: object) }
            return .string(string)
        case .data:
            try count(content: found.count, at: found.offset)
            let data = [UInt8](table.bytes[found.content..<(found.content + found.count)])
            if found.count > Self.inlined { store(.data(data), of: found, as: object) }
            return .data(data)
        case .array, .dictionary:
            try open(found, as: object)
            return nil
        }
    }

    private mutating func cachedValue(
        _ known: Int32, referredAt position: Int
    ) throws(ReadingFailure) -> PropertyListValue {
        guard known > 0 else {
            throw ReadingFailure(code: .cycle, offset: position, message: "a container contains itself")
        }
        let kept = kept[Int(known) - 1]
        try count(objects: kept.objects, at: position)
        try count(content: kept.content, at: position)
        innermost.height = max(innermost.height, kept.height)
        guard outer.count + kept.height <= limits.depth else { throw tooDeep(at: position) }
        return kept.value
    }

    private mutating func key(of object: Int, referredAt position: Int) throws(ReadingFailure) -> String {
        if positions[object] > 0, case .string(let string) = kept[Int(positions[object]) - 1].value {
            try count(content: kept[Int(positions[object]) - 1].content, at: position)
            try MarkRun.check(string, at: position)
            return string
        }
        let found = try table.object(object)
        guard found.kind == .ascii || found.kind == .utf16 else {
            throw ReadingFailure(code: .syntax, offset: found.offset, message: "a dictionary's key is not a string")
        }
        try count(content: found.count, at: found.offset)
        let string = try BinaryScalar.string(in: table.bytes, of: found)
        try MarkRun.check(string, at: found.offset)
        if found.count > Self.inlined { store(.string(string), of: found, as: object) }
        return string
    }

    /// The number of bytes of text that Swift stores without allocating memory.
    private static let inlined = 15

    /// Caches text or data on its second use, so that later uses share its memory.
    private mutating func store(_ value: PropertyListValue, of found: BinaryObject, as object: Int) {
        guard positions[object] == Self.met else { return positions[object] = Self.met }
        store(CachedValue(value: value, objects: 1, content: found.count, height: 0), as: object)
    }

    private mutating func store(_ value: CachedValue, as object: Int) {
        kept.append(value)
        positions[object] = Int32(truncatingIfNeeded: kept.count)
    }

    private mutating func open(_ found: BinaryObject, as object: Int) throws(ReadingFailure) {
        guard outer.count < limits.depth else { throw tooDeep(at: found.offset) }
        // Refuse the container before reading any of its values.
        guard found.count <= limits.objects - objects else { throw tooManyObjects(at: found.offset) }
        outer.append(innermost)
        innermost = Level(
            object: object, references: found.content, count: found.count, isDictionary: found.kind == .dictionary,
            isMet: positions[object] == Self.met, objectsBefore: objects - 1, contentBefore: content)
        if innermost.isDictionary { check?.open() }
        positions[object] = Self.open
    }

    // MARK: Limits

    @inline(__always)
    private mutating func count(objects more: Int, at offset: Int) throws(ReadingFailure) {
        guard more <= limits.objects - objects else { throw tooManyObjects(at: offset) }
        objects += more
    }

    /// Counts text and data before they are copied.
    ///
    /// Objects may overlap in the input, so even a small input can represent any amount of text and data.
    @inline(__always)
    private mutating func count(content more: Int, at offset: Int) throws(ReadingFailure) {
        guard more <= limits.bytes - content else {
            throw tooLarge(at: offset)
        }
        content += more
    }

    // MARK: Failures

    // They are out of line, so that the code above stays small.

    @inline(never)
    private func tooLarge(at offset: Int) -> ReadingFailure {
        ReadingFailure(
            code: .tooLarge, offset: offset,
            message: "text and data exceed the limit of \(limits.bytes) bytes; shared values count once per use")
    }

    @inline(never)
    private func tooManyObjects(at offset: Int) -> ReadingFailure {
        ReadingFailure(
            code: .tooManyObjects, offset: offset, message: "the property list has more than \(limits.objects) values")
    }

    @inline(never)
    private func tooDeep(at offset: Int) -> ReadingFailure {
        ReadingFailure(
            code: .tooDeep, offset: offset, message: "containers are nested more than \(limits.depth) levels deep")
    }
}
