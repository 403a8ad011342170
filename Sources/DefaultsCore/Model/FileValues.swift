import PropertyList

/// The values of a domain's file, which may stay the file's bytes until they are needed.
///
/// Most domains of a large directory are never used, and bytes take a fraction of the memory of values. They were
/// parsed once, when the file was read, so a damaged file has been found by then, and parsing them again can't fail.
///
/// Every access to `values` parses the bytes, and nothing is kept, so that values can be read under a shared lock or
/// copied to another thread. Code that needs the values more than once calls `parse()` first, or keeps a copy.
package struct FileValues: Sendable {
    private enum Form {
        case parsed(DomainValues)
        case bytes([UInt8], isEmpty: Bool)
    }

    private var form: Form

    /// Creates values that are parsed.
    package init(_ values: DomainValues) {
        form = .parsed(values)
    }

    /// Creates values that stay bytes.
    ///
    /// - Parameters:
    ///   - bytes: A property list whose outermost value is a dictionary.
    ///   - values: That dictionary, which shows that the bytes have been parsed; it isn't kept.
    init(bytes: [UInt8], parsedAs values: DomainValues) {
        form = .bytes(bytes, isEmpty: values.isEmpty)
    }

    /// The values by key.
    package var values: DomainValues {
        get {
            switch form {
            case .parsed(let values): values
            case .bytes(let bytes, _): Self.parse(bytes)
            }
        }
        _modify {
            var values = values
            // Hold the only reference, so that a change doesn't copy all values.
            form = .parsed([:])
            defer { form = .parsed(values) }
            yield &values
        }
    }

    /// Whether there are no values; this doesn't parse anything.
    var isEmpty: Bool {
        switch form {
        case .parsed(let values): values.isEmpty
        case .bytes(_, let isEmpty): isEmpty
        }
    }

    /// Whether the values are still bytes.
    var areBytes: Bool { if case .bytes = form { true } else { false } }

    /// Moves bytes to newly allocated memory.
    ///
    /// Parsing leaves much free memory around the bytes, which can't be given back to the system as long as they are
    /// there.
    func moved() -> FileValues {
        guard case .bytes(let bytes, let isEmpty) = form else { return self }
        var copy = self
        copy.form = .bytes(bytes.withUnsafeBufferPointer { Array($0) }, isEmpty: isEmpty)
        return copy
    }

    /// Replaces bytes by the values in them.
    mutating func parse() {
        if case .bytes(let bytes, _) = form { form = .parsed(Self.parse(bytes)) }
    }

    private static func parse(_ bytes: [UInt8]) -> DomainValues {
        // The limits have been checked, and don't change the result of a document that keeps them.
        let limits = PropertyListLimits(depth: .max, bytes: .max, objects: .max)
        guard let document = try? PropertyListDocument(reading: bytes, limits: limits),
            case .dictionary(let values) = document.value
        else { preconditionFailure("These bytes have been parsed before.") }
        return values
    }
}

extension FileValues: Hashable {
    package static func == (first: Self, second: Self) -> Bool { first.values == second.values }

    package func hash(into hasher: inout Hasher) { hasher.combine(values) }
}
