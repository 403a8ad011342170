import PropertyList

/// Returns the bytes of an XML document with a body inside `<plist>`.
func xml(_ body: String) -> [UInt8] {
    Array("<plist version=\"1.0\">\(body)</plist>".utf8)
}

/// Reads a text document.
func parse(_ text: String) throws(PropertyListError) -> PropertyListValue {
    try PropertyListValue(parsing: Array(text.utf8))
}

/// Returns the error that reading throws; `nil` if there is none.
func errorOfReading(
    _ bytes: [UInt8], limits: PropertyListLimits = PropertyListLimits()
) -> PropertyListError? {
    do throws(PropertyListError) {
        _ = try PropertyListValue(parsing: bytes, limits: limits)
        return nil
    } catch {
        return error
    }
}

/// Returns a binary property list of objects, with references of one byte; the first object is the outermost one.
func binary(_ objects: [[UInt8]]) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
        offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        bytes += object
    }
    let table = bytes.count
    bytes += offsets
    bytes += [0, 0, 0, 0, 0, 0, 2, 1]
    bytes += bigEndian(UInt64(objects.count)) + bigEndian(0) + bigEndian(UInt64(table))
    return bytes
}

func bigEndian(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - 8 * $0)) }
}
