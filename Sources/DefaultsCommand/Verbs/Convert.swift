import ArgumentParser
import DefaultsCore
import Glibc
import PropertyList

/// `defaults convert input [output]`.
struct Convert: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Convert a property list to another format.",
        discussion: """
            The input may be XML, binary, old-style text or JSON; its name doesn't matter. The output is written \
            atomically and may replace the input.

            Old-style text has only strings, data, arrays and dictionaries; other values become strings. In JSON, data \
            is {"$data": "<base64>"} and a date is {"$date": "<RFC 3339>"}; a dictionary with only the key $data is \
            {"$$data": …}.

            EXAMPLES
              defaults convert ~/.config/org.example.editor.plist
              defaults convert --to binary settings.plist settings.plist
              curl -s $URL | defaults convert --to json - | jq .
            """)

    @Option(
        help: ArgumentHelp(
            "The format: xml, binary, old-style or json (default: json for a .json file, else xml).",
            valueName: "format"))
    var to: DocumentFormat?
    @Argument(help: "The input file, or - for standard input.", completion: .file()) var input: FilePath
    @Argument(help: "The output file, or - for standard output.", completion: .file())
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
            throw Failure("Refusing to write a binary property list to a terminal. Name an output file.", .usage)
        }
        try OutputFile.write(bytes, to: output, from: input)
    }
}
