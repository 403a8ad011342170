import ArgumentParser
import DefaultsCore
import Glibc
import Linux
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
        if try isOwnFile(of: domain) {
            throw Failure(
                "\(path) is the file of \(domain.location.name) itself. Nothing is exported; name another file.",
                .usage)
        }
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

    /// Returns whether the output file is the domain's file, which need not exist yet.
    private func isOwnFile(of open: OpenDomain) throws -> Bool {
        if path.isStandard { return false }
        let own = FilePath(try open.choice.directory(of: open.location).path(of: open.domain))
        func status(_ path: FilePath) -> FileStatus? { try? FileStatus(at: path.cString) }
        if let output = status(path), let file = status(own) { return output.isSame(as: file) }
        guard path.name == own.name, let output = status(path.directory), let file = status(own.directory) else {
            return false
        }
        return output.isSame(as: file)
    }
}
