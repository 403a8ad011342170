import DefaultsCore
import PropertyList

/// A domain as text for an editor, and what a person made of it.
struct EditableText {
    /// The text as it is shown first.
    let bytes: [UInt8]
    /// What that text says: a little less than the domain, where a format loses something.
    private let shown: DomainValues
    /// The values as they are.
    private let original: DomainValues

    /// Writes a domain's values down.
    ///
    /// - Parameters:
    ///   - values: the values.
    ///   - title: what the domain is called, and where it is.
    ///   - isXML: whether to write XML, and not old-style text.
    /// - Throws: when the format can't express a value.
    init(_ values: DomainValues, title: String, isXML: Bool) throws(Failure) {
        do throws(PropertyListError) {
            let value = PropertyListValue.dictionary(values)
            bytes = isXML ? try value.write(as: .xml) : Self.introduction(title) + (try value.writeTypedOldStyle())
        } catch {
            throw Failure("\(title) can't be shown as text: \(error)", .dataError)
        }
        shown = try Self.values(in: bytes, of: title)
        original = values
    }

    /// The keys that a person has changed, with their new values.
    ///
    /// A key that reads as it was shown is none, so that what the text can't tell of it is kept; and so is what reads as
    /// it was shown inside a value that was changed.
    func changes(in edited: [UInt8], at path: String) throws(Failure) -> Difference {
        var changes = Difference(from: shown, to: try Self.values(in: edited, of: path), readFrom: .binary)
        for case (let key, let value?) in changes {
            changes[key] = .some(Self.merged(value, shown[key], original[key]))
        }
        return changes
    }

    /// An edited value with the originals of all that was left as it was shown.
    private static func merged(
        _ edited: PropertyListValue, _ shown: PropertyListValue?, _ original: PropertyListValue?
    ) -> PropertyListValue {
        if let original, edited == shown { return original }
        switch (edited, shown, original) {
        case (.dictionary(let entries), .dictionary(let shown)?, .dictionary(let original)?):
            var merged = entries
            for (key, value) in entries { merged[key] = Self.merged(value, shown[key], original[key]) }
            return .dictionary(merged)
        // Where elements were added or removed nobody can tell which is which.
        case (.array(let elements), .array(let shown)?, .array(let original)?)
        where elements.count == shown.count && elements.count == original.count:
            return .array(elements.indices.map { Self.merged(elements[$0], shown[$0], original[$0]) })
        default: return edited
        }
    }

    private static func values(in bytes: [UInt8], of name: String) throws(Failure) -> DomainValues {
        let value: PropertyListValue
        do throws(PropertyListError) {
            value = try PropertyListValue(parsing: bytes, limits: Frame.requestLimits)
        } catch {
            throw Failure("\(name): \(error)", .dataError)
        }
        guard case .dictionary(let values) = value else {
            throw Failure("\(name), line 1: the text holds no dictionary, { key = value; }.", .dataError)
        }
        // Who empties the text, or leaves nothing but the comment, hardly means to remove every key.
        let lines = bytes.split(separator: UInt8(ascii: "\n")).filter { !$0.starts(with: "//".utf8) }
        guard !values.isEmpty || lines.contains(where: { $0.contains(where: "{<".utf8.contains) }) else {
            throw Failure("\(name), line 1: the text is empty; write {} to remove all keys.", .dataError)
        }
        return values
    }

    private static func introduction(_ title: String) -> [UInt8] {
        let lines = [
            title.printable,
            "Save this and end the editor to set what you have changed; all other keys are left alone.",
            "<*I5> is an integer, <*R1.5> a real, <*BY> and <*BN> are true and false, <0a0b> is data,",
            "<*D2001-01-01 00:00:00 +0000> is a date.",
        ]
        return Array(lines.map { "// \($0)\n" }.joined().utf8)
    }
}
