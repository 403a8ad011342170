/// The tree that a reader builds while it scans text.
///
/// A dictionary whose only key is `CF$UID`, with a whole number as its value, becomes an archive's object number, which
/// has no other form in text.
///
/// Stacks replace recursion, so nesting uses no call stack. The values of open containers are on one stack and their
/// keys on another, and a container is created when it closes and its exact size is known.
struct TreeBuilder: ~Copyable {
    private struct Level {
        var isDictionary: Bool
        var firstValue: Int
        var firstKey: Int
    }

    private let limits: PropertyListLimits
    private var values = MoveStack<PropertyListValue>()
    private var keys = MoveStack<String>()
    private var levels: [Level] = []
    private var objects = 0
    /// The check applied to every key; set only when the document is read a second time.
    private var check: KeyCheck?
    /// Whether any dictionary contained a key more than once.
    private(set) var hasEqualKeys = false

    /// The item that the innermost open container expects next.
    enum Expectation {
        case value, element, key, valueOfKey
    }

    init(limits: PropertyListLimits, check: KeyCheck? = nil) {
        self.limits = limits
        self.check = check
    }

    /// The item expected next: the outermost value, an array's element, or a dictionary's key or value.
    var expectation: Expectation {
        guard let level = levels.last else { return .value }
        guard level.isDictionary else { return .element }
        return keys.count - level.firstKey == values.count - level.firstValue ? .key : .valueOfKey
    }

    /// The key whose value comes next.
    var pendingKey: String { keys.elements.last ?? "" }

    mutating func open(dictionary: Bool, at offset: Int) throws(ReadingFailure) {
        guard levels.count < limits.depth else {
            throw ReadingFailure(
                code: .tooDeep, offset: offset, message: "containers are nested more than \(limits.depth) levels deep")
        }
        levels.append(Level(isDictionary: dictionary, firstValue: values.count, firstKey: keys.count))
        if dictionary { check?.open() }
    }

    @inline(__always)
    mutating func add(key: consuming String, at offset: Int) throws(ReadingFailure) {
        try MarkRun.check(key, at: offset)
        if check != nil { try check?.add(key, at: offset) }
        keys.append(key)
    }

    @inline(__always)
    mutating func add(_ value: consuming PropertyListValue, at offset: Int) throws(ReadingFailure) {
        objects += 1
        guard objects <= limits.objects else {
            throw ReadingFailure(
                code: .tooManyObjects, offset: offset,
                message: "the property list has more than \(limits.objects) values")
        }
        values.append(value)
    }

    /// Closes the innermost container, which is complete, and adds it to its parent.
    mutating func close(at offset: Int) throws(ReadingFailure) {
        guard let level = levels.popLast() else { return }
        let count = values.count - level.firstValue
        guard level.isDictionary else { return try add(.array(values.popArray(count)), at: offset) }
        check?.close()
        let dictionary = values.popDictionary(count, keys: &keys)
        if dictionary.count < count { hasEqualKeys = true }
        try add(dictionary.objectNumber.map(PropertyListValue.uid) ?? .dictionary(dictionary), at: offset)
    }

    /// Returns the outermost value once it is complete.
    func finished() -> PropertyListValue? {
        levels.isEmpty ? values.elements.last : nil
    }
}

extension [String: PropertyListValue] {
    /// The object number that the dictionary represents in text: the value of its only key, `CF$UID`.
    var objectNumber: UInt64? {
        guard count == 1, let value = self["CF$UID"] else { return nil }
        switch value {
        case .integer(let number): return UInt64(exactly: number)
        case .unsigned(let number): return number
        default: return nil
        }
    }
}
