import ArgumentParser

/// The options that say how a value is printed.
struct ValueFormat: ParsableArguments {
    /// The formats of `--plist`.
    enum File: String, ExpressibleByArgument, CaseIterable {
        case xml
        case binary

        var format: DocumentFormat { self == .xml ? .xml : .binary }
    }

    @Flag(help: "Prints JSON.") var json = false
    @Option(help: "Prints a property list: xml or binary.") var plist: File?
    @Flag(help: "Prints data as it is, byte for byte, and anything else as text.") var raw = false

    func validate() throws {
        if [json, plist != nil, raw].count(where: \.self) > 1 {
            throw ValidationError("Only one of --json, --plist and --raw can be had.")
        }
    }

    /// How values are printed then.
    var output: ValueOutput { ValueOutput(document: json ? .json : plist?.format, isRaw: raw) }
}
