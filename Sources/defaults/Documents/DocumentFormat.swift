import ArgumentParser
import PropertyList

/// The formats in which values are written whole.
enum DocumentFormat: String, ExpressibleByArgument, CaseIterable {
    case xml
    case binary
    case oldStyle = "old-style"
    case json

    /// A value as a whole document.
    func document(of value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        switch self {
        case .xml: try value.write(as: .xml)
        case .binary: try value.write(as: .binary)
        case .oldStyle: try value.write(as: .oldStyle)
        case .json: Array((JSONText.of(value) + "\n").utf8)
        }
    }
}
