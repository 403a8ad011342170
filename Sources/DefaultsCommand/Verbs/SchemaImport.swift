import ArgumentParser
import DefaultsCore
import Glibc
import Linux
import Manifests
import PropertyList

/// An import of schemas, in three steps: read the files, join what describes the same domain, and write manifests.
///
/// A file that can't be imported is reported, and the others are imported nevertheless.
struct SchemaImport {
    private let files: [FilePath]
    private let directory: String
    private let replaces: Bool
    private let failures = Failures()

    /// A schema's file, and the defaults of vendors for it.
    private struct Schema {
        let file: FilePath
        let root: SchemaElement
        let overrides: [GSettingsOverride]
    }

    /// The manifest of a domain, and the name of its file.
    private typealias Named = (name: String, imported: ImportedManifest)

    /// Creates an import.
    ///
    /// - Parameters:
    ///   - files: The files of schemas, and of the defaults of vendors.
    ///   - directory: The directory of the manifests.
    ///   - replaces: Whether an existing manifest is replaced, instead of getting the keys that it lacks.
    init(of files: [FilePath], to directory: String, replacing replaces: Bool) {
        (self.files, self.directory, self.replaces) = (files, directory, replaces)
    }

    /// Imports the schemas.
    ///
    /// - Throws: The status of the first failure, after all files.
    func run() throws {
        let (schemas, overrides) = try read()
        let manifests = try join(schemas)
        let sources = Set(manifests.flatMap { $0.imported.sources })
        for schema in Set(overrides.map(\.schema)).subtracting(sources).sorted() {
            Failure.report("The schema \(schema) isn't imported, so the defaults of vendors for it aren't used.")
        }
        for (name, imported) in manifests {
            try failures.attempt { try write(imported, to: FilePath("\(directory)/\(name)")) }
        }
        if let status = failures.status { throw ExitCode(status.rawValue) }
    }

    // MARK: Reading

    /// Returns the schemas, and the defaults of vendors in the files that were named.
    private func read() throws -> (schemas: [Schema], overrides: [GSettingsOverride]) {
        var named: [GSettingsOverride] = []
        for file in files where file.hasSuffix(Self.overrideSuffix) {
            named += try failures.attempt { try Self.overrides(in: file) } ?? []
        }
        // The defaults of vendors beside schemas, by the directories.
        var known: [FilePath: [GSettingsOverride]] = [:]
        var schemas: [Schema] = []
        for file in files where !file.hasSuffix(Self.overrideSuffix) {
            guard let root = try failures.attempt({ try Self.root(of: file) }) else { continue }
            var beside: [GSettingsOverride] = []
            if root.name == "schemalist", !file.isStandard {
                beside = try known[file.directory] ?? overrides(beside: file)
                known[file.directory] = beside
            }
            schemas.append(
                Schema(file: file, root: root, overrides: beside + named.filter { !beside.contains($0) }))
        }
        return (schemas, named)
    }

    private static func root(of file: FilePath) throws(Failure) -> SchemaElement {
        let bytes = try InputFile.read(file)
        do throws(Failure) { return try SchemaXML.read(bytes) } catch {
            throw Failure("\(InputFile.title(file)): \(error.message)", error.status)
        }
    }

    private static let overrideSuffix = ".gschema.override"

    private static func overrides(in file: FilePath) throws(Failure) -> [GSettingsOverride] {
        let text = String(decoding: try InputFile.read(file), as: UTF8.self)
        do throws(Failure) { return try GSettingsOverride.read(text) } catch {
            throw Failure("\(InputFile.title(file)): \(error.message)", error.status)
        }
    }

    /// Returns the defaults of vendors in the directory of a schema, in the order in which GSettings applies them.
    private func overrides(beside file: FilePath) throws -> [GSettingsOverride] {
        let names = try failures.attempt { () throws(Failure) -> [String] in
            do throws(DefaultsError) {
                return try PreferencesDirectory(path: file.directory.description).names(in: "")
            } catch {
                throw Failure("\(error.description) The defaults of vendors in it aren't used.", ExitStatus(error))
            }
        }
        var found: [GSettingsOverride] = []
        for name in (names ?? []).sorted() where name.hasSuffix(Self.overrideSuffix) {
            let path = FilePath(bytes: file.prefix + Array(name.utf8))
            found += try failures.attempt { try Self.overrides(in: path) } ?? []
        }
        return found
    }

    // MARK: Joining

