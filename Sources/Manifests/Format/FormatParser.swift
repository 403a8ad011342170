/// The parser of regular expressions, which writes them as the steps of a match.
struct FormatParser {
    /// A parsed part of an expression.
    indirect enum Node {
        case empty
        case set(ScalarSet)
        case start, end
        case sequence([Node])
        case alternatives([Node])
        /// A repetition; without a maximum, any number of times.
        case repetition(Node, minimum: Int, maximum: Int?)
    }

    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var depth = 0
    private static let maximumDepth = 50
    private static let maximumCount = 1_000

    init(_ pattern: String) { scalars = Array(pattern.unicodeScalars) }

    // MARK: Steps

    /// Appends the steps of a part.
    static func append(_ node: Node, to steps: inout [Format.Step]) throws(FormatError) {
        guard steps.count < Format.maximumSteps else {
            throw FormatError(offset: 0, message: "with its repetitions written out, the expression is too long")
        }
        switch node {
        case .empty: break
        case .set(let set): steps.append(.read(set))
        case .start: steps.append(.start)
        case .end: steps.append(.end)
        case .sequence(let parts): for part in parts { try append(part, to: &steps) }
        case .alternatives(let parts):
            var ends: [Int] = []
            for part in parts.dropLast() {
                let fork = steps.count
                steps.append(.match)
                try append(part, to: &steps)
                ends.append(steps.count)
                steps.append(.match)
                steps[fork] = .fork(fork + 1, steps.count)
            }
            if let last = parts.last { try append(last, to: &steps) }
            for end in ends { steps[end] = .jump(steps.count) }
        case .repetition(let part, let minimum, let maximum):
            for _ in 0..<minimum {
                let count = steps.count
                try append(part, to: &steps)
                // Repetitions of nothing could be nested, and would take years.
                if steps.count == count { break }
            }
            let fork = steps.count
            guard let maximum else {
                steps.append(.match)
                try append(part, to: &steps)
                steps.append(.jump(fork))
                steps[fork] = .fork(fork + 1, steps.count)
                return
            }
            var forks: [Int] = []
            for _ in minimum..<maximum {
                forks.append(steps.count)
                steps.append(.match)
                try append(part, to: &steps)
            }
            for fork in forks { steps[fork] = .fork(fork + 1, steps.count) }
        }
    }

    // MARK: Parts

    /// Parses the whole expression.
    mutating func expression() throws(FormatError) -> Node {
        guard scalars.count <= Format.maximumLength else {
            throw failure("the expression has more than \(Format.maximumLength) characters", at: Format.maximumLength)
        }
        let node = try alternatives()
        guard position == scalars.count else { throw failure("\")\" closes no group") }
        return node
    }

    private mutating func alternatives() throws(FormatError) -> Node {
        var parts = [try sequence()]
        while skip("|") { parts.append(try sequence()) }
        return parts.count == 1 ? parts[0] : .alternatives(parts)
    }

    private mutating func sequence() throws(FormatError) -> Node {
        var parts: [Node] = []
        while let next = peek, next != "|", next != ")" { parts.append(try repetition()) }
        return .sequence(parts)
    }

    private mutating func repetition() throws(FormatError) -> Node {
        let first = position
        var node = try atom()
        while let next = peek {
            let start = position
            let counts: (minimum: Int, maximum: Int?)
            switch next {
            case "*": counts = (0, nil)
            case "+": counts = (1, nil)
            case "?": counts = (0, 1)
            case "{":
                guard let found = try repetitionCounts() else { return node }
                counts = found
                position -= 1
            default: return node
            }
            position += 1
            if start > first, isAnchor(node) { throw failure("there is nothing to repeat", at: start) }
            // Whether it prefers few or many repetitions decides only which of several matches is found.
            if peek == "+" { throw failure("possessive repetitions are not supported") }
            _ = skip("?")
            node = .repetition(node, minimum: counts.minimum, maximum: counts.maximum)
        }
        return node
    }

    private func isAnchor(_ node: Node) -> Bool {
        switch node {
        case .start, .end: true
        default: false
        }
    }

    /// Parses `{3}`, `{3,}` or `{3,5}`; any other brace is a character.
    private mutating func repetitionCounts() throws(FormatError) -> (minimum: Int, maximum: Int?)? {
        let start = position
        position += 1
        let minimum = number()
        var maximum = minimum
        if minimum != nil, skip(",") { maximum = peek == "}" ? nil : number() ?? -1 }
        guard let minimum, maximum != -1, skip("}") else {
            position = start
            return nil
        }
        guard max(minimum, maximum ?? 0) <= Self.maximumCount, maximum ?? minimum >= minimum else {
            throw failure("the counts must be in order, and at most \(Self.maximumCount)", at: start)
        }
        return (minimum, maximum)
    }

    private mutating func number() -> Int? {
        var value: Int?
        while let digit = peek.flatMap({ $0.isASCII ? Int(String($0)) : nil }) {
            value = min((value ?? 0) * 10 + digit, Self.maximumCount + 1)
            position += 1
        }
        return value
    }

