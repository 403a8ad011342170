import ArgumentParser
import DefaultsCore
import Glibc
import Linux
import Manifests
import PropertyList

/// `defaults export domain file`.
struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a domain to a property list file.",
        discussion: """
            Writes a binary property list to a file, atomically, or XML to standard output. A new file is private, \
            unless its directory is for others: a group's, or one with a default access control list.

            --settings-only leaves out keys that aren't settings for all machines: those that the domain's manifest \
            doesn't describe, or calls machine, noise or sensitive. Such a file is fit for version control, and others \
            may read it if the umask allows. --json-schema writes a JSON Schema of what the manifest allows, for the \
            JSON that `read --json` prints.

            EXAMPLES
              defaults export org.example.editor settings.plist
              defaults export -g - | less
              defaults export --settings-only org.example.editor editor.plist
              defaults export --json-schema org.example.editor - | jq .properties
            """)

    @OptionGroup var location: LocationOptions
    @Flag(help: "Leave out keys that aren't settings for all machines.") var settingsOnly = false
    @Flag(help: "Write a JSON Schema of the domain's manifest.") var jsonSchema = false
    @Argument(help: "The domain, or the path of a file.", completion: Candidates.domain) var domain: String
    @Argument(help: "The output file, or - for standard output.", completion: .file()) var path: FilePath

    func validate() throws {
        if settingsOnly, jsonSchema { throw ValidationError("Use only one of --settings-only and --json-schema.") }
    }

    func run() throws {
        let domain = try location.open(domain)
        if try isOwnFile(of: domain) {
            throw Failure(
                "\(path) is the file of \(domain.location.name) itself. Nothing is exported; name another file.",
                .usage)
        }
        if jsonSchema {
            let manifest = try DomainManifest.required(domain.location.describedName).manifest
            let schema = JSONSchema.of(manifest, domain: domain.domain.name.description)
            return try OutputFile.write(Array("\(schema)\n".utf8), to: path, isForOthers: true)
        }
        let values = try settingsOnly ? Self.settings(of: domain) : domain.values()
        let bytes: [UInt8]
        do throws(PropertyListError) {
            bytes = try PropertyListValue.dictionary(values).write(as: path.isStandard ? .xml : .binary)
        } catch {
            throw Failure("\(error) Export it to a file, or use `read --plist binary`.", .dataError)
        }
        // Without secrets, it is for version control and other machines.
        try OutputFile.write(bytes, to: path, isForOthers: settingsOnly)
        // An export without everything can't be copied back.
        if !settingsOnly { domain.markRead(values) }
    }

    /// Returns the settings for all machines, and reports what is left out.
    private static func settings(of domain: OpenDomain) throws -> DomainValues {
        let manifest = try DomainManifest.required(domain.location.describedName).manifest
        let values = try domain.values()
        let settings = manifest.settings(of: values)
        let omitted = values.keys.filter { settings[$0] != values[$0] }.sorted()
        if !omitted.isEmpty { Failure.report("Left out, at least in part: \(ChangeText.list(omitted)).") }
        return settings
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
