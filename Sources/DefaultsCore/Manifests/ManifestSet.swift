import Glibc
import Linux
package import Manifests
import PropertyList

/// The manifests of domains, by the names of their files.
///
/// Of several for one domain, an enforced one comes first, then one for exactly this domain, then the pattern with the
/// most characters beside its wildcards. Of equals, the one in the earliest directory is used. A file that can't be
/// used disables nothing but itself.
package struct ManifestSet: Sendable {
    /// A manifest in a file.
    package struct Entry: Sendable {
        package let path: String
        package let manifest: Manifest
        /// Whether the agent refuses edits that break the manifest.
        package let isEnforced: Bool
        /// The mistakes in the manifest.
        package let mistakes: [ManifestProblem]
    }

    private var named: [DomainName: Entry] = [:]
    private var patterns: [(name: GlobPattern, entry: Entry)] = []
    private var sensitive: Set<String> = []
    /// The files that can't be read or used, and those that aren't enforced although they say so.
    package private(set) var problems: [DefaultsError] = []
    /// The patterns of the domains whose manifests can't be read or used.
    package private(set) var unknown: Set<String> = []
    /// Whether files or directories couldn't be read, so that other manifests may exist.
    package private(set) var isIncomplete = false

    /// The directories that are missing, perhaps because their disk isn't there yet.
    package private(set) var missing: Set<String> = []

    /// Whether reading again may succeed, although no file has changed.
    package var needsRetry: Bool { problems.contains { $0.code == .unreadable } }

    /// The maximum size of a manifest in bytes; the largest public one has half a million.
    private static let maximumSize = 4 << 20

    /// No manifests.
    package static let none = ManifestSet()

    private init() {}

    /// Reads manifests from the disk.
    ///
    /// - Parameters:
    ///   - directories: The directories to search.
    ///   - name: The domain whose manifest to read; `nil` for all.
    ///   - keepsTexts: Whether the texts of manifests are kept.
    ///   - earlier: The manifests read before; those in files that can't be read now stay in effect.
    package init(
        in directories: ManifestDirectories, for name: DomainName? = nil, keepsTexts: Bool,
        keeping earlier: ManifestSet = .none
    ) {
        let known = Dictionary(earlier.entries.map { ($0.path, $0) }) { first, _ in first }
        func read(_ path: String, into set: inout ManifestSet) -> Entry? {
            set.read(path, keepsTexts: keepsTexts, earlier: known[path])
        }
        for directory in directories.paths {
            let earlierFiles = known.keys.filter { Path.directory(of: $0) == directory }.map { Path.lastName(of: $0) }
            for file in (files(in: directory) ?? earlierFiles).sorted() {
                let stem = String(file.dropLast(6))
                let pattern = GlobPattern(stem)
                if pattern.hasWildcards {
                    if let name, !pattern.matches(name.description) { continue }
                    guard let entry = read("\(directory)/\(file)", into: &self) else { continue }
                    patterns.append((pattern, entry))
                    addSensitiveKeys(of: entry, for: pattern.text)
                } else if let found = Domain(fileName: file)?.name, name == nil || name == found {
                    guard let entry = read("\(directory)/\(file)", into: &self) else { continue }
                    addSensitiveKeys(of: entry, for: Self.pattern(of: found))
                    if named[found] == nil || entry.isEnforced && named[found]?.isEnforced == false {
                        named[found] = entry
                    }
                }
            }
        }
        // Those for the same domains stay in the order of the directories.
        let order = patterns.enumerated().sorted { first, second in
            let (one, other) = (first.element, second.element)
            if one.entry.isEnforced != other.entry.isEnforced { return one.entry.isEnforced }
            if one.name.literalCount != other.name.literalCount {
                return one.name.literalCount > other.name.literalCount
            }
            return first.offset < second.offset
        }
        patterns = order.map(\.element)
    }

    /// Returns the manifest of a domain; `nil` if it has none.
    package func entry(for name: DomainName) -> Entry? {
        let exact = named[name]
        if patterns.isEmpty || exact?.isEnforced == true { return exact }
        let matching = patterns.first { $0.name.matches(name.description) }?.entry
        return matching?.isEnforced == true ? matching : exact ?? matching
    }

    package var isEmpty: Bool { named.isEmpty && patterns.isEmpty }

    /// The manifests that may apply to a domain, with the names of their domains, in order, or the patterns, of which
    /// the first that matches applies.
    package var all: [(name: String, entry: Entry)] {
        named.map { ($0.description, $1) }.sorted { $0.0 < $1.0 } + patterns.map { ($0.text, $1) }
    }

    /// All manifests that may apply to a domain.
    package var entries: [Entry] { named.values + patterns.map(\.entry) }

    /// The patterns of sensitive keys, which don't get into the history, in the form of the setting `HistoryExcludes`.
    ///
    /// Every manifest counts, also one that isn't used because of another.
    package var exclusions: [String] { sensitive.sorted() }

    /// Returns the pattern of a domain, in the form of the setting `HistoryExcludes`, in which `-g` is the global one.
    private static func pattern(of name: DomainName) -> String {
        name.description == "-g" ? "\\-g" : GlobPattern.exactly(name.description).text
    }

    private mutating func addSensitiveKeys(of entry: Entry, for domain: String) {
        for key in entry.manifest.sensitiveKeys {
            let pattern = key == ManifestKey.freeValue ? "*" : GlobPattern.exactly(key).text
            sensitive.insert("\(domain)/\(pattern)")
        }
    }

    /// Returns the mistake if a manifest's file isn't named like its domain, so that it describes another one.
    package static func misnaming(of manifest: Manifest, in fileName: String) -> ManifestProblem? {
        guard let domain = manifest.domain, fileName != "\(domain).plist",
            (try? DomainName(domain)) != Domain(fileName: fileName)?.name
        else { return nil }
        return ManifestProblem(
            path: [], entry: misnamedEntry,
            message: "is \(domain), but the file is named \(fileName), so it describes another domain; rename one of "
                + "them")
    }

    /// The entry of a manifest that its file's name should repeat.
    package static let misnamedEntry = "pfm_domain"

    // MARK: Files

    /// Returns the names of the manifests in a directory; `nil` if it can't be read.
    private mutating func files(in directory: String) -> [String]? {
        do throws(SystemCall.Failure) {
            let listing = try DirectoryListing(directory)
            var names: [String] = []
            while let entry = try listing.next() {
                if let name = entry.name, name.hasSuffix(".plist") { names.append(name) }
            }
            return names
        } catch {
            // There are usually none.
            if error.number == ENOTDIR || error.number == ENOENT && !isBehindBrokenLink(directory) {
                missing.insert(directory)
                return []
            }
            isIncomplete = true
            unknown.insert("*")
            problems.append(
                DefaultsError(.unreadable, errno: error.number, "The manifests in \(directory) can't be read"))
            return nil
        }
    }

    private mutating func read(_ path: String, keepsTexts: Bool, earlier: Entry?) -> Entry? {
        do throws(DefaultsError) {
            let entry = try Self.read(path, keepsTexts: keepsTexts)
            if entry.manifest.isEnforced, let reason = entry.untrusted { problems.append(reason) }
            let misnaming = Self.misnaming(of: entry.manifest, in: Path.lastName(of: path))
            return Entry(
                path: path, manifest: entry.manifest,
                isEnforced: entry.manifest.isEnforced && entry.untrusted == nil,
                mistakes: [misnaming].compactMap(\.self) + entry.mistakes)
        } catch {
            if error.errno == ENOENT, isRemoved(path) { return nil }
            isIncomplete = true
            let stem = String(Path.lastName(of: path).dropLast(6))
            let name = GlobPattern(stem).hasWildcards ? nil : Domain(fileName: "\(stem).plist")?.name
            unknown.insert(name.map { Self.pattern(of: $0) } ?? stem)
            problems.append(error)
            return earlier
        }
    }

    /// Returns whether a missing directory, or one above it, is a broken link, perhaps to a disk that isn't mounted
    /// yet.
    private func isBehindBrokenLink(_ directory: String) -> Bool {
        var path = directory
        while Path.isMissing(path) {
            if !isRemoved(path) { return true }
            path = Path.directory(of: path)
        }
        return false
    }

    /// Returns whether there is no file; a link may lead to a disk that isn't there yet.
    private func isRemoved(_ path: String) -> Bool {
        do throws(SystemCall.Failure) {
            _ = try FileStatus(at: path, followsLinks: false)
            return false
        } catch { return error.number == ENOENT }
    }

    private static func read(
        _ path: String, keepsTexts: Bool
    ) throws(DefaultsError) -> (manifest: Manifest, mistakes: [ManifestProblem], untrusted: DefaultsError?) {
        let (bytes, status) = try contents(of: path)
        let value: PropertyListValue
        do throws(PropertyListError) { value = try PropertyListValue(parsing: bytes) } catch {
            throw DefaultsError(.damaged, "The manifest \(path) is not used. \(error)")
        }
        let (manifest, mistakes) = Manifest.read(value, keepsTexts: keepsTexts)
        guard let manifest else {
            throw DefaultsError(
                .damaged, "The manifest \(path) is not used. \(mistakes.map(\.description).joined(separator: " "))")
        }
        // Links may lead through other directories.
        let real = Path.resolved(path)
        let problem = [path, real].lazy
            .compactMap { path in
                RootOwnership.problem(ofFileAt: path, with: status, below: "/", consequence: "is not enforced")
            }.first
        return (manifest, mistakes, untrusted: problem)
    }

    private static func contents(of path: String) throws(DefaultsError) -> (bytes: [UInt8], status: FileStatus) {
        let (bytes, status): ([UInt8], FileStatus)
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            status = try file.status()
            bytes = !status.isRegular ? [] : try file.read(upTo: min(Int(status.st_size), maximumSize) + 1)
        } catch {
            throw DefaultsError(.unreadable, errno: error.number, "The manifest \(path) can't be read")
        }
        guard status.isRegular else {
            throw DefaultsError(.damaged, "The manifest \(path) is not used, because it is not a regular file.")
        }
        guard bytes.count <= maximumSize else {
            throw DefaultsError(
                .damaged, "The manifest \(path) is not used, because it has more than \(maximumSize) bytes.")
        }
        return (bytes, status)
    }
}

extension ManifestSet.Entry {
    /// Returns what some changed keys of a domain break.
    ///
    /// A key that the manifest doesn't describe is only reported if the manifest is enforced: apps also store what
    /// isn't for people.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - values: The values of the domain.
    /// - Returns: The violations, in order.
    package func violations(of keys: some Sequence<String>, in values: DomainValues) -> [Violation] {
        let rules = Set(Violation.Rule.allCases).subtracting(isEnforced ? [] : [.unknown])
        return manifest.violations(of: keys, in: values, limitedTo: rules)
    }
}
