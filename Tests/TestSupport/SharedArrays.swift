/// Builds a binary property list, `{ a = … }`, of arrays that each refer to the next one several times, so that a few
/// bytes represent many values.
///
/// - Parameters:
///   - width: The number of references from each array to the next one, at most 14.
///   - levels: The number of arrays. The last one holds Booleans.
/// - Returns: The document.
package func sharedArrays(width: Int, levels: Int) -> [UInt8] {
    let containers = (0..<levels).map { level -> [UInt8] in
        [0xA0 | UInt8(width)] + [UInt8](repeating: UInt8(level + 3), count: width)
    }
    let objects: [[UInt8]] = [[0xD1, 1, 2], [0x51, 0x61]] + containers + [[0x09]]
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
        offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        bytes += object
    }
    let numbers = [objects.count, 0, bytes.count]
    bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 1]
    for number in numbers {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
    return bytes
}
