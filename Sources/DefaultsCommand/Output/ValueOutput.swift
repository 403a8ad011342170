import PropertyList

/// How a value is printed.
struct ValueOutput {
    /// The format of a whole document; `nil` for text.
    var document: DocumentFormat?
    /// Whether strings and data are printed byte for byte.
    var isRaw = false

    /// Prints a value.
    func show(_ value: PropertyListValue) throws {
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try self.bytes(value)
        } catch {
            throw Failure("\(error) It can be had with --json, or --plist binary.", .dataError)
        }
        try document == nil && !isRaw ? StandardOutput.show(bytes) : StandardOutput.write(bytes)
    }

    private func bytes(_ value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        if let document { return try document.document(of: value) }
        switch value {
        // A string alone is printed as it is.
        case .string(let text): return Array((text + "\n").utf8)
        case .data(let bytes) where isRaw: return bytes
        // In a dictionary a number such as 1.5 has quotes, as only text can be written there; alone it needs none.
        case .integer, .unsigned, .real, .real32, .boolean, .date, .uid:
            return try value.write(as: .oldStyle).filter { $0 != UInt8(ascii: "\"") }
        case .data, .array, .dictionary: return try value.write(as: .oldStyle)
        }
    }
}
