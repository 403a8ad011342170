import Glibc
import Linux

/// A directory, of the user or of another layer, in which each `*.plist` file, also in `ByHost`, is a domain.
package struct PreferencesDirectory: Hashable, Sendable {
    /// The absolute path.
    package let path: String
    /// Whether the user named this directory, in which case its absence is more likely a mistake than a first run.
    package let isExplicit: Bool
    /// The reason why the agent's settings, which may name another directory, can't be used; `nil` if they can.
    package let settingsProblem: DefaultsError?

    /// Finds the preferences directory.
    ///
    /// It is the first of these that is set: the option; `DEFAULTS_DIRECTORY`; the key `Directory` of the agent's own
    /// domain in the default directory; the default directory, which is `$XDG_CONFIG_HOME` or else `~/.config`.
    ///
    /// - Throws: An error if there is no default directory, or damaged settings may name another one.
    package init(option: String? = nil, environment: Environment) throws(DefaultsError) {
        if let given = option ?? environment["DEFAULTS_DIRECTORY"] {
            self.init(path: try Self.absolute(given), isExplicit: true)
            return
        }
        let standard = try Self.standardPath(environment)
        switch try AgentSettings.redirection(of: standard, home: environment.home) {
        case .to(let path): self.init(path: path, isExplicit: true)
        case .none(let problem): self.init(path: standard, isExplicit: false, settingsProblem: problem)
        }
    }

    /// Creates a directory from its absolute path.
    package init(path: String, isExplicit: Bool = true) {
        self.init(path: path, isExplicit: isExplicit, settingsProblem: nil)
    }

    private init(path: String, isExplicit: Bool, settingsProblem: DefaultsError?) {
        self.path = Path.withoutTrailingSlashes(path)
        self.isExplicit = isExplicit
        self.settingsProblem = settingsProblem
    }

    /// Returns whether this is the default directory of an environment, possibly under another name.
    func isUsual(in environment: Environment) -> Bool {
        guard isExplicit else { return true }
        guard let standard = try? Self.standardPath(environment) else { return false }
        return PreferencesDirectory(path: standard).resolvedPath == resolvedPath
    }

    /// Creates the directory if it is the default one and missing, and checks that it belongs to the user.
    package func prepare() throws(DefaultsError) {
        if !isExplicit, access(path, F_OK) != 0, !NewFile.willBeOwn(path) {
            throw DefaultsError(
                .directory,
                "The preferences directory \(path) doesn't exist, and its parent directory isn't yours.",
                remedy: "Run the agent as that user, or name a directory of your own with --directory.")
        }
        try makeIfUsual()
        try checkExistence()
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid == geteuid() else {
            throw DefaultsError(
                .directory,
                "The preferences directory \(path) belongs to user ID \(status.st_uid), not to you.",
                remedy: "Run the agent as that user, or name a directory of your own with --directory.")
        }
    }

    /// Creates the directory, accessible only to the user, if it is the default one and missing.
    func makeIfUsual() throws(DefaultsError) {
        if isExplicit || access(path, F_OK) == 0 { return }
        try make()
    }

    /// Creates the directory, accessible only to the user, if nothing is at its path.
    func make() throws(DefaultsError) {
        do throws(SystemCall.Failure) { try NewFile.makeDirectory(path) } catch {
            throw DefaultsError(.directory, errno: error.number, "The preferences directory \(path) can't be created")
        }
        // A file is only as durable as its directory's own entry. If that can't be made durable, the directory can
        // still be used.
        try? FileDescriptor.synchronizeDirectory(of: path)
    }

    /// The path with links resolved, if the directory exists; it is the same for all links to one directory.
    package var resolvedPath: String { Path.resolved(path) }

    /// Returns whether another path leads to this directory, by links or by a mount.
    package func isSame(as other: PreferencesDirectory) -> Bool {
        if resolvedPath == other.resolvedPath { return true }
        guard let own = try? FileStatus(at: path), let another = try? FileStatus(at: other.path) else { return false }
        return own.isSame(as: another)
    }

    /// The hash of the resolved path, which identifies the directory in names of other files.
    package var resolvedPathHash: ContentHash { ContentHash(Array(resolvedPath.utf8)) }

    /// Checks that the directory can be read if it exists, and that it exists if the user named it.
    package func checkExistence() throws(DefaultsError) {
        do throws(SystemCall.Failure) {
            guard try FileStatus(at: path).isDirectory else { throw SystemCall.Failure(number: ENOTDIR) }
            if !isUsable { throw SystemCall.Failure(number: EACCES) }
        } catch {
            if error.number == ENOENT, !isExplicit { return }
            throw DefaultsError(.directory, errno: error.number, "The preferences directory \(path) can't be used")
        }
    }

    /// The error if the directory, or its `ByHost` subdirectory, isn't usable; `nil` if both are.
    package var problem: DefaultsError? {
        let hosts = PreferencesDirectory(path: "\(path)/\(Domain.hostDirectory)")
        if isUsable, hosts.isUsable || hosts.isMissing { return nil }
        return DefaultsError(
            .directory,
            "The directory \(isUsable ? hosts.path : path) is gone or can't be read. "
                + "The last values stay in effect until it is back.")
    }

    /// A warning about a directory in which other users can create files; `nil` if they can't.
    ///
    /// They can't read or change existing files, but unless the sticky bit prevents it, they can remove files and
    /// replace them with links and files of their own.
    package var exposure: DefaultsError? {
        guard let status = try? FileStatus(at: path) else { return nil }
        if status.st_mode & 0o002 != 0 {
            return DefaultsError(
                .directory,
                "Other users can create files in the preferences directory \(path), and can prevent saves.",
                remedy: "Run `chmod o-w \(path)`.")
        }
        guard !status.isOwn, status.st_uid != 0, geteuid() != 0 else { return nil }
        return DefaultsError(
            .directory,
            "The preferences directory \(path) belongs to user ID \(status.st_uid), who can prevent saves.",
            remedy: "Use a directory of your own.")
    }

    /// Whether the directory exists and can be searched, so that a file not found in it is really missing.
    var isUsable: Bool {
        (try? FileStatus(at: path))?.isDirectory == true
            && faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0
    }

    /// Whether nothing exists at the path, not even a dangling link.
    var isMissing: Bool {
        var status = stat()
        return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// Returns the latest time at which a domain's missing file can have disappeared: the last change of its directory.
    func lastChange(around domain: Domain, now: Timestamp) -> Timestamp {
        guard let status = try? FileStatus(at: Path.directory(of: path(of: domain))) else { return now }
        return min(now, Timestamp(status.st_mtim))
    }

    /// Returns the absolute path of a domain's file.
    package func path(of domain: Domain) -> String {
        "\(path)/\(domain.fileName)"
    }

    /// Returns every domain that currently has a file here, in order; `user` is this layer's user.
    package func domains(of user: DomainUser = .current) throws(DefaultsError) -> [Domain] {
        try (domains(in: "", of: user) + domains(in: Domain.hostDirectory, of: user)).sorted()
    }

    /// Returns every domain of the current user that has a file here, and the error if `ByHost` can't be read.
    ///
    /// - Throws: `directory` if the directory itself can't be read.
    func visibleDomains() throws(DefaultsError) -> (domains: [Domain], problem: DefaultsError?) {
        let domains = try domains(in: "", of: .current)
        do throws(DefaultsError) {
            return (try domains + self.domains(in: Domain.hostDirectory, of: .current), nil)
        } catch {
            return (domains, error)
        }
    }

    /// Returns every domain that has a file in the directory itself (an empty name) or in a subdirectory.
    package func domains(in subdirectory: String, of user: DomainUser) throws(DefaultsError) -> [Domain] {
        let prefix = subdirectory.isEmpty ? "" : subdirectory + "/"
        return try names(in: subdirectory).compactMap { Domain(fileName: prefix + $0, user: user) }
    }

    /// Returns the names of the entries in the directory or a subdirectory; none if it doesn't exist.
    package func names(in subdirectory: String) throws(DefaultsError) -> [String] {
        try entries(in: subdirectory).map(\.name)
    }

    /// Returns the wanted entries in the directory or a subdirectory; none if it doesn't exist.
    func entries(
        in subdirectory: String, where isWanted: (_ entry: (name: String, mayBeLink: Bool)) -> Bool = { _ in true }
    ) throws(DefaultsError) -> [(name: String, mayBeLink: Bool)] {
        let path = subdirectory.isEmpty ? self.path : "\(self.path)/\(subdirectory)"
        do throws(SystemCall.Failure) {
            let listing = try DirectoryListing(path)
            var entries: [(name: String, mayBeLink: Bool)] = []
            while let entry = try listing.next() {
                if let name = entry.name, isWanted((name, entry.mayBeLink)) { entries.append((name, entry.mayBeLink)) }
            }
            return entries
        } catch {
            if error.number == ENOENT { return [] }
            throw DefaultsError(.directory, errno: error.number, "The directory \(path) can't be read")
        }
    }

    private static func absolute(_ path: String) throws(DefaultsError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DefaultsError(
                .directory,
                "The preferences directory's path is empty.",
                remedy: "Name a directory.")
        }
        return Path.isAbsolute(path) ? path : "\(workingDirectory())/\(path)"
    }

    /// Returns the working directory; "." if it is unknown.
    static func workingDirectory() -> String {
        guard let working = getcwd(nil, 0) else { return "." }
        defer { free(working) }
        return String(cString: working)
    }

    /// Returns the path of the default directory, which may name another one.
    package static func standardPath(_ environment: Environment) throws(DefaultsError) -> String {
        // A relative XDG_CONFIG_HOME must be ignored: https://specifications.freedesktop.org/basedir-spec/latest/
        if let configured = environment["XDG_CONFIG_HOME"], Path.isAbsolute(configured) { return configured }
        guard let home = environment.home else {
            throw DefaultsError(
                .directory,
                "No home directory is known.",
                remedy: "Set HOME or DEFAULTS_DIRECTORY.")
        }
        return home + "/.config"
    }
}

