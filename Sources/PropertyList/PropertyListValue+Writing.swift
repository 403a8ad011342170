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

    /// Writes the value as old-style text in which numbers, Booleans and dates keep their types, in GNUstep's form:
    /// `<*I5>`, `<*R1.5>`, `<*BY>`, `<*D2001-01-01 00:00:00 +0000>`.
    ///
    /// Lost are fractions of a second and the width of reals.
    ///
    /// - Returns: The text, in UTF-8.
    /// - Throws: A `PropertyListError` with code `tooDeep`.
    package func writeTypedOldStyle() throws(PropertyListError) -> [UInt8] {
        var writer = OldStyleWriter()
        writer.isTyped = true
        return try writer.write(self)
    }
}
