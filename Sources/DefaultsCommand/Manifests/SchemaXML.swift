/// An element of the XML that other systems describe settings in.
struct SchemaElement {
    let name: String
    let attributes: [String: String]
    /// The line of the opening tag, starting at 1.
    let line: Int
    fileprivate(set) var children: [SchemaElement] = []
    /// The text, without that of the elements in it.
    fileprivate(set) var text = ""

    /// The text without white space around it.
    var trimmedText: String { text.trimmed }

    /// The text with its white space, unless it is all.
    var keptText: String { text.allSatisfy(\.isWhitespace) ? "" : text }

    /// The text as one line, with single spaces between words.
    var words: String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }

    subscript(attribute: String) -> String? { attributes[attribute] }

    func all(_ name: String) -> [SchemaElement] { children.filter { $0.name == name } }

    func first(_ name: String) -> SchemaElement? { children.first { $0.name == name } }
}

/// A reader of XML with attributes, for the schemas of GSettings and KConfig.
///
/// It reads what such files contain: elements, attributes, text, CDATA sections, comments, processing instructions, a
/// DOCTYPE, and the predefined and numeric references. Namespaces are part of the names. No entity is ever expanded,
/// and no file is fetched.
struct SchemaXML {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var counted = (position: 0, line: 1)
    private static let maximumDepth = 64

    /// Reads a document.
    ///
    /// - Throws: If it isn't well-formed; the message has the line.
    static func read(_ bytes: [UInt8]) throws(Failure) -> SchemaElement {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure("The file is not valid UTF-8.", .dataError)
        }
        var reader = SchemaXML(scalars: Array(text.unicodeScalars))
        return try reader.document()
    }

    private init(scalars: [Unicode.Scalar]) { self.scalars = scalars }

    private mutating func document() throws(Failure) -> SchemaElement {
        // The open elements, and the one that has been closed last.
        var open: [SchemaElement] = []
        var root: SchemaElement?
        _ = skip("\u{FEFF}")
        while position < scalars.count {
            if skip("<!--") {
                try skipThrough("-->", "the comment")
            } else if skip("<![CDATA[") {
                let start = position
                try skipThrough("]]>", "the CDATA section")
                guard !open.isEmpty else { throw failure("text outside the document's element") }
                open[open.count - 1].text += string(start..<position - 3)
            } else if skip("<?") {
                try skipThrough("?>", "the processing instruction")
            } else if skip("<!DOCTYPE") {
                try skipDocumentType()
            } else if skip("</") {
                let name = name()
                skipSpace()
                guard skip(">"), let element = open.popLast(), element.name == name else {
                    throw failure("</\(name)> closes no element")
                }
                if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
            } else if skip("<") {
                guard root == nil else { throw failure("more than one element at the top") }
                guard open.count < Self.maximumDepth else { throw failure("more than \(Self.maximumDepth) levels") }
                let (element, isEmpty) = try openingTag()
                if !isEmpty {
                    open.append(element)
                } else if open.isEmpty {
                    root = element
                } else {
                    open[open.count - 1].children.append(element)
                }
            } else {
                let text = try text(until: "<")
                if !open.isEmpty {
                    open[open.count - 1].text += text
                } else if !text.allSatisfy(\.isWhitespace) {
                    throw failure("text outside the document's element")
                }
            }
        }
        if let element = open.last { throw failure("<\(element.name)> in line \(element.line) isn't closed") }
        guard let root else { throw failure("no element") }
        return root
    }

    private mutating func openingTag() throws(Failure) -> (SchemaElement, isEmpty: Bool) {
        let line = currentLine()
        let name = name()
        guard !name.isEmpty else { throw failure("expected a tag") }
        var attributes: [String: String] = [:]
        while true {
            skipSpace()
            if skip("/>") { return (SchemaElement(name: name, attributes: attributes, line: line), true) }
            if skip(">") { return (SchemaElement(name: name, attributes: attributes, line: line), false) }
            let attribute = self.name()
            skipSpace()
            guard !attribute.isEmpty, skip("=") else { throw failure("expected an attribute or the end of <\(name)>") }
            skipSpace()
            let quote: Unicode.Scalar = position < scalars.count && scalars[position] == "'" ? "'" : "\""
            guard skip(String(quote)) else { throw failure("expected a quoted value of \(attribute)") }
            attributes[attribute] = try text(until: quote)
            guard skip(String(quote)) else { throw failure("the value of \(attribute) isn't closed") }
        }
    }

    /// Reads text up to a character, and replaces references.
    private mutating func text(until end: Unicode.Scalar) throws(Failure) -> String {
        var text = String.UnicodeScalarView()
        while position < scalars.count, scalars[position] != end {
            if scalars[position] == "&" {
                text.append(try reference())
            } else {
                text.append(scalars[position])
                position += 1
            }
        }
        return String(text)
    }

    private mutating func reference() throws(Failure) -> Unicode.Scalar {
        for (reference, scalar) in [
            ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("&quot;", "\""), ("&apos;", "'"),
        ] as [(String, Unicode.Scalar)] where skip(reference) { return scalar }
        if skip("&#") {
            let radix = skip("x") ? 16 : 10
            let digits = position
            while position < scalars.count, scalars[position] != ";", position - digits < 8 { position += 1 }
            if let scalar = UInt32(string(digits..<position), radix: radix).flatMap(Unicode.Scalar.init), skip(";") {
                return scalar
            }
        }
        throw failure("an unknown reference; only &lt; &gt; &amp; &quot; &apos; and numbers are supported")
    }

    private mutating func skipDocumentType() throws(Failure) {
        while position < scalars.count, !skip(">") {
            if scalars[position] == "[" { throw failure("a DOCTYPE with an internal subset is not supported") }
            position += 1
        }
    }

    private mutating func skipThrough(_ end: String, _ what: String) throws(Failure) {
        while position < scalars.count {
            if skip(end) { return }
            position += 1
        }
        throw failure("the end of \(what) is missing")
    }

    private mutating func skipSpace() {
        while position < scalars.count, scalars[position].properties.isWhitespace { position += 1 }
    }

    private mutating func name() -> String {
        let start = position
        while position < scalars.count, !scalars[position].properties.isWhitespace,
            !"/>=<\"'&".unicodeScalars.contains(scalars[position])
        { position += 1 }
        return string(start..<position)
    }

    private mutating func skip(_ text: String) -> Bool {
        guard scalars[position...].starts(with: text.unicodeScalars) else { return false }
        position += text.unicodeScalars.count
        return true
    }

    private func string(_ range: Range<Int>) -> String { String(String.UnicodeScalarView(scalars[range])) }

    /// The line of the position; only what has been read since the last call is counted.
    private mutating func currentLine() -> Int {
        for index in counted.position..<max(counted.position, position) where scalars[index] == "\n" {
            counted.line += 1
        }
        counted.position = max(counted.position, position)
        return counted.line
    }

    private mutating func failure(_ message: String) -> Failure {
        Failure("Line \(currentLine()): \(message).", .dataError)
    }
}

extension String {
    /// The text without white space around it.
    var trimmed: String {
        let rest = drop(while: \.isWhitespace)
        return String(rest[..<(rest.lastIndex { !$0.isWhitespace }.map(rest.index(after:)) ?? rest.startIndex)])
    }
}