extension PreferencesDirectory {
    /// Returns the domain stored in a file, in this directory or else in the directory that contains the file.
    ///
    /// - Parameter path: The file's path, including ".plist".
    /// - Returns: The domain, and its directory if that isn't this one; `nil` if the name can't be that of a domain's
    ///   file.
    package func domain(at path: String) -> (domain: Domain, elsewhere: PreferencesDirectory?)? {
        // A link to one of this directory's files stands for that file's domain. But a file in this directory may
        // itself be a link, so check the unresolved path first.
        let linked = PreferencesDirectory(path: path).resolvedPath
        if let domain = ownDomain(at: path) ?? ownDomain(at: linked) { return (domain, nil) }
        let (parent, name) = Self.split(path)
        return Domain(fileName: name).map { ($0, PreferencesDirectory(path: parent)) }
    }

    /// Returns the domain of a file in this directory or its `ByHost` subdirectory; `nil` for other paths.
    private func ownDomain(at path: String) -> Domain? {
        let (parent, name) = Self.split(path)
        let home = resolvedPath
        if parent == home { return Domain(fileName: name) }
        return parent == "\(home)/\(Domain.hostDirectory)" ? Domain(fileName: "\(Domain.hostDirectory)/\(name)") : nil
    }

    /// Splits a path into its directory, with links resolved, and its last name.
    private static func split(_ path: String) -> (parent: String, name: String) {
        let cut = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        let parent = PreferencesDirectory(path: PreferencesDirectory(path: String(path[...cut])).resolvedPath)
        return (parent.path, String(path[path.utf8.index(after: cut)...]))
    }
}
