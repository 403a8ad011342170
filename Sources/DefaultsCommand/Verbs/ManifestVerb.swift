import ArgumentParser
import DefaultsCore
import Glibc
import Linux
import Manifests
import PropertyList

/// `defaults manifest check`, `import` and `keys`.
struct ManifestVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifest",
        abstract: "Check manifests, import schemas, and make typed keys.",
        usage: """
            defaults manifest check <file> …
            defaults manifest import [--to <directory>] [--force] <file> …
            defaults manifest keys [--language <language>] <file>
            """,
        discussion: """
            `check` prints each mistake in manifests with its file and key. What can't be used is ignored, and the \
            rest of the manifest applies nevertheless. Entries that aren't used are named on standard error, except \
            with --quiet. The exit status is 65 if there are mistakes.

            `import` reads schemas of GSettings (.gschema.xml) and KConfig (.kcfg), and writes a manifest for each to \
            a directory, by default $XDG_DATA_HOME/defaultsd/manifests. A schema of GSettings is named by its path, as \
            the backend of `defaults gsettings` names it, and a relocatable one by a pattern. Several schemas of one \
            domain become one manifest, and keys that an existing manifest lacks are added to it; those that it has \
            stay as they are, and so do its comments, unless --force replaces the file. Defaults of vendors \
            (.gschema.override) apply if they are beside the schemas, or named. What can't be expressed, and each file \
            that can't be read, is named on standard error; the other files are imported.

            `keys` prints source code with a typed key for each key of a manifest: its default, its documentation, an \
            enumeration for a list of values, and a check of ranges. In Swift, it uses DefaultsKit; the build plugin \
            MakeDefaultsKeys does the same in each build. In Python, it uses the package defaultsd.

            EXAMPLES
              defaults manifest check org.example.editor.plist
              defaults manifest import --to . konsole.kcfg
              defaults manifest keys org.example.editor.plist > EditorKeys.swift
            """)

    enum Action: String, ExpressibleByArgument, CaseIterable {
        case check
        case importing = "import"
        case keys
    }

    enum Language: String, ExpressibleByArgument, CaseIterable { case swift, python }

    @Flag(help: "With check: don't name the entries that aren't used.") var quiet = false
    @Option(
        help: ArgumentHelp("With import: the directory for the manifests.", valueName: "directory"),
        completion: .directory)
    var to: String?
    @Flag(help: "With import: replace existing files.") var force = false
    @Option(help: "With keys: swift (default) or python.") var language: Language?
    @Argument(help: "What to do: check, import or keys.") var action: Action
    @Argument(help: "The files.", completion: .file()) var files: [FilePath]

    func validate() throws {
        if action != .importing, to != nil || force { throw ValidationError("--to and --force are for import.") }
        if action != .keys, language != nil { throw ValidationError("--language is for keys.") }
        if action != .check, quiet { throw ValidationError("--quiet is for check.") }
        if action == .keys, files.count != 1 { throw ValidationError("Name one manifest.") }
    }

    func run() throws {
        switch action {
        case .check: try check()
        case .importing: try importSchemas()
        case .keys: try writeKeys(of: files[0])
        }
    }

    // MARK: Checking

    private func check() throws {
        var count = 0
        for file in files {
            let (problems, unused) = try Self.examine(file)
            count += problems.count
            try StandardOutput.write(problems.map { "\(InputFile.title(file)): \($0)".printable + "\n" }.joined())
            if !quiet, !unused.isEmpty {
                let names = unused.sorted { $0.key < $1.key }.map { name, count in
                    Self.entry(like: name).map { "\(name) (did you mean \($0)?)" }
                        ?? (count == 1 ? name : "\(name) (\(count) times)")
                }
                Failure.report("\(InputFile.title(file)): not used: \(names.joined(separator: ", ")).")
            }
        }
        if count > 0 { throw ExitCode(ExitStatus.dataError.rawValue) }
    }

    /// Returns the entry that a misspelled one may stand for.
    private static func entry(like name: String) -> String? {
        guard name.hasPrefix("pfm_"), name != "pfm_distribution" else { return nil }
        let names = Manifest.entryNames.map { String($0.dropFirst(4)) }
        return Suggestion.of(String(name.dropFirst(4)), among: names).map { "pfm_\($0)" }
    }

    /// Returns the mistakes in a manifest, and how often each entry occurs that isn't used.
    private static func examine(_ file: FilePath) throws -> ([String], [String: Int]) {
        let (manifest, mistakes) = Manifest.read(try InputDocument(file).value)
        var problems = mistakes.map(\.description)
        guard let manifest else { return (problems, [:]) }
        let name = Path.lastName(of: file.description)
        if !file.isStandard, let misnaming = ManifestSet.misnaming(of: manifest, in: name) {
            problems.append(misnaming.description)
        }
        var unused: [String: Int] = [:]
        func count(_ texts: Texts) { for entry in texts.other.keys { unused[entry, default: 0] += 1 } }
        func count(_ keys: [ManifestKey]) {
            for key in keys {
                count(key.texts)
                count(key.subkeys)
            }
        }
        count(manifest.texts)
        count(manifest.root.subkeys)
        return (problems, unused)
    }

    // MARK: Importing

    private func importSchemas() throws {
        guard let directory = to ?? ManifestDirectories(environment: .current).own else {
            throw Failure("There is no home directory; name a directory with --to.", .unavailable)
        }
        if to == nil {
            do throws(SystemCall.Failure) { try Self.makeDirectories(directory) } catch {
                throw Failure("\(directory) can't be created: \(SystemCall.message(error.number)).", .cantCreate)
            }
        }
        try SchemaImport(of: files, to: directory, replacing: force).run()
    }

    private static func makeDirectories(_ path: String) throws(SystemCall.Failure) {
        if access(path, F_OK) == 0 || path == "/" { return }
        try makeDirectories(Path.directory(of: path))
        try NewFile.makeDirectory(path)
    }

    // MARK: Typed keys

    private func writeKeys(of file: FilePath) throws {
        let document = try InputDocument(file)
        let (manifest, mistakes) = Manifest.read(document.value)
        for mistake in mistakes { Failure.report("\(document.name): \(mistake)") }
        guard let manifest else { throw ExitCode(ExitStatus.dataError.rawValue) }
        let name = Path.lastName(of: file.description)
        let domain = manifest.domain ?? (name.hasSuffix(".plist") ? String(name.dropLast(6)) : name)
        let source =
            language == .python
            ? PythonKeys(manifest, of: domain).source() : SwiftKeys(manifest, of: domain).source()
        try StandardOutput.write(source)
    }
}
