/// A reader of XML property lists that agrees with Foundation where Foundation is right.
///
/// It accepts more than Foundation: comments and processing instructions in text, and empty `<data/>`. It also refuses
/// more: nothing may follow the document, a `<key>` isn't a value, and base64 must be correct.
struct XMLReader: ~Copyable {
    private var scanner: XMLScanner
    private var tree: TreeBuilder

    init(_ text: UnsafeBufferPointer<UInt8>, limits: PropertyListLimits, check: KeyCheck? = nil) {
        scanner = XMLScanner(text)
        tree = TreeBuilder(limits: limits, check: check)
    }

    static func read(
        _ text: UnsafeBufferPointer<UInt8>, limits: PropertyListLimits, refusesEquivalentKeys: Bool
    ) throws(ReadingFailure) -> (value: PropertyListValue, hasEquivalentKeys: Bool) {
        try KeyCheck.read(refusesEquivalent: refusesEquivalentKeys) { check throws(ReadingFailure) in
            var reader = XMLReader(text, limits: limits, check: check)
            return (try reader.readDocument(), reader.tree.hasEqualKeys)
        }
    }

    private mutating func readDocument() throws(ReadingFailure) -> PropertyListValue {
        try scanner.skipMisc()
        try scanner.skipDocumentType()
        try scanner.skipMisc()
        let hasWrapper = try openWrapper()
        while true {
            try scanner.skipMisc()
            if let value = tree.finished() {
                if hasWrapper { try scanner.closingTag(of: .plist) }
                try scanner.skipToEnd()
                return value
            }
            try readPart()
        }
    }

    private mutating func openWrapper() throws(ReadingFailure) -> Bool {
        let beginning = scanner.offset
        guard scanner.skip("<"), scanner.elementName() == .plist else {
            scanner.offset = beginning
            return false
        }
        guard try !scanner.endOfOpeningTag() else { throw scanner.failure("<plist/> does not contain a value") }
        return true
    }

    /// Reads a key, a scalar, an empty container, or the opening or closing tag of a container.
    private mutating func readPart() throws(ReadingFailure) {
        let position = scanner.offset
        guard scanner.skip("<") else { throw scanner.expected(wanted) }
        if scanner.skip("/") {
            return try closeContainer(at: position)
        }
        guard let element = scanner.elementName() else { throw scanner.expected(wanted, at: position) }
        if tree.expectation == .key {
            guard element == .key else { throw scanner.expected(wanted, at: position) }
            if try scanner.endOfOpeningTag() {
                try tree.add(key: "", at: position)
            } else {
                try tree.add(key: String(bytes: try scanner.text(of: .key)), at: position)
            }
            return
        }
        let isEmpty = try scanner.endOfOpeningTag()
        switch element {
        case .string:
            if isEmpty { return try tree.add(.string(""), at: position) }
            try tree.add(.string(String(bytes: try scanner.text(of: .string))), at: position)
        case .integer: try tree.add(try integer(isEmpty: isEmpty), at: position)
        case .`true`, .`false`: try boolean(element, isEmpty: isEmpty, at: position)
        case .real: try tree.add(try real(isEmpty: isEmpty), at: position)
        case .date: try tree.add(try date(isEmpty: isEmpty), at: position)
        case .data: try tree.add(try data(isEmpty: isEmpty), at: position)
        case .dict, .array:
            try tree.open(dictionary: element == .dict, at: position)
            if isEmpty { try tree.close(at: position) }
        case .key, .plist: throw scanner.expected(wanted, at: position)
        }
    }

    /// The item expected next, for error messages.
    private var wanted: String {
        switch tree.expectation {
        case .value: "a value"
        case .element: "a value or </array>"
        case .key: "<key> or </dict>"
        case .valueOfKey: "a value for key \"\(tree.pendingKey.shown())\""
        }
    }

    private mutating func closeContainer(at position: Int) throws(ReadingFailure) {
        let closed = scanner.elementName()
        switch (tree.expectation, closed) {
        case (.element, .array), (.key, .dict): break
        default: throw scanner.expected(wanted, at: position)
        }
        scanner.skipWhitespace()
        guard scanner.skip(">") else { throw scanner.expected(">") }
        try tree.close(at: position)
    }

    private mutating func boolean(_ element: XMLElement, isEmpty: Bool, at position: Int) throws(ReadingFailure) {
        if !isEmpty { try scanner.closingTag(of: element) }
        try tree.add(.boolean(element == .`true`), at: position)
    }

    private mutating func integer(isEmpty: Bool) throws(ReadingFailure) -> PropertyListValue {
        let position = scanner.offset
        guard !isEmpty else { throw scanner.failure("<integer/> does not contain a number") }
        switch NumberText.integer(try scanner.text(of: .integer)) {
        case .value(let value): return value
        case .malformed: throw scanner.failure("<integer> does not contain a whole number", at: position)
        case .outOfRange:
            throw scanner.failure("the number does not fit in 64 bits", code: .numberOutOfRange, at: position)
        }
    }

    private mutating func real(isEmpty: Bool) throws(ReadingFailure) -> PropertyListValue {
        let position = scanner.offset
        guard !isEmpty else { throw scanner.failure("<real/> does not contain a number") }
        guard let number = NumberText.real(try scanner.text(of: .real)) else {
            throw scanner.failure("<real> does not contain a number", at: position)
        }
        return .real(number)
    }

    private mutating func date(isEmpty: Bool) throws(ReadingFailure) -> PropertyListValue {
        let position = scanner.offset
        guard !isEmpty else { throw scanner.failure("<date/> does not contain a date") }
        guard let date = PropertyListDate(xml: try scanner.text(of: .date)) else {
            throw scanner.failure("<date> does not contain a date of the form 2001-01-01T00:00:00Z", at: position)
        }
        return .date(date)
    }

    private mutating func data(isEmpty: Bool) throws(ReadingFailure) -> PropertyListValue {
        let position = scanner.offset
        if isEmpty { return .data([]) }
        guard let bytes = Base64.decode(try scanner.text(of: .data)) else {
            throw scanner.failure("<data> does not contain valid base64", at: position)
        }
        return .data(bytes)
    }
}

/// The elements of an XML property list.
enum XMLElement: String, CustomStringConvertible {
    case plist, dict, array, key, string, integer, real, date, data
    case `true` = "true"
    case `false` = "false"

    /// The element's name.
    var description: String { rawValue }

    /// Creates the element with a name given as bytes.
    @inline(__always)
    init?(name: UnsafeBufferPointer<UInt8>) {
        func matches(_ text: StaticString) -> Bool {
            for index in 0..<text.utf8CodeUnitCount where name[index] != text.utf8Start[index] { return false }
            return true
        }
        switch name.count {
        case 3 where matches("key"): self = .key
        case 6 where matches("string"): self = .string
        case 7 where matches("integer"): self = .integer
        case 4 where matches("dict"): self = .dict
        case 4 where matches("true"): self = .`true`
        case 4 where matches("real"): self = .real
        case 4 where matches("date"): self = .date
        case 4 where matches("data"): self = .data
        case 5 where matches("array"): self = .array
        case 5 where matches("false"): self = .`false`
        case 5 where matches("plist"): self = .plist
        default: return nil
        }
    }
}
