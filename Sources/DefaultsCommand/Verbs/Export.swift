import ArgumentParser
import DefaultsCore
import PropertyList

/// `defaults export domain file`.
struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a domain to a property list file.",
        discussion: """
            Writes a binary property list to a file, atomically, or XML to standard output.

            EXAMPLES
              defaults export org.example.editor settings.plist
              defaults export -g - | less
            """)

    @OptionGroup var location: LocationOptions
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The output file, or - for standard output.", completion: .file()) var path: FilePath

    func run() throws {
        let domain = try location.open(domain)
        let values = try domain.values()
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try PropertyListValue.dictionary(values).write(as: path.isStandard ? .xml : .binary)
        } catch {
            throw Failure("\(error) Export it to a file, or use `read --plist binary`.", .dataError)
        }
        try OutputFile.write(bytes, to: path)
        domain.markRead(values)
    }
}
