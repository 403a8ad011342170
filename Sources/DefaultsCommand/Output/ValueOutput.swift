import ArgumentParser
import PropertyList

/// The format of a printed value.
struct ValueOutput {
    /// The format of a complete document; `nil` for text.
    var document: DocumentFormat?
    /// Whether data is printed byte for byte, and text is not escaped on a terminal.
    var isRaw = false

    /// Prints a value.
    func show(_ value: PropertyListValue) throws {
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try self.bytes(value)
        } catch {
            throw Failure("\(error) Use --json or --plist binary.", .dataError)
        }
        try document == nil && !isRaw ? StandardOutput.show(bytes) : StandardOutput.write(bytes)
    }

    /// Returns a value as text, without the final line break.
    func text(_ value: PropertyListValue) throws(PropertyListError) -> String {
        let bytes = try bytes(value)
        return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
    }

    private func bytes(_ value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        if let document { return try document.document(of: value) }
        switch value {
        // A top-level string is printed as it is.
        case .string(let text): return Array((text + "\n").utf8)
        case .data(let bytes) where isRaw: return bytes
        // Inside a container, old-style text has to quote a number such as 1.5; at the top level it needs no quotes.
        case .integer, .unsigned, .real, .real32, .boolean, .date, .uid:
            return try value.write(as: .oldStyle).filter { $0 != UInt8(ascii: "\"") }
        case .data, .array, .dictionary: return try value.write(as: .oldStyle)
        }
    }
}

/// The options that choose the output format of a value.
struct ValueFormat: ParsableArguments {
    /// The formats of `--plist`.
    enum File: String, ExpressibleByArgument, CaseIterable {
        case xml
        case binary

        var format: DocumentFormat { self == .xml ? .xml : .binary }
    }

    @Flag(help: "Print JSON.") var json = false
    @Option(help: ArgumentHelp("Print a property list: xml or binary.", valueName: "format")) var plist: File?
    @Flag(help: "Print data as raw bytes, and other values as text.") var raw = false

    func validate() throws {
        if [json, plist != nil, raw].count(where: \.self) > 1 {
            throw ValidationError("Use only one of --json, --plist and --raw.")
        }
    }

    /// The format that the options choose.
    var output: ValueOutput { ValueOutput(document: json ? .json : plist?.format, isRaw: raw) }
}

/// The formats of a complete output document.
enum DocumentFormat: String, ExpressibleByArgument, CaseIterable {
    case xml
    case binary
    case oldStyle = "old-style"
    case json

    /// Reads the name of a format, or plutil's name for it.
    init?(argument: String) {
        switch argument {
        case "xml1": self = .xml
        case "binary1": self = .binary
        default: self.init(rawValue: argument)
        }
    }

    /// Returns a value as a complete document.
    func document(of value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        switch self {
        case .xml: try value.write(as: .xml)
        case .binary: try value.write(as: .binary)
        case .oldStyle: try value.write(as: .oldStyle)
        case .json: Array((JSONText.of(value) + "\n").utf8)
        }
    }
}
