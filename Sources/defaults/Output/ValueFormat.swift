import ArgumentParser
import PropertyList

/// How a value is printed.
struct ValueFormat: ParsableArguments {
    /// The formats of `--plist`.
    enum File: String, ExpressibleByArgument, CaseIterable {
        case xml
        case binary

        var format: DocumentFormat { self == .xml ? .xml : .binary }
    }

    @Flag(help: "Prints JSON.") var json = false
    @Option(help: "Prints a property list: xml or binary.") var plist: File?
    @Flag(help: "Prints a string or data as it is, byte for byte, and anything else as text.") var raw = false

    func validate() throws {
        if [json, plist != nil, raw].count(where: \.self) > 1 {
            throw ValidationError("Only one of --json, --plist and --raw can be had.")
        }
    }

    /// Prints a value.
    func show(_ value: PropertyListValue) throws {
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try self.bytes(value)
        } catch {
            throw Failure("\(error) It can be had with --json, or --plist binary.", .dataError)
        }
        try StandardOutput.write(bytes)
    }

    private func bytes(_ value: PropertyListValue) throws(PropertyListError) -> [UInt8] {
        if let format = json ? .json : plist?.format { return try format.document(of: value) }
        switch value {
        // A string alone is printed as it is.
        case .string(let text): return Array((text + "\n").utf8)
        case .data(let bytes) where raw: return bytes
        // In a dictionary a number such as 1.5 has quotes, as only text can be written there; alone it needs none.
        case .integer, .unsigned, .real, .real32, .boolean, .date, .uid:
            return try value.write(as: .oldStyle).filter { $0 != UInt8(ascii: "\"") }
        case .data, .array, .dictionary: return try value.write(as: .oldStyle)
        }
    }
}
