extension PropertyListValue {
    /// Writes the value as a whole document.
    ///
    /// The same value always produces the same bytes: dictionaries are sorted by the UTF-8 of their keys.
    ///
    /// - Parameter format: The format to write. Reading the result back gives `asStored(in: format)`.
    /// - Returns: The document; text is UTF-8 and ends with a newline.
    /// - Throws: A `PropertyListError`. Its code is `unrepresentable`, with the key path, if the format can't represent
    ///   a value (XML: control characters, years outside 0 to 9999; binary can represent everything). It is `tooDeep`
    ///   if containers are nested more than 512 levels deep, which readers would refuse.
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

    /// Writes the value as old-style text in GNUstep's form, in which numbers, Booleans and dates keep their types.
    ///
    /// Examples are `<*I5>`, `<*R1.5>`, `<*BY>` and `<*D2001-01-01 00:00:00 +0000>`. Fractions of a second and the
    /// width of reals are lost.
    ///
    /// - Returns: The text, in UTF-8.
    /// - Throws: A `PropertyListError` with code `tooDeep`.
    package func writeTypedOldStyle() throws(PropertyListError) -> [UInt8] {
        var writer = OldStyleWriter()
        writer.isTyped = true
        return try writer.write(self)
    }
}
