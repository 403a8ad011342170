import PropertyList

/// A text document as a person might have written it.
///
/// It has comments, keys in any order, arbitrary indentation, and spellings that our writers don't use.
struct DecoratedDocument {
    /// An entry with the text around it.
    struct Entry {
        var key: String
        /// Comments and empty lines before it.
        var before: String
        var indentation: String
        /// The key and the text between it and the value.
        var opening: String
        var value: String
        /// The text that ends the value.
        var closing: String
        /// A comment on its last line, and the line ending.
        var after: String
    }

    let format: PropertyListFormat
    var head = ""
    var tail = ""
    private(set) var entries: [Entry] = []

    var text: String {
        head
            + entries.map { $0.before + $0.indentation + $0.opening + $0.value + $0.closing + $0.after }.joined()
            + tail
    }

    init(seed: UInt64, format: PropertyListFormat) {
        self.format = format
        var values = RandomValues(seed: seed, without: [.uid, .oddText, .real32, .fractions])
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &values.generator) }
        let line = below(3) == 0 ? "\r\n" : "\n"
        let indentation = ["", "\t", "  ", "    ", " \t"][below(5)]
        let hasLines = below(4) > 0
        let isStringsFile = format == .oldStyle && below(3) == 0
        switch format {
        case .oldStyle:
            head = ["", "// head }" + line, "/* { */"][below(3)] + (isStringsFile ? "" : "{") + (hasLines ? line : " ")
            tail = (isStringsFile ? "" : "}") + ["", line, " // tail"][below(3)]
        default:
            head =
                ["", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + line][below(2)] + "<!-- head <dict> -->"
                + "<plist version='1.0'>" + line + "<dict >" + (hasLines ? line : "")
            tail = "<!-- tail -->" + "</dict>" + line + "</plist>" + ["", line, "<!-- end -->"][below(3)]
        }
        var keys = Set((0..<1 + below(12)).map { _ in values.text() }.filter { !$0.contains("\n") }).sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        if keys.isEmpty { keys = ["key"] }
        if below(2) == 0 { keys.shuffle(using: &values.generator) }
        for key in keys {
            let comment = format == .oldStyle ? "/* \(below(100)) ; } */" : "<!-- \(below(100)) <key>x</key> -->"
            let margin = hasLines ? indentation : ""
            var entry = Entry(
                key: key, before: ["", hasLines ? margin + comment + line : comment][below(2)], indentation: margin,
                opening: "", value: "", closing: "", after: ["", " " + comment][below(2)] + (hasLines ? line : ""))
            if format == .oldStyle {
                entry.opening = Self.quoted(key, below(2)) + ["=", " = ", " /* = */ = "][below(3)]
                entry.value = Self.oldStyleValue(&values, depth: 2)
                entry.closing = [";", " ;", " /* x */;"][below(3)]
            } else {
                let gap = [line + margin, "", " ", comment][below(4)]
                entry.opening = "<key>" + Self.escaped(key, below(3)) + "</key>" + gap
                entry.value = Self.xmlValue(&values, depth: 2)
            }
            entries.append(entry)
        }
    }

    /// The value that a reader returns; `nil` if it refuses the document.
    var value: [String: PropertyListValue]? {
        guard case .dictionary(let values)? = try? PropertyListValue(parsing: Array(text.utf8)) else { return nil }
        return values
    }

    // MARK: XML

    private static func escaped(_ text: String, _ way: Int) -> String {
        if way == 0, !text.contains("]]>") { return "<![CDATA[" + text + "]]>" }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": result += "&lt;"
            case "&": result += "&amp;"
            case ">": result += "&gt;"
            case _ where way == 1 && scalar.value > 0x20: result += "&#\(scalar.value);"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func xmlValue(_ values: inout RandomValues, depth: Int) -> String {
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &values.generator) }
        switch below(depth > 0 ? 9 : 7) {
        case 0, 1: return "<string>" + escaped(values.text(), below(3)) + "</string>"
        case 2: return ["<integer>0x1F</integer>", "<integer>+7</integer>", "<integer>007</integer>"][below(3)]
        case 3: return ["<real>1.50</real>", "<real>1e2</real>", "<real>0.10000000000000001</real>"][below(3)]
        case 4: return ["<true/>", "<false></false>", "<true />"][below(3)]
        case 5: return "<date>2024-01-02T03:04:05Z</date>"
        case 6: return ["<data>AAEC</data>", "<data>\n  AA EC\n</data>", "<data>AQ==</data>"][below(3)]
        case 7:
            let elements = (0..<below(4)).map { _ in
                xmlValue(&values, depth: depth - 1) + ["", "<!-- ] -->", "\n"][below(3)]
            }
            return elements.isEmpty ? "<array/>" : "<array>" + elements.joined() + "</array>"
        default:
            let entries = (0..<below(4)).map { "\n<key>k\($0)</key>" + xmlValue(&values, depth: depth - 1) }
            return "<dict>" + entries.joined() + "<!-- </dict> --></dict>"
        }
    }

    // MARK: Old style

    private static func quoted(_ text: String, _ way: Int) -> String {
        let quote = way == 0 ? "\"" : "'"
        let escaped = text.replacing("\\", with: "\\\\").replacing(quote, with: "\\" + quote)
        return quote + escaped + quote
    }

    private static func oldStyleValue(_ values: inout RandomValues, depth: Int) -> String {
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &values.generator) }
        switch below(depth > 0 ? 6 : 4) {
        case 0: return quoted(values.text(), below(2))
        case 1: return ["a.b/c", "0x1F", "-1", "a//b"][below(4)]
        case 2: return ["\"\\101\\U00e9\"", "\"}\"", "'; {'"][below(3)]
        case 3: return ["<0a 0b>", "<>", "<0A0b>"][below(3)]
        case 4:
            return "(" + (0..<below(4)).map { _ in oldStyleValue(&values, depth: depth - 1) }.joined(separator: " , ")
                + ")"
        default:
            let entries = (0..<below(4)).map { "k\($0)=" + oldStyleValue(&values, depth: depth - 1) + ";" }
            return "{" + entries.joined(separator: " /* } */ ") + "}"
        }
    }
}