    /// Returns the manifests in the order of the schemas, each with all that they say about its domain.
    private func join(_ schemas: [Schema]) throws -> [Named] {
        var joined: [Named] = []
        for schema in schemas {
            for new in try failures.attempt({ try Self.manifests(of: schema) }) ?? [] {
                guard let index = joined.firstIndex(where: { $0.name == new.name }) else {
                    joined.append(new)
                    continue
                }
                joined[index].imported.notes += new.imported.notes
                joined[index].imported.sources += new.imported.sources
                let others = joined[index].imported.merge(new.imported.manifest)
                if !others.isEmpty {
                    joined[index].imported.notes.append(
                        "\(InputFile.title(schema.file)) describes keys again; their first descriptions are used: "
                            + "\(others.joined(separator: ", ")).")
                }
            }
        }
        return joined
    }

    /// Returns the manifests that a file describes; none if one of them can't have a file.
    private static func manifests(of schema: Schema) throws(Failure) -> [Named] {
        let manifests: [ImportedManifest]
        switch schema.root.name {
        case "schemalist":
            var schemas = GSettingsSchemas(
                schema.root, besides: enumerations(beside: schema.file), overrides: schema.overrides)
            do throws(Failure) { manifests = try schemas.manifests() } catch {
                throw Failure(
                    "\(InputFile.title(schema.file)): \(error.message) Nothing in this file is imported.", error.status)
            }
        case "kcfg":
            let name = Path.lastName(of: schema.file.description)
            var settings = KConfigSchema(schema.root)
            manifests = [settings.manifest(named: name.hasSuffix(".kcfg") ? String(name.dropLast(5)) : name)]
        case let name:
            throw Failure(
                "\(InputFile.title(schema.file)): The top element is <\(name)>, but must be <schemalist> of GSettings "
                    + "or <kcfg> of KConfig.", .dataError)
        }
        var named: [Named] = []
        for imported in manifests { named.append((try fileName(of: imported, from: schema.file), imported)) }
        return named
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

    /// Returns the name of a manifest's file, which the schema must not choose freely.
    private static func fileName(of imported: ImportedManifest, from file: FilePath) throws(Failure) -> String {
        let isPattern = imported.domain.hasSuffix("*")
        let id = isPattern ? String(imported.domain.dropLast()) : imported.domain
        guard !id.contains(where: { "/*?\\".contains($0) }), let name = try? DomainName(id) else {
            throw Failure(
                "\(InputFile.title(file)): \"\(id)\" can't be the name of a domain, so nothing in this file is "
                    + "imported.", .dataError)
        }
        // The global domain's file has a name of its own.
        return isPattern ? "\(imported.domain).plist" : Domain(name).fileName
    }

    // MARK: Writing

    /// Writes a manifest; without --force, to an existing file only what the file lacks.
    private func write(_ imported: ImportedManifest, to path: FilePath) throws {
        var (result, document) = (imported, [UInt8]())
        if !replaces, access(path.cString, F_OK) == 0 {
            let existing = try ExistingManifest(path)
            result = existing.joined(with: imported)
            if result.manifest == existing.manifest {
                Failure.report("\(path) has all these keys, so it wasn't changed.")
            } else {
                document = try existing.document(with: result.manifest)
            }
        } else {
            document = try result.manifest.propertyList.document(for: path)
        }
        if !document.isEmpty {
            try OutputFile.write(document, to: path, isForOthers: true)
            let count = result.manifest.keys.reduce(0) { $0 + $1.count }
            try StandardOutput.write("\(path) (\(count.counting("key")))".printable + "\n")
        }
        for note in result.notes { Failure.report("\(result.domain): \(note)") }
    }
}

/// A manifest's file, to which keys are added.
private struct ExistingManifest {
    let manifest: Manifest
    private let path: FilePath
    private let bytes: [UInt8]
    private let input: InputDocument

    /// Reads the file.
    ///
    /// - Throws: If it has mistakes, since its unusable parts would be lost.
    init(_ path: FilePath) throws(Failure) {
        self.path = path
        bytes = try InputFile.read(path)
        input = try InputDocument(bytes, named: InputFile.title(path))
        let (known, problems) = Manifest.read(input.value)
        guard let known, problems.isEmpty else {
            let problem = problems.first?.description ?? "It isn't a manifest."
            throw Failure(
                "\(path): \(problem) Nothing was added to this file, since its unusable parts would be lost. "
                    + "Correct it, or use --force to replace it.", .dataError)
        }
        manifest = known
    }

