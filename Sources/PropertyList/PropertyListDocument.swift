/// A property list read from a file, even if some of its entries can't be represented.
package struct PropertyListDocument: Sendable {
    package let value: PropertyListValue
    package let format: PropertyListFormat
    /// Whether a dictionary, at any depth, has keys that differ only in Unicode normalization.
    ///
    /// In `value`, such keys are a single key with the last one's value, because Swift considers the strings equal.
    package let hasEquivalentKeys: Bool

    /// Reads a property list in any format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - limits: The limits on the document's size, depth and number of values.
    /// - Throws: A `PropertyListError` that describes the problem and its position; equivalent keys are not an error.
    package init(reading bytes: [UInt8], limits: PropertyListLimits) throws(PropertyListError) {
        let format = PropertyListFormat.detect(bytes)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PropertyListError) in
                try Self.read(bytes, as: format, limits: limits, refusesEquivalentKeys: false)
            }
        }
        let (value, hasEquivalentKeys) = try result.get()
        if format != .binary, case .uid(let number) = value {
            // The outermost value of a file is a dictionary with arbitrary keys, never an object number.
            self.value = .dictionary(["CF$UID": .number(number)])
        } else {
            self.value = value
        }
        self.format = format
        self.hasEquivalentKeys = hasEquivalentKeys
    }

    static func read(
        _ bytes: UnsafeRawBufferPointer, as format: PropertyListFormat, limits: PropertyListLimits,
        refusesEquivalentKeys: Bool
    ) throws(PropertyListError) -> (value: PropertyListValue, hasEquivalentKeys: Bool) {
        guard bytes.count <= limits.bytes else {
            throw PropertyListError(
                code: .tooLarge, format: format, position: PropertyListError.Position(byteOffset: limits.bytes),
                message: "the input has \(bytes.count) bytes, more than the limit of \(limits.bytes)")
        }
        guard format != .binary else {
            do throws(ReadingFailure) {
                return try BinaryReader.read(
                    bytes, limits: limits, refusesEquivalentKeys: refusesEquivalentKeys)
            } catch {
                throw PropertyListError(
                    code: error.code, format: format,
                    position: PropertyListError.Position(byteOffset: error.offset), message: error.message)
            }
        }
        let text = try TextSource.open(bytes, format: format)
        // Keep the text alive: the compiler can't see that the reader points into it.
        defer { withExtendedLifetime(text) {} }
        do throws(ReadingFailure) {
            guard format == .xml else {
                return try OldStyleReader.read(
                    text.utf8, limits: limits, refusesEquivalentKeys: refusesEquivalentKeys)
            }
            return try XMLReader.read(text.utf8, limits: limits, refusesEquivalentKeys: refusesEquivalentKeys)
        } catch {
            throw text.error(error)
        }
    }
}
