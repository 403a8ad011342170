import ArgumentParser
import DefaultsCore
import PropertyList

/// `defaults export domain file`.
struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes a domain to a file, as a property list.",
        discussion: """
            A file becomes a binary property list, written whole or not at all; standard output gets XML.

            EXAMPLES
              defaults export org.example.editor settings.plist
              defaults export -g - | less
            """)

    @OptionGroup var place: PlaceOptions
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The file, or - for standard output.", completion: .file()) var path: FilePath

    func run() throws {
        let values = try place.open(domain).values()
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try PropertyListValue.dictionary(values).write(as: path.isStandard ? .xml : .binary)
        } catch {
            throw Failure("\(error) It can be exported to a file, or had with `read --plist binary`.", .dataError)
        }
        try OutputFile.write(bytes, to: path)
    }
}
