extension PropertyListValue {
    /// Returns the result of writing the value in a format and reading it back.
    ///
    /// - Binary preserves every value.
    /// - XML has reals of only one width, so `real32` becomes a `real` with the same value, and all NaNs become the
    ///   same NaN. Dates are rounded down to whole seconds. As in Apple's files, an archive's object number is written
    ///   as the dictionary `{ "CF$UID" = n; }`, so such a dictionary becomes an object number.
    /// - Old style has only strings, data, arrays and dictionaries: Booleans become `1` and `0`, numbers their shortest
    ///   text, dates `2001-01-01 00:00:00 +0000`, and object numbers `{ "CF$UID" = "n"; }`.
    ///
    /// Values that the format can't represent at all are not reported here; only `write(as:)` reports them.
    ///
    /// - Parameter format: The format to write.
    /// - Returns: The value as that format stores it.
    public func asStored(in format: PropertyListFormat) -> PropertyListValue {
        guard format != .binary else { return self }
        switch self {
        case .array(var values):
            for index in values.indices { values[index] = values[index].asStored(in: format) }
            return .array(values)
        case .dictionary(var values):
            for index in values.values.indices { values.values[index] = values.values[index].asStored(in: format) }
            if format == .xml, let number = values.objectNumber { return .uid(number) }
            return .dictionary(values)
        default: return format == .xml ? storedInXML : storedInOldStyle
        }
    }

    private var storedInXML: PropertyListValue {
        switch self {
        case .real(let number): .real(number.isNaN ? .nan : number)
        case .real32(let number): .real(number.isNaN ? .nan : Double(number))
        case .unsigned(let number): .number(number)
        case .date(let date): .date(date.wholeSeconds)
        default: self
        }
    }

    private var storedInOldStyle: PropertyListValue {
        switch self {
        case .integer(let number): .string(String(number))
        case .unsigned(let number): .string(String(number))
        case .real(let number): .string(NumberText.text(number))
        case .real32(let number): .string(NumberText.text(number))
        case .boolean(let flag): .string(flag ? "1" : "0")
        case .date(let date): .string(date.oldStyleText)
        case .uid(let number): .dictionary(["CF$UID": .string(String(number))])
        default: self
        }
    }
}
