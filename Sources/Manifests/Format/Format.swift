/// A regular expression that a value must match, without look-around, back-references and options.
///
/// A match takes time in proportion to the text's length. Every position of the expression that the text may have
/// reached is followed at once, so no text makes it try again (Thompson, "Regular Expression Search Algorithm", 1968).
/// A match may be anywhere in the text, unless the expression has `^` and `$`.
///
/// It has alternatives, groups, `*`, `+`, `?`, `{2,5}`, `.`, `^`, `$`, classes such as `[a-z]`, and `\d`, `\w`, `\s`,
/// `\p{L}` with their opposites. Others are refused, because the answer would otherwise be wrong, or could take years.
package struct Format: Sendable, Hashable {
    /// The expression as text.
    package let pattern: String
    private let steps: [Step]
    /// The greatest cost of a step.
    private let cost: Int

    /// A step of the match; the next one is at the next index.
    enum Step: Sendable, Hashable {
        /// Reads a character of a set.
        case read(ScalarSet)
        /// Continues at both indices.
        case fork(Int, Int)
        /// Continues at an index.
        case jump(Int)
        /// Continues only at the start of the text.
        case start
        /// Continues only at the end of the text.
        case end
        /// The text matches.
        case match
    }

    /// The maximum length of an expression, in characters.
    static let maximumLength = 1_000
    /// The maximum number of steps, after repetitions such as `{1,100}` have been written out.
    static let maximumSteps = 2_000
    /// The maximum work of one match: ten milliseconds, or a hundred thousand characters with a usual expression.
    private static let maximumWork = 1_000_000

    /// Creates a format.
    ///
    /// - Throws: The reason why the expression can't be used, with its position.
    package init(_ pattern: String) throws(FormatError) {
        self.pattern = pattern
        var parser = FormatParser(pattern)
        var steps: [Step] = []
        try FormatParser.append(try parser.expression(), to: &steps)
        steps.append(.match)
        self.steps = steps
        cost = steps.reduce(1) { if case .read(let set) = $1 { max($0, set.cost) } else { $0 } }
    }

    /// Returns whether a text matches; a text that is so long that a match would take too much work doesn't.
    package func matches(_ text: String) -> Bool {
        var work = Self.maximumWork
        return matches(text, within: &work)
    }

    /// Returns whether a text matches, and subtracts the work; if there is too little left, it doesn't match.
    func matches(_ text: String, within work: inout Int) -> Bool {
        var current = Positions(count: steps.count)
        var next = Positions(count: steps.count)
        var scalars = text.unicodeScalars.makeIterator()
        var scalar = scalars.next()
        var isStart = true
        while true {
            // A match may begin anywhere.
            if current.add(0, of: steps, isStart: isStart, isEnd: scalar == nil) { return true }
            guard let read = scalar else { return false }
            scalar = scalars.next()
            isStart = false
            for index in current.indices {
                guard case .read(let set) = steps[index], set.contains(read) else { continue }
                if next.add(index + 1, of: steps, isStart: false, isEnd: scalar == nil) { return true }
            }
            work -= current.indices.count * cost
            if work <= 0 { return false }
            swap(&current, &next)
            next.removeAll()
        }
    }

    package static func == (one: Format, other: Format) -> Bool { one.pattern == other.pattern }
    package func hash(into hasher: inout Hasher) { hasher.combine(pattern) }
}

/// The positions of an expression that a text has reached.
private struct Positions {
    /// The indices of steps, each once.
    private(set) var indices: [Int] = []
    private var isMember: [Bool]
    private var rest: [Int] = []

    init(count: Int) { isMember = Array(repeating: false, count: count) }

    mutating func removeAll() {
        for index in indices { isMember[index] = false }
        indices.removeAll(keepingCapacity: true)
    }

    /// Adds a step and those that follow it without reading a character; returns whether the text matches.
    mutating func add(_ first: Int, of steps: [Format.Step], isStart: Bool, isEnd: Bool) -> Bool {
        rest.append(first)
        while let index = rest.popLast() {
            if isMember[index] { continue }
            isMember[index] = true
            indices.append(index)
            switch steps[index] {
            case .read: break
            case .fork(let one, let other):
                rest.append(other)
                rest.append(one)
            case .jump(let target): rest.append(target)
            case .start: if isStart { rest.append(index + 1) }
            case .end: if isEnd { rest.append(index + 1) }
            case .match:
                rest.removeAll()
                return true
            }
        }
        return false
    }
}

/// The reason why a regular expression can't be used.
package struct FormatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The number of characters before the part that can't be used.
    package let offset: Int
    /// The problem, without a position or a final period.
    package let message: String

    /// A sentence with the problem and the position.
    package var description: String {
        let start = message.prefix(1).uppercased() + message.dropFirst()
        return "\(start), at character \(offset + 1) of the format."
    }
}
