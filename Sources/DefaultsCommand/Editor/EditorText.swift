import DefaultsCore
import PropertyList

/// A domain as text for an editor, and the comparison with the edited text.
struct EditorText {
    /// The text before editing.
    let bytes: [UInt8]
    /// The values that parsing `bytes` yields; they differ from `original` if the format loses something.
    private let shown: DomainValues
    /// The domain's values.
    private let original: DomainValues

    /// Creates the text of a domain's values.
    ///
    /// - Parameters:
    ///   - values: The domain's values.
    ///   - title: The domain's name and file, for the introduction and messages.
    ///   - isXML: Whether to write XML instead of old-style text.
    /// - Throws: If the format can't express a value.
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

    /// Returns the keys that the user changed, with their new values.
    ///
    /// A value that reads the same as before counts as unchanged, so that details that the text can't express are
    /// preserved. The same applies to the unchanged parts of a changed value.
    func changes(in edited: [UInt8], at path: String) throws(Failure) -> Difference {
        var changes = Difference(from: shown, to: try Self.values(in: edited, of: path), readFrom: .binary)
        for case (let key, let value?) in changes {
            changes[key] = .some(Self.merged(value, shown: shown[key], original: original[key]))
        }
        return changes
    }

    /// Returns an edited value in which every unchanged part is replaced by its original.
    private static func merged(
        _ edited: PropertyListValue, shown: PropertyListValue?, original: PropertyListValue?
    ) -> PropertyListValue {
        if let original, edited == shown { return original }
        switch (edited, shown, original) {
        case (.dictionary(let entries), .dictionary(let shown)?, .dictionary(let original)?):
            var merged = entries
            for (key, value) in entries { merged[key] = Self.merged(value, shown: shown[key], original: original[key]) }
            return .dictionary(merged)
        // If elements were added or removed, the rest can't be matched reliably.
        case (.array(let elements), .array(let shown)?, .array(let original)?)
        where elements.count == shown.count && elements.count == original.count:
            return .array(elements.indices.map { Self.merged(elements[$0], shown: shown[$0], original: original[$0]) })
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
            throw Failure("\(name), line 1: the text is not a dictionary, { key = value; }.", .dataError)
        }
        // Text that is empty or has only comments is probably a mistake, not a request to remove every key.
        let lines = bytes.split(separator: UInt8(ascii: "\n")).filter { !$0.starts(with: "//".utf8) }
        guard !values.isEmpty || lines.contains(where: { $0.contains(where: "{<".utf8.contains) }) else {
            throw Failure("\(name), line 1: the text is empty; write {} to remove all keys.", .dataError)
        }
        return values
    }

    private static func introduction(_ title: String) -> [UInt8] {
        let lines = [
            title.printable,
            "To apply your changes, save this file and quit the editor. Other keys keep their values.",
            "<*I5> is an integer, <*R1.5> a real, <*BY> and <*BN> are true and false, <0a0b> is data,",
            "<*D2001-01-01 00:00:00 +0000> is a date.",
        ]
        return Array(lines.map { "// \($0)\n" }.joined().utf8)
    }
}