    /// Returns the manifest with the keys that another one has in addition, and with its notes.
    func joined(with other: ImportedManifest) -> ImportedManifest {
        var both = other
        both.manifest = manifest
        // A part that a file can't express must not look like another description.
        let others = both.merge(Manifest.read(other.manifest.propertyList).manifest ?? other.manifest)
        if !others.isEmpty {
            both.notes.append(
                "\(path) describes keys otherwise, and keeps its descriptions: \(others.joined(separator: ", ")). "
                    + "Use --force to replace it.")
        }
        return both
    }

    /// Returns the file's new contents, in which everything that was there stays.
    ///
    /// - Throws: If its comments would be lost.
    func document(with joined: Manifest) throws(Failure) -> [UInt8] {
        let new = joined.propertyList
        if let spliced = spliced(with: new) { return spliced }
        if TextComments.exist(in: bytes, input.format) {
            throw Failure(
                "\(path): Nothing was added to this file, since its comments would be lost. Remove them, or use "
                    + "--force to replace it.", .dataError)
        }
        // Not the manifest's own property list, which lacks entries that have no effect.
        return try Self.adding(keysOf: new, to: input.value).document(for: path)
    }

    /// Returns a description with the keys that another one has after its own.
    private static func adding(keysOf new: PropertyListValue, to old: PropertyListValue) -> PropertyListValue {
        guard case .dictionary(var entries) = old, case .dictionary(let other) = new,
            case .array(let newKeys)? = other["pfm_subkeys"]
        else { return old }
        var keys: [PropertyListValue] = []
        if case .array(let oldKeys)? = entries["pfm_subkeys"] { keys = oldKeys }
        for index in keys.indices where index < newKeys.count {
            keys[index] = adding(keysOf: newKeys[index], to: keys[index])
        }
        keys += newKeys.dropFirst(keys.count)
        entries["pfm_subkeys"] = .array(keys)
        return .dictionary(entries)
    }

    /// Adds the new keys to the text of an XML file; `nil` if that isn't possible.
    private func spliced(with joined: PropertyListValue) -> [UInt8]? {
        guard let additions = Self.additions(to: input.value, from: joined) else { return nil }
        var result = bytes
        for addition in additions {
            guard let next = TextSplice.append(addition.keys, toArrayAt: addition.path, in: result) else { return nil }
            result = next
        }
        guard let value = try? PropertyListValue(parsing: result) else { return nil }
        return Manifest.read(value).manifest?.propertyList == joined ? result : nil
    }

    /// Returns the keys that a description has after those of another one, and the array of each.
    ///
    /// - Returns: The keys; `nil` if they can't just be added to arrays.
    private static func additions(
        to old: PropertyListValue, from new: PropertyListValue, at path: [TextSplice.Step] = []
    ) -> [(path: [TextSplice.Step], keys: [PropertyListValue])]? {
        guard case .dictionary(let new) = new, case .array(let newKeys)? = new["pfm_subkeys"] else { return [] }
        guard case .dictionary(let old) = old, case .array(let oldKeys)? = old["pfm_subkeys"],
            oldKeys.count <= newKeys.count
        else { return nil }
        let path = path + [.key("pfm_subkeys")]
        var found: [(path: [TextSplice.Step], keys: [PropertyListValue])] = []
        for index in oldKeys.indices {
            guard
                let inner = additions(to: oldKeys[index], from: newKeys[index], at: path + [.element(index)])
            else { return nil }
            found += inner
        }
        if newKeys.count > oldKeys.count { found.append((path, Array(newKeys[oldKeys.count...]))) }
        return found
    }
}

extension PropertyListValue {
    /// Returns the document of a manifest's file.
    fileprivate func document(for path: FilePath) throws(Failure) -> [UInt8] {
        do throws(PropertyListError) { return try write(as: .xml) } catch {
            throw Failure("\(path): \(error)", .dataError)
        }
    }
}

/// The failures of a command that goes on after one.
private final class Failures {
    /// The status of the first failure.
    private(set) var status: ExitStatus?
    private var messages: Set<String> = []

    /// Evaluates a body, and reports its failure.
    ///
    /// - Returns: The value; `nil` after a failure.
    @discardableResult
    func attempt<Value>(_ body: () throws -> Value) throws -> Value? {
        do { return try body() } catch let failure as Failure {
            // A file of vendors' defaults may be named, and also be beside a schema.
            if messages.insert(failure.message).inserted { Failure.report(failure.message) }
            status = status ?? failure.status
            return nil
        }
    }
}
