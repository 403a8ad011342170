extension PropertyListValue {
    /// Reads a property list in any of the formats.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - limits: The limits that the document must not exceed.
    /// - Throws: A `PropertyListError` that says where and why.
    public init(parsing bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()) throws(PropertyListError) {
        self = try Self.read(bytes, limits: limits).value
    }

    /// Reads a property list in any of the formats, in place.
    ///
    /// - Parameters:
    ///   - bytes: The whole document; the value keeps no reference to it.
    ///   - limits: The limits that the document must not exceed.
    /// - Throws: A `PropertyListError` that says where and why.
    public init(
        parsing bytes: UnsafeRawBufferPointer, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        self = try Self.read(bytes, limits: limits).value
    }

    /// Reads a property list and returns it with its format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - limits: The limits that the document must not exceed.
    /// - Returns: The value, and the format in which it was written.
    /// - Throws: A `PropertyListError` that says where and why.
    public static func read(
        _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PropertyListError) in try read(bytes, limits: limits) }
        }
        return try result.get()
    }

    /// Reads a property list in place and returns it with its format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document; the value keeps no reference to it.
    ///   - limits: The limits that the document must not exceed.
    /// - Returns: The value, and the format in which it was written.
    /// - Throws: A `PropertyListError` that says where and why.
    public static func read(
        _ bytes: UnsafeRawBufferPointer, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
        let format = PropertyListFormat.detect(bytes)
        return (try read(bytes, as: format, limits: limits), format)
    }

    /// Reads a property list of a known format.
    ///
    /// - Parameters:
    ///   - bytes: The whole document.
    ///   - format: The expected format; a document in any other format is an error.
    ///   - limits: The limits that the document must not exceed.
    /// - Returns: The value.
    /// - Throws: A `PropertyListError` that says where and why.
    public static func read(
        _ bytes: [UInt8], as format: PropertyListFormat, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> PropertyListValue {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(PropertyListError) in try read(bytes, as: format, limits: limits) }
        }
        return try result.get()
    }

    /// Reads a property list of a known format in place.
    ///
    /// - Parameters:
    ///   - bytes: The whole document; the value keeps no reference to it.
    ///   - format: The expected format; a document in any other format is an error.
    ///   - limits: The limits that the document must not exceed.
    /// - Returns: The value.
    /// - Throws: A `PropertyListError` that says where and why.
    public static func read(
        _ bytes: UnsafeRawBufferPointer, as format: PropertyListFormat,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> PropertyListValue {
        try PropertyListDocument.read(bytes, as: format, limits: limits, refusesEquivalentKeys: true).value
    }
}
