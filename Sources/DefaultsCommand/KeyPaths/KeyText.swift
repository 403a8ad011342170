import DefaultsClient
package import DefaultsCore
import PropertyList

/// A key as it was typed, which may be a path into the value of another key, such as `a.b.0`.
package struct KeyText {
    package let text: String
    let reading: Reading

    /// An interpretation of a typed key.
    package enum Reading: CaseIterable {
        /// The text is a key or a path, depending on the domain's values; see `path(in:)`.
        case either
        case path
        case literal

        /// Creates the way that an option chooses; fails for any other word.
        init?(option: String) {
            switch option {
            case "--key-path": self = .path
            case "--literal-key": self = .literal
            default: return nil
            }
        }
    }

    /// The maximum number of components of a path, so that the value it creates stays within the depth limit of a
    /// property list.
    static let maximumComponents = 256

    /// Returns the path that the text stands for in a domain.
    ///
    /// 1. If a key of exactly this text exists, the text is that key.
    /// 2. Otherwise, the longest prefix before a dot that is the key of an array or dictionary is the key, and the rest
    ///    is a path into its value.
    /// 3. Otherwise, the text is a key.
    ///
    /// If the text contains an escaped dot or backslash, `\.` or `\\`, rule 1 doesn't apply, and in rule 3 the
    /// unescaped dots separate components.
    package func path(in values: DomainValues) throws(Failure) -> ValuePath {
        if reading == .literal { return ValuePath(key: text) }
        // Fast path: most keys are not paths.
        if reading == .either, !text.utf8.contains(UInt8(ascii: "\\")) {
            if !text.utf8.contains(UInt8(ascii: ".")) || values[text] != nil { return ValuePath(key: text) }
        }
        let (components, hasEscapes) = Self.components(text)
        guard components.count <= Self.maximumComponents else {
            throw Failure(
                "The key path has \(components.count) components; the limit is \(Self.maximumComponents).", .usage)
        }
        if reading == .path { return ValuePath(key: components[0], steps: components.dropFirst(), isForced: true) }
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

    /// The keys that decide what the text stands for: the text itself, and each part before a dot.
    var candidates: [String] {
        if reading == .literal { return [text] }
        let components = Self.components(text).components
        // Longer paths are refused.
        return [text]
            + components.indices.prefix(Self.maximumComponents).map {
                components[...$0].joined(separator: ".")
            }
    }

    /// Checks that the text doesn't stand for a key and, once that key is deleted, for a value inside another key.
    ///
    /// Otherwise, the same command would delete first the one and then the other.
    func checkForDeletion(in values: DomainValues, of location: DomainLocation) throws(Failure) {
        guard reading == .either, !text.utf8.contains(UInt8(ascii: "\\")), values[text] != nil else { return }
        var others = values
        others[text] = nil
        let path = try path(in: others)
        guard !path.steps.isEmpty, (try? path.value(in: others, of: location)) != nil else { return }
        throw Failure(
            "\"\(text)\" in \(location.name) is a key, and also leads to a value inside \"\(path.key)\"; nothing is "
                + "deleted. Before the domain, put --literal-key for the key, or --key-path for the value, whose path "
                + "is then \"\(path.text)\".", .usage)
    }

    /// The part before the first dot, if the text looks like a path but is treated as a key.
    ///
    /// Text looks like a path if it has an index, or if each part begins with a capital letter. Other keys with dots,
    /// such as `com.apple.mouse.scaling`, are common. Escaped dots are intentional.
    var missingParent: String? {
        if reading != .either || text.utf8.contains(UInt8(ascii: "\\")) { return nil }
        let components = text.split(separator: ".", omittingEmptySubsequences: false)
        guard components.count > 1, let first = components.first, !first.isEmpty else { return nil }
        let hasIndex = components.dropFirst().contains {
            !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
        return hasIndex || components.allSatisfy { $0.first?.isUppercase ?? false } ? String(first) : nil
    }

    /// Returns the components between unescaped dots, without the backslashes of escapes.
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

extension OpenDomain {
    /// Returns the values in effect that decide what a key stands for, or all values if there is no such key.
    func values(
        for key: KeyText, use: String? = "The last good values follow.", consequence: String = ""
    ) throws -> DomainValues {
        let found = try backend.snapshot(of: domain, keys: key.candidates)
        guard found.damage == nil, let path = try? key.path(in: found.values), found.values[path.key] != nil else {
            return try values(use, consequence: consequence)
        }
        return found.values
    }
}
