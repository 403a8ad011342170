import ArgumentParser
import DefaultsCore
import Glibc
import PropertyList

/// `defaults convert input [output]`.
struct Convert: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Writes a property list in another format.",
        discussion: """
            The input may be XML, binary, old-style text or JSON, whatever its name; what is wrong with it is told with its line \
            or byte. The output is written whole or not at all, and may be the input itself.

            Old-style text knows strings, data, arrays and dictionaries; all else becomes a string in it. JSON has data as \
            {"$data": base64} and dates as {"$date": RFC 3339}, and both are read so again.

            EXAMPLES
              defaults convert ~/.config/org.example.editor.plist
              defaults convert --to binary settings.plist settings.plist
              curl -s $URL | defaults convert --to json - | jq .
            """)

    @Option(help: "The format: xml, binary, old-style or json; json for an output named so, else xml.")
    var to: DocumentFormat?
    @Argument(help: "The file, or - for standard input.", completion: .file()) var input: FilePath
    @Argument(help: "The file, or - for standard output, which it is when it is left out.", completion: .file())
    var output: FilePath = "-"

    func run() throws {
        let document = try InputDocument(input)
        let format = to ?? (output.hasSuffix(".json") ? .json : .xml)
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try format.document(of: document.value)
        } catch {
            throw Failure("\(document.name): \(error)", .dataError)
        }
        if output.isStandard, format == .binary, isatty(STDOUT_FILENO) == 1 {
            throw Failure("A binary property list is nothing for a terminal; name a file for it.", .usage)
        }
        try OutputFile.write(bytes, to: output, from: input)
    }
}