    private mutating func atom() throws(FormatError) -> Node {
        let start = position
        guard let next = peek else { return .empty }
        position += 1
        switch next {
        case "(": return try group(from: start)
        case "[": return .set(try characterClass(from: start))
        case ".": return .set(.anyButNewline)
        case "^": return .start
        case "$": return .end
        case "*", "+", "?": throw failure("there is nothing to repeat", at: start)
        case "\\":
            var set = ScalarSet()
            if try !insertEscapedClass(into: &set, from: start) {
                let scalar = try escaped(from: start)
                set.insert(scalar...scalar)
            }
            return .set(set)
        case "{":
            position = start
            if try repetitionCounts() != nil { throw failure("there is nothing to repeat", at: start) }
            position += 1
            fallthrough
        default:
            var set = ScalarSet()
            set.insert(next...next)
            return .set(set)
        }
    }

    private mutating func group(from start: Int) throws(FormatError) -> Node {
        if skip("?") {
            switch peek {
            case ":": position += 1
            case "=", "!": throw failure("look-ahead is not supported", at: start)
            case "<", "P":
                _ = skip("P")
                if skip("<"), peek == "=" || peek == "!" { throw failure("look-behind is not supported", at: start) }
                while let next = peek, next != ">", next != ")" { position += 1 }
                guard skip(">") else { throw failure("the name of the group has no end", at: start) }
            default: throw failure("options inside the expression are not supported", at: start)
            }
        }
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw failure("too many groups are nested", at: start) }
        let node = try alternatives()
        guard skip(")") else { throw failure("the group has no end", at: start) }
        return node
    }

    private mutating func characterClass(from start: Int) throws(FormatError) -> ScalarSet {
        var set = ScalarSet()
        let isInverted = skip("^")
        var isFirst = true
        while let next = peek, next != "]" || isFirst {
            isFirst = false
            let member = position
            position += 1
            if next == "[" {
                if peek == ":" { throw failure("POSIX classes such as [:alpha:] are not supported", at: member) }
                // In some dialects it begins a nested class, in others it is a character.
                throw failure("\"[\" inside a class is ambiguous; write \"\\[\"", at: member)
            }
            if next == "&", peek == "&" { throw failure("intersections of classes are not supported", at: member) }
            var first = next
            if next == "\\" {
                if try insertEscapedClass(into: &set, from: member) { continue }
                first = try escaped(from: member)
            }
            var last = first
            if peek == "-", position + 1 < scalars.count, scalars[position + 1] != "]" {
                position += 1
                let bound = position
                last = scalars[position]
                position += 1
                if last == "\\" {
                    var other = ScalarSet()
                    if try insertEscapedClass(into: &other, from: bound) {
                        throw failure("a class can't be the end of a range", at: bound)
                    }
                    last = try escaped(from: bound)
                }
                guard first <= last else { throw failure("the range is out of order", at: member) }
            }
            set.insert(first...last)
        }
        guard skip("]") else { throw failure("the class has no end", at: start) }
        if isInverted { set.invert() }
        return set
    }

    // MARK: Escapes

    /// Parses a class such as `d` after a backslash; returns false, and reads nothing, if it is a single character.
    private mutating func insertEscapedClass(
        into set: inout ScalarSet, from start: Int
    ) throws(FormatError) -> Bool {
        guard let next = peek else { throw failure("the backslash has nothing to escape", at: start) }
        switch next {
        case "d", "D": set.insert(.digit, isInverted: next == "D")
        case "w", "W": set.insert(.word, isInverted: next == "W")
        case "s", "S": set.insert(.space, isInverted: next == "S")
        case "p", "P":
            position += 1
            guard skip("{"), let end = scalars[position...].firstIndex(of: "}") else {
                throw failure("expected a category in braces, such as \\p{L}", at: start)
            }
            let name = String(String.UnicodeScalarView(scalars[position..<end]))
            guard Self.categories.contains(name) else {
                throw failure("\"\(name)\" is not a general category such as L or Lu", at: start)
            }
            set.insert(.category(name), isInverted: next == "P")
            position = end
        default: return false
        }
        position += 1
        return true
    }

    private static let categories: Set = [
        "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe",
        "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C", "Cc", "Cf", "Cs", "Co", "Cn",
    ]

    /// Parses a single character after a backslash.
    private mutating func escaped(from start: Int) throws(FormatError) -> Unicode.Scalar {
        guard let next = peek else { throw failure("the backslash has nothing to escape", at: start) }
        position += 1
        switch next {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "f": return "\u{C}"
        case "v": return "\u{B}"
        case "x", "u": return try hexadecimal(digits: next == "x" ? 2 : 4, from: start)
        case "1"..."9", "k": throw failure("back-references are not supported", at: start)
        case _ where next.isASCII && (next.properties.isAlphabetic || next == "0"):
            throw failure("\"\\\(next)\" is not supported", at: start)
        default: return next
        }
    }

    private mutating func hexadecimal(digits: Int, from start: Int) throws(FormatError) -> Unicode.Scalar {
        let end = position + digits
        guard end <= scalars.count,
            let value = UInt32(String(String.UnicodeScalarView(scalars[position..<end])), radix: 16),
            let scalar = Unicode.Scalar(value)
        else { throw failure("expected \(digits) hexadecimal digits of a character", at: start) }
        position = end
        return scalar
    }

    // MARK: The position

    private var peek: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        position += 1
        return true
    }

    private func failure(_ message: String, at offset: Int? = nil) -> FormatError {
        FormatError(offset: offset ?? position, message: message)
    }
}
