extension PropertyListValue {
    /// Writes the value as a whole document.
    ///
    /// The same value always gives the same bytes: dictionaries are written in the order of their keys' UTF-8.
    ///
    /// - Parameter format: How to write it. What comes back on reading is `asStored(in: format)`.
    /// - Returns: The document; text is UTF-8 and ends with a newline.
    /// - Throws: A `PropertyListError` with code `unrepresentable` and the key path when the format can't express a
    ///   value (XML: control characters, years beyond 9999; binary can express all), or `tooDeep` when more than 512
    ///   containers are nested, which readers would refuse.
    public func write(as format: PropertyListFormat) throws(PropertyListError) -> [UInt8] {
        switch format {
        case .xml:
            var writer = XMLWriter()
            return try writer.write(self)
        case .binary:
            var writer = BinaryWriter()
            return try writer.write(self)
        case .oldStyle:
            var writer = OldStyleWriter()
            return try writer.write(self)
        }
    }
}
