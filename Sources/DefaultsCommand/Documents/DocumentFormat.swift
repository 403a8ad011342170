import ArgumentParser
import PropertyList

/// The formats in which values are written whole.
enum DocumentFormat: String, ExpressibleByArgument, CaseIterable {
    case xml
    case binary
    case oldStyle = "old-style"
    case json

    /// Takes plutil's names too.
    init?(argument: String) {
        switch argument {
        case "xml1": self = .xml
        case "binary1": self = .binary
        default: self.init(rawValue: argument)
        }
    }

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
