/// A reader of old-style (OpenStep) property lists and strings files, with GNUstep's typed values.
///
/// All other values except data and containers are strings.
struct OldStyleReader: ~Copyable {
    private var scanner: OldStyleScanner
    private var tree: TreeBuilder
    /// The closing bytes of the open containers; `nil` for a strings file, which ends with the text.
    private var closers: [UInt8?] = []

    init(_ text: UnsafeBufferPointer<UInt8>, limits: PropertyListLimits, check: KeyCheck? = nil) {
        scanner = OldStyleScanner(text)
        tree = TreeBuilder(limits: limits, check: check)
    }

    static func read(
        _ text: UnsafeBufferPointer<UInt8>, limits: PropertyListLimits, refusesEquivalentKeys: Bool
    ) throws(ReadingFailure) -> (value: PropertyListValue, hasEquivalentKeys: Bool) {
        try KeyCheck.read(refusesEquivalent: refusesEquivalentKeys) { check throws(ReadingFailure) in
            var reader = OldStyleReader(text, limits: limits, check: check)
            return (try reader.readDocument(), reader.tree.hasEqualKeys)
        }
    }

    private mutating func readDocument() throws(ReadingFailure) -> PropertyListValue {
        guard !scanner.isAtEnd else { throw scanner.failure("the input is empty") }
        try scanner.skipSpace()
        if try isStringsFile() {
            try tree.open(dictionary: true, at: scanner.offset)
            closers.append(nil)
        } else {
            try readValue()
        }
        while !closers.isEmpty { try readPart() }
        try scanner.skipSpace()
        guard scanner.isAtEnd else { throw scanner.expected("the end of the text") }
        guard let value = tree.finished() else { throw scanner.expected("a value") }
        return value
    }

    /// Returns whether the text is empty or begins with a key: `a = b;` or `a;`.
    private mutating func isStringsFile() throws(ReadingFailure) -> Bool {
        guard !scanner.isAtEnd else { return true }
        let beginning = scanner.offset
        defer { scanner.offset = beginning }
        guard try scanner.string() != nil else { return false }
        try scanner.skipSpace()
        return scanner.next == UInt8(ascii: "=") || scanner.next == UInt8(ascii: ";")
    }

    /// Reads an array element, or a dictionary key and the beginning of its value, or closes the container.
    private mutating func readPart() throws(ReadingFailure) {
        guard let closer = closers.last else { return }
        try scanner.skipSpace()
        let position = scanner.offset
        if closer == nil ? scanner.isAtEnd : scanner.next == closer {
            if closer != nil { _ = scanner.skip(scanner.next ?? 0) }
            closers.removeLast()
            try tree.close(at: position)
            return try endValue()
        }
        guard tree.expectation == .key else { return try readValue() }
        let wanted = closer == nil ? "a key" : "a key or }"
        guard let key = try scanner.string() else { throw scanner.expected(wanted) }
        try scanner.skipSpace()
        try tree.add(key: key, at: position)
        if scanner.skip(UInt8(ascii: ";")) { return try tree.add(.string(key), at: position) }
        guard scanner.skip(UInt8(ascii: "=")) else { throw scanner.expected("= or ; after key \"\(key.shown())\"") }
        try scanner.skipSpace()
        try readValue()
    }

    /// Reads a scalar and the separator after it, or opens a container.
    private mutating func readValue() throws(ReadingFailure) {
        let position = scanner.offset
        if scanner.skip(UInt8(ascii: "{")) {
            try tree.open(dictionary: true, at: position)
            return closers.append(UInt8(ascii: "}"))
        }
        if scanner.skip(UInt8(ascii: "(")) {
            try tree.open(dictionary: false, at: position)
            return closers.append(UInt8(ascii: ")"))
        }
        if scanner.next == UInt8(ascii: "<") {
            try tree.add(try scanner.angled(), at: position)
        } else if let string = try scanner.string() {
            try tree.add(.string(string), at: position)
        } else {
            throw scanner.expected("a value")
        }
        try endValue()
    }

    /// Scans the `;` or `,` after a value; the comma after the last element is optional.
    private mutating func endValue() throws(ReadingFailure) {
        guard !closers.isEmpty else { return }
        try scanner.skipSpace()
        if tree.expectation == .element {
            guard scanner.skip(UInt8(ascii: ",")) || scanner.next == UInt8(ascii: ")") else {
                throw scanner.expected(", or )")
            }
        } else if !scanner.skip(UInt8(ascii: ";")) {
            throw scanner.expected("; after the value of key \"\(tree.pendingKey.shown())\"")
        }
    }
}

/// The NextStep character set, used by octal escapes in old-style property lists.
enum NextStepEncoding {
    /// Characters 128 to 255, the last two of which are unassigned; the lower half is ASCII.
    private static let upperHalf: [Unicode.Scalar] = Array(
        ("\u{A0}ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖÙÚÛÜÝÞµ×÷©¡¢£⁄¥ƒ§¤’“«‹›ﬁﬂ®–†‡·¦¶•‚„”»…‰¬¿¹ˋ´ˆ˜¯˘˙¨²˚¸³˝˛ˇ"
            + "—±¼½¾àáâãäåçèéêëìÆíªîïðñŁØŒºòóôõöæùúûıüýłøœßþÿ\u{FFFD}\u{FFFD}").unicodeScalars)

    static func scalar(_ code: UInt8) -> Unicode.Scalar {
        code < 0x80 ? Unicode.Scalar(code) : upperHalf[Int(code) - 0x80]
    }
}
