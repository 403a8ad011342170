/// A writer of binary property lists that, like Apple's, writes equal scalars once and numbers in as few bytes as
/// possible.
///
/// Unlike Apple's, it sorts dictionaries, so that equal values produce equal bytes, and it never merges numbers of
/// different types. Containers come after all scalars, because the size of a reference depends on the number of
/// objects.
struct BinaryWriter: ~Copyable {
    private var output = MoveStack<UInt8>(minimumCapacity: 4096)
    private var offsets: [Int] = []
    /// The scalars written so far.
    private var written = ScalarIndex()
    private var stack = WriterStack(format: .binary)
    private var containers: [Container] = []
    /// For each open container, its index in `containers`.
    private var open: [Int] = []
    /// The references of all containers, one container after another.
    private var references: [Int] = []

    private struct Container {
        var object: Int
        var isDictionary: Bool
        var firstReference: Int
        var count: Int
    }

    init() {
        // These capacities suffice for most documents and messages.
        offsets.reserveCapacity(64)
        references.reserveCapacity(64)
        containers.reserveCapacity(4)
        open.reserveCapacity(4)
    }

    mutating func write(_ value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        output.append(text: BinaryTrailer.header)
        _ = try object(for: value)
        while let last = open.last {
            guard let value = stack.next() else {
                stack.close()
                open.removeLast()
                continue
            }
            let container = containers[last]
            let position = container.firstReference + stack.position - 1
            references[position + (container.isDictionary ? container.count : 0)] = try object(for: value)
        }
        finish()
        return [UInt8](output.elements)
    }

    /// Writes a scalar or begins a container, and returns its object number.
    private mutating func object(for value: PropertyListValue) throws(PropertyListError) -> Int {
        switch value {
        case .array(let values):
            try stack.open(values)
            return begin(count: values.count)
        case .dictionary(let values):
            try stack.open(values)
            return begin(count: values.count)
        default: return scalar { $0.append(value) }
        }
    }

    private mutating func begin(count: Int) -> Int {
        let object = offsets.count
        let isDictionary = stack.isInDictionary
        offsets.append(0)
        open.append(containers.count)
        containers.append(
            Container(object: object, isDictionary: isDictionary, firstReference: references.count, count: count))
        references.append(contentsOf: repeatElement(0, count: isDictionary ? 2 * count : count))
        guard isDictionary else { return object }
        let first = references.count - 2 * count
        for index in 0..<count { references[first + index] = scalar { $0.append($0.stack.key(at: index)) } }
        return object
    }

    // MARK: Scalars

    /// Encodes a scalar as an object; returns `nil` for a container.
    static func scalar(_ value: PropertyListValue) -> [UInt8]? {
        switch value {
        case .array, .dictionary: return nil
        default:
            var writer = BinaryWriter()
            writer.append(value)
            return [UInt8](writer.output.elements)
        }
    }

    @inline(__always)
    private mutating func scalar(_ append: (inout BinaryWriter) -> Void) -> Int {
        let position = output.count
        append(&self)
        let object = offsets.count
        if let known = written.find(in: output.elements, from: position, as: object, offsets: offsets) {
            output.drop(after: position)
            return known
        }
        offsets.append(position)
        return object
    }

    private mutating func append(_ value: PropertyListValue) {
        switch value {
        case .string(let string): append(string)
        case .integer(let number): append(integer: number)
        case .unsigned(let number): append(unsigned: number)
        case .real(let number):
            output.append(0x23)
            output.append(bigEndian: number.bitPattern, size: 8)
        case .real32(let number):
            output.append(0x22)
            output.append(bigEndian: UInt64(number.bitPattern), size: 4)
        case .boolean(let flag): output.append(flag ? 0x09 : 0x08)
        case .date(let date):
            output.append(0x33)
            output.append(bigEndian: date.secondsSinceReferenceDate.bitPattern, size: 8)
        case .data(let bytes):
            append(marker: 0x40, count: bytes.count)
            output.append(bytes[...])
        case .uid(let number):
            let size = Self.size(of: number)
            output.append(0x80 | UInt8(size - 1))
            output.append(bigEndian: number, size: size)
        case .array, .dictionary: break
        }
    }

    private mutating func append(_ string: String) {
        string.withBytes { append($0) }
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard UTF8Validation.firstNonASCII(in: text) != nil else {
            append(marker: 0x50, count: text.count)
            return output.append(text)
        }
        let units = String(decoding: text, as: UTF8.self).utf16
        append(marker: 0x60, count: units.count)
        for unit in units {
            output.append(UInt8(truncatingIfNeeded: unit >> 8))
            output.append(UInt8(truncatingIfNeeded: unit))
        }
    }

    private mutating func append(integer number: Int64) {
        Self.append(integer: number, to: &output)
    }

    private static func append(integer number: Int64, to output: inout MoveStack<UInt8>) {
        // Negative numbers need eight bytes, because shorter integers are unsigned.
        let pattern = UInt64(bitPattern: number)
        let size = size(of: pattern)
        output.append(0x10 | UInt8(size.trailingZeroBitCount))
        output.append(bigEndian: pattern, size: size)
    }

    private mutating func append(unsigned number: UInt64) {
        guard number > UInt64(Int64.max) else { return append(integer: Int64(truncatingIfNeeded: number)) }
        output.append(0x14)
        output.append(bigEndian: 0, size: 8)
        output.append(bigEndian: number, size: 8)
    }

    private mutating func append(marker: UInt8, count: Int) {
        Self.append(marker: marker, count: count, to: &output)
    }

    static func append(marker: UInt8, count: Int, to output: inout MoveStack<UInt8>) {
        guard count >= 15 else { return output.append(marker | UInt8(count)) }
        output.append(marker | 0x0F)
        append(integer: Int64(count), to: &output)
    }

    /// Returns the smallest size that can hold the number: 1, 2, 4 or 8 bytes.
    private static func size(of number: UInt64) -> Int {
        switch number {
        case 0...0xFF: 1
        case 0...0xFFFF: 2
        case 0...0xFFFF_FFFF: 4
        default: 8
        }
    }

    // MARK: Finishing

    private mutating func finish() {
        let referenceSize = Self.size(of: UInt64(offsets.count))
        for container in containers {
            offsets[container.object] = output.count
            append(marker: container.isDictionary ? 0xD0 : 0xA0, count: container.count)
            let count = container.isDictionary ? 2 * container.count : container.count
            for index in container.firstReference..<(container.firstReference + count) {
                output.append(bigEndian: UInt64(references[index]), size: referenceSize)
            }
        }
        Self.finish(&output, offsets: offsets, topObject: 0, referenceSize: referenceSize)
    }

    /// Appends the offset table and the trailer.
    static func finish(_ output: inout MoveStack<UInt8>, offsets: [Int], topObject: Int, referenceSize: Int) {
        let tableOffset = output.count
        let offsetSize = size(of: UInt64(tableOffset))
        for offset in offsets { output.append(bigEndian: UInt64(offset), size: offsetSize) }
        output.append(0, count: 6)
        output.append(UInt8(offsetSize))
        output.append(UInt8(referenceSize))
        output.append(bigEndian: UInt64(offsets.count), size: 8)
        output.append(bigEndian: UInt64(topObject), size: 8)
        output.append(bigEndian: UInt64(tableOffset), size: 8)
    }
}
