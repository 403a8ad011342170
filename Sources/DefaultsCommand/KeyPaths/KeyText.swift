package import DefaultsCore
import PropertyList

/// A key as it was typed, which may lead into the value of another one: `a.b.0`.
package struct KeyText {
    package let text: String
    /// Whether it was said to be a path.
    let isPath: Bool

    /// The longest path that is taken: what it makes has to fit the depth of a property list.
    static let mostComponents = 256

    /// Finds what the text means in a domain.
    ///
    /// A key that is there as it was typed wins; else the longest beginning, up to a dot, that is the key of an array or a
    /// dictionary has the rest as a path into it; else the text is a key. An escaped dot or backslash, `\.` or `\\`, says
    /// that the dots without one are to part.
    package func path(in values: DomainValues) throws(Failure) -> ValuePath {
        // Most keys are no paths, and cost no more than before there were any.
        if !isPath, !text.utf8.contains(UInt8(ascii: "\\")) {
            if !text.utf8.contains(UInt8(ascii: ".")) || values[text] != nil { return ValuePath(key: text) }
        }
        let (components, hasEscapes) = Self.components(text)
        guard components.count <= Self.mostComponents else {
            throw Failure(
                "The key has \(components.count) components; a path has at most \(Self.mostComponents).", .usage)
        }
        if isPath { return ValuePath(key: components[0], steps: components.dropFirst(), isForced: true) }
        if !hasEscapes, values[text] != nil { return ValuePath(key: text) }
        for count in (1..<max(components.count, 1)).reversed() {
            let key = components[..<count].joined(separator: ".")
            switch values[key] {
            case .array?, .dictionary?: return ValuePath(key: key, steps: components[count...])
            default: break
            }
        }
        guard hasEscapes else { return ValuePath(key: text) }
        return ValuePath(key: components[0], steps: components.dropFirst())
    }

    /// The part before the first dot, if the text looks like a path but is taken as a key.
    ///
    /// A text looks like a path if it has an index, or if each part begins with a capital. Other keys with dots, such as
    /// `com.apple.mouse.scaling`, are common; and escaped dots are meant.
    var missingParent: String? {
        if isPath || text.utf8.contains(UInt8(ascii: "\\")) { return nil }
        let components = text.split(separator: ".", omittingEmptySubsequences: false)
        guard components.count > 1, let first = components.first, !first.isEmpty else { return nil }
        let hasIndex = components.dropFirst().contains {
            !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        return hasIndex || components.allSatisfy { $0.first?.isUppercase ?? false } ? String(first) : nil
    }

    /// The text cut at its dots, without the backslashes that say what isn't one.
    private static func components(_ text: String) -> (components: [String], hasEscapes: Bool) {
        var components: [String] = []
        var component = String.UnicodeScalarView()
        var hasEscapes = false
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar == "\\", let next = rest.first, next == "." || next == "\\" {
                component.append(next)
                rest.removeFirst()
                hasEscapes = true
            } else if scalar == "." {
                components.append(String(component))
                component.removeAll()
            } else {
                component.append(scalar)
            }
        }
        return (components + [String(component)], hasEscapes)
    }
}
