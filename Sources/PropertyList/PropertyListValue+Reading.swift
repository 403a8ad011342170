extension PropertyListValue {
    /// Reads a property list in any format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - limits: The limits on the document's size, depth and number of values.
    /// - Throws: A `PropertyListError` that describes the problem and its position.
    public init(parsing bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()) throws(PropertyListError) {
        self = try Self.read(bytes, limits: limits).value
    }

    /// Reads a property list in any format from a buffer.
    ///
    /// - Parameters:
    ///   - bytes: The whole document; the returned value doesn't refer to this memory.
    ///   - limits: The limits on the document's size, depth and number of values.
    /// - Throws: A `PropertyListError` that describes the problem and its position.
    public init(
        parsing bytes: UnsafeRawBufferPointer, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        self = try Self.read(bytes, limits: limits).value
    }

    /// Reads a property list and returns it with its format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - limits: The limits on the document's size, depth and number of values.
    /// - Returns: The value and the document's format.
    /// - Throws: A `PropertyListError` that describes the problem and its position.
    public static func read(
        _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PropertyListError) in try read(bytes, limits: limits) }
        }
        return try result.get()
    }

    /// Reads a property list from a buffer and returns it with its format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document; the returned value doesn't refer to this memory.
    ///   - limits: The limits on the document's size, depth and number of values.
    /// - Returns: The value and the document's format.
    /// - Throws: A `PropertyListError` that describes the problem and its position.
    public static func read(
        _ bytes: UnsafeRawBufferPointer, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
        let format = PropertyListFormat.detect(bytes)
        return (try read(bytes, as: format, limits: limits), format)
    }

    /// Reads a property list in a known format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - format: The expected format; a document in any other format is an error.
    ///   - limits: The limits on the document's size, depth and number of values.
    /// - Returns: The value.
    /// - Throws: A `PropertyListError` that describes the problem and its position.
    public static func read(
        _ bytes: [UInt8], as format: PropertyListFormat, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> PropertyListValue {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PropertyListError) in try read(bytes, as: format, limits: limits) }
        }
        return try result.get()
    }

    /// Reads a property list in a known format from a buffer.
    ///
    /// - Parameters:
    ///   - bytes: The whole document; the returned value doesn't refer to this memory.
    ///   - format: The expected format; a document in any other format is an error.
    ///   - limits: The limits on the document's size, depth and number of values.
    /// - Returns: The value.
    /// - Throws: A `PropertyListError` that describes the problem and its position.
    public static func read(
        _ bytes: UnsafeRawBufferPointer, as format: PropertyListFormat,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> PropertyListValue {
        try PropertyListDocument.read(bytes, as: format, limits: limits, refusesEquivalentKeys: true).value
    }
}
