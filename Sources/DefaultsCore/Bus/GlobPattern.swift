/// A pattern of names: `*` stands for any run of characters, `?` for any one, `\` takes the next as it is.
package struct GlobPattern: Hashable, Sendable {
    package let text: String
    private let parts: [Part]

    private enum Part: Hashable {
        case run
        case one
        case exactly(Unicode.Scalar)
    }

    package init(_ text: String) {
        self.text = text
        var parts: [Part] = []
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            switch scalar {
            case "*": if parts.last != .run { parts.append(.run) }
            case "?": parts.append(.one)
            case "\\": parts.append(.exactly(scalars.next() ?? scalar))
            default: parts.append(.exactly(scalar))
            }
        }
        self.parts = parts
    }

    /// The pattern that one name fits alone, whatever characters it has.
    package static func exactly(_ name: String) -> GlobPattern {
        GlobPattern(name.reduce(into: "") { $0 += "*?\\".contains($1) ? "\\\($1)" : String($1) })
    }

    /// Whether the whole name fits.
    ///
    /// Takes time in proportion to the product of both lengths at most, whatever the pattern.
    package func matches(_ name: String) -> Bool {
        let scalars = Array(name.unicodeScalars)
        var part = 0
        var position = 0
        // After a run fails to fit, it is tried one character longer.
        var retry: (part: Int, position: Int)?
        while position < scalars.count {
            if part < parts.count, parts[part] == .run {
                part += 1
                retry = (part, position)
            } else if part < parts.count, parts[part] == .one || parts[part] == .exactly(scalars[position]) {
                part += 1
                position += 1
            } else if let (runPart, runPosition) = retry {
                retry = (runPart, runPosition + 1)
                part = runPart
                position = runPosition + 1
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .run }
    }
}
