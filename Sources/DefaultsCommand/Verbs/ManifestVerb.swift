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
            a directory, by default $XDG_DATA_HOME/defaultsd/manifests. Several schemas of one domain become one \
            manifest, and keys that an existing manifest lacks are added to it; those that it has stay as they are, \
            unless --force replaces the file. Defaults of vendors (.gschema.override) apply if they are beside the \
            schemas, or named. What can't be expressed, and each file that can't be read, is named on standard \
            error; the other files are imported.

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
        var status: ExitStatus?
        var reported: Set<String> = []
        func attempt(_ body: () throws -> Void) throws {
            do { try body() } catch let failure as Failure {
                // A file of vendors' defaults may be named, and also be beside a schema.
                if reported.insert(failure.message).inserted { Failure.report(failure.message) }
                status = status ?? failure.status
            }
        }
        let isOverride = { (file: FilePath) in file.description.hasSuffix(Self.overrideSuffix) }
        var overrides: [GSettingsOverride] = []
        for file in files.filter(isOverride) { try attempt { overrides += try Self.overrides(in: file) } }
        // Those in the directories of schemas, by the directories.
        var overridesBeside: [FilePath: [GSettingsOverride]] = [:]
        // Several schemas may describe parts of one file.
        var found: [(name: String, imported: ImportedManifest)] = []
        var domains: Set<String> = []
        for file in files where !isOverride(file) {
            try attempt {
                let root = try Self.document(file)
                if root.name == "schemalist", !file.isStandard, overridesBeside[file.directory] == nil {
                    var beside: [GSettingsOverride] = []
                    try attempt {
                        for path in try Self.overridePaths(beside: file) {
                            try attempt { beside += try Self.overrides(in: path) }
                        }
                    }
                    overridesBeside[file.directory] = beside
                }
                let beside: [GSettingsOverride] = file.isStandard ? [] : (overridesBeside[file.directory] ?? [])
                let manifests = try Self.manifests(
                    in: file, root, overrides: beside + overrides.filter { !beside.contains($0) })
                let names = try manifests.map { try Self.fileName(of: $0, from: file) }
                for (name, imported) in zip(names, manifests) {
                    domains.insert(imported.domain)
                    if let index = found.firstIndex(where: { $0.name == name }) {
                        found[index].imported.notes += imported.notes
                        let others = found[index].imported.merge(imported.manifest)
                        if !others.isEmpty {
                            found[index].imported.notes.append(
                                "\(InputFile.title(file)) describes keys again; their first descriptions are used: "
                                    + "\(others.joined(separator: ", ")).")
                        }
                    } else {
                        found.append((name, imported))
                    }
                }
            }
        }
        let schemas = Set(overrides.map(\.schema))
        for schema in schemas.sorted() where domains.isDisjoint(with: [schema, "\(schema).*"]) {
            Failure.report("The schema \(schema) isn't imported, so the defaults of vendors for it aren't used.")
        }
        for (name, imported) in found {
            try attempt { try write(imported, to: FilePath("\(directory)/\(name)")) }
        }
        if let status { throw ExitCode(status.rawValue) }
    }

    /// Writes a manifest; without --force, to an existing file only what the file lacks.
    private func write(_ imported: ImportedManifest, to path: FilePath) throws {
        var imported = imported
        if !force, access(path.cString, F_OK) == 0 {
            let (known, problems) = Manifest.read(try InputDocument(path).value)
            guard let known, problems.isEmpty else {
                let problem = problems.first?.description ?? "It isn't a manifest."
                throw Failure(
                    "\(path): \(problem) Nothing was added to this file, since its unusable parts would be lost. "
                        + "Correct it, or use --force to replace it.", .dataError)
            }
            var both = ImportedManifest(domain: imported.domain, manifest: known, notes: imported.notes)
            // A description that a file can't express in full must not look like another one.
            let others = both.merge(Manifest.read(imported.manifest.propertyList).manifest ?? imported.manifest)
            if !others.isEmpty {
                both.notes.append(
                    "\(path) describes keys otherwise, and keeps its descriptions: \(others.joined(separator: ", ")). "
                        + "Use --force to replace it.")
            }
            if both.manifest == known {
                Failure.report("\(path) has all these keys, so it wasn't changed.")
                for note in both.notes { Failure.report("\(both.domain): \(note)") }
                return
            }
            imported = both
        }
        let bytes: [UInt8]
        do throws(PropertyListError) { bytes = try imported.manifest.propertyList.write(as: .xml) } catch {
            throw Failure("\(path): \(error)", .dataError)
        }
        try OutputFile.write(bytes, to: path, isForOthers: true)
        let count = imported.manifest.keys.reduce(0) { $0 + $1.count }
        try StandardOutput.write("\(path) (\(count.counting("key")))".printable + "\n")
        for note in imported.notes { Failure.report("\(imported.domain): \(note)") }
    }

    /// Returns the name of a manifest's file, which the schema must not choose freely.
    private static func fileName(of imported: ImportedManifest, from file: FilePath) throws(Failure) -> String {
        let isPattern = imported.domain.hasSuffix(".*")
        let id = isPattern ? String(imported.domain.dropLast(2)) : imported.domain
        guard !id.contains(where: { "/*?\\".contains($0) }), let name = try? DomainName(id) else {
            throw Failure(
                "\(InputFile.title(file)): \"\(id)\" can't be the name of a domain, so nothing in this file is "
                    + "imported.", .dataError)
        }
        // The global domain's file has a name of its own.
        return isPattern ? "\(imported.domain).plist" : Domain(name).fileName
    }

    private static func makeDirectories(_ path: String) throws(SystemCall.Failure) {
        if access(path, F_OK) == 0 || path == "/" { return }
        try makeDirectories(Path.directory(of: path))
        try NewFile.makeDirectory(path)
    }

    /// Returns the documents with enumerations in the directory of a schema; those that can't be read are left out, and
    /// the enumerations in them named.
    private static func enumerations(beside file: FilePath) -> [SchemaElement] {
        if file.isStandard { return [] }
        let directory = file.directory
        let names = (try? PreferencesDirectory(path: directory.description).names(in: "")) ?? []
        return names.filter { $0.hasSuffix(".enums.xml") }.sorted().compactMap { name in
            (try? InputFile.read(FilePath("\(directory)/\(name)"))).flatMap { try? SchemaXML.read($0) }
        }
    }

    private static let overrideSuffix = ".gschema.override"

    private static func overrides(in file: FilePath) throws -> [GSettingsOverride] {
        let text = String(decoding: try InputFile.read(file), as: UTF8.self)
        do throws(Failure) { return try GSettingsOverride.read(text) } catch {
            throw Failure("\(InputFile.title(file)): \(error.message)", error.status)
        }
    }

    /// Returns the files of overrides in the directory of a schema, in the order of their names, in which GSettings
    /// applies them.
    private static func overridePaths(beside file: FilePath) throws(Failure) -> [FilePath] {
        let names: [String]
        do throws(DefaultsError) {
            names = try PreferencesDirectory(path: file.directory.description).names(in: "")
        } catch {
            throw Failure("\(error.description) The defaults of vendors in it aren't used.", ExitStatus(error))
        }
        return names.filter { $0.hasSuffix(overrideSuffix) }.sorted().map { name in
            FilePath(bytes: file.prefix + Array(name.utf8))
        }
    }

    private static func document(_ file: FilePath) throws(Failure) -> SchemaElement {
        let bytes = try InputFile.read(file)
        do throws(Failure) { return try SchemaXML.read(bytes) } catch {
            throw Failure("\(InputFile.title(file)): \(error.message)", error.status)
        }
    }

    private static func manifests(
        in file: FilePath, _ root: SchemaElement, overrides: [GSettingsOverride]
    ) throws(Failure) -> [ImportedManifest] {
        switch root.name {
        case "schemalist":
            var schemas = GSettingsSchemas(root, besides: enumerations(beside: file), overrides: overrides)
            return schemas.manifests()
        case "kcfg":
            let name = Path.lastName(of: file.description)
            var schema = KConfigSchema(root)
            return [schema.manifest(named: name.hasSuffix(".kcfg") ? String(name.dropLast(5)) : name)]
        case let name:
            throw Failure(
                "\(InputFile.title(file)): The top element is <\(name)>, but must be <schemalist> of GSettings or "
                    + "<kcfg> of KConfig.", .dataError)
        }
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
