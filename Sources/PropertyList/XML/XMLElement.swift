/// The elements of an XML property list.
enum XMLElement: String, CustomStringConvertible {
    case plist, dict, array, key, string, integer, real, date, data
    case yes = "true"
    case no = "false"

    /// The element's name.
    var description: String { rawValue }

    /// Finds the element by its name's bytes.
    @inline(__always)
    init?(name: UnsafeBufferPointer<UInt8>) {
        func matches(_ text: StaticString) -> Bool {
            for index in 0..<text.utf8CodeUnitCount where name[index] != text.utf8Start[index] { return false }
            return true
        }
        switch name.count {
        case 3 where matches("key"): self = .key
        case 6 where matches("string"): self = .string
        case 7 where matches("integer"): self = .integer
        case 4 where matches("dict"): self = .dict
        case 4 where matches("true"): self = .yes
        case 4 where matches("real"): self = .real
        case 4 where matches("date"): self = .date
        case 4 where matches("data"): self = .data
        case 5 where matches("array"): self = .array
        case 5 where matches("false"): self = .no
        case 5 where matches("plist"): self = .plist
        default: return nil
        }
    }
}
