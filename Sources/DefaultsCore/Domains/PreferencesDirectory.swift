import Glibc
import Linux

/// The directory whose `*.plist` files, and those in its `ByHost`, are the domains: the user's own, or a layer's.
package struct PreferencesDirectory: Hashable, Sendable {
    /// The absolute path.
    package let path: String
    /// Whether someone named this directory, so that a missing one is more likely a mistake than a first run.
    package let isExplicit: Bool
    /// Why the agent's settings, which may name another directory, could not be taken; `nil` when they could.
    package let settingsProblem: DefaultsError?

    /// Finds the directory: the option, `DEFAULTS_DIRECTORY`, the key `Directory` of the agent's own domain in the
    /// default place, or that place itself, `$XDG_CONFIG_HOME` or else `~/.config`.
    ///
    /// - Throws: When there is no usual place, or damaged settings may name another directory.
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

    /// Names a directory by its absolute path.
    package init(path: String, isExplicit: Bool = true) {
        self.init(path: path, isExplicit: isExplicit, settingsProblem: nil)
    }

    private init(path: String, isExplicit: Bool, settingsProblem: DefaultsError?) {
        self.path = Path.withoutTrailingSlashes(path)
        self.isExplicit = isExplicit
        self.settingsProblem = settingsProblem
    }

    /// Whether this is the usual directory of an environment, by whatever name and links.
    func isUsual(in environment: Environment) -> Bool {
        guard isExplicit else { return true }
        guard let standard = try? Self.standardPath(environment) else { return false }
        return PreferencesDirectory(path: standard).resolvedPath == resolvedPath
    }

    /// Makes the usual directory if it isn't there, and checks that the directory is the user's own.
    package func prepare() throws(DefaultsError) {
        try makeIfUsual()
        try checkExistence()
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid == geteuid() else {
            throw DefaultsError(
                .directory,
                "The preferences directory \(path) belongs to the user with the number \(status.st_uid), not to you; "
                    + "run the agent as that user, or name a directory of yours with --directory.")
        }
    }

    /// Makes the directory, for the user alone, if nobody named one and the usual one isn't there yet.
    func makeIfUsual() throws(DefaultsError) {
        if isExplicit || access(path, F_OK) == 0 { return }
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw DefaultsError(.directory, errno: errno, "The preferences directory \(path) can't be made")
        }
        // A file in it is only as durable as its own name. Where that can't be had, the directory is usable all the same.
        try? FileDescriptor.synchronizeDirectory(of: path)
    }

    /// The path with links resolved, where the directory exists: what two names of one directory have in common.
    package var resolvedPath: String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Returns whether another path leads to this directory, by links or by a mount.
    package func isSame(as other: PreferencesDirectory) -> Bool {
        if resolvedPath == other.resolvedPath { return true }
        var (own, another) = (stat(), stat())
        return stat(path, &own) == 0 && stat(other.path, &another) == 0 && own.st_ino == another.st_ino
            && own.st_dev == another.st_dev
    }

    /// What stands for the directory in names of other files.
    var resolvedPathHash: ContentHash { ContentHash(Array(resolvedPath.utf8)) }

    /// Checks that the directory can be read if it is there, and that it is there if someone named it: then a missing one
    /// is more likely a mistake than a first run.
    package func checkExistence() throws(DefaultsError) {
        var status = stat()
        if stat(path, &status) != 0 {
            let number = errno
            if number == ENOENT, !isExplicit { return }
            throw DefaultsError(.directory, errno: number, "The preferences directory \(path) can't be used")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw DefaultsError(.directory, errno: ENOTDIR, "The preferences directory \(path) can't be used")
        }
        guard isUsable else {
            throw DefaultsError(.directory, errno: EACCES, "The preferences directory \(path) can't be used")
        }
    }

    /// What is wrong while the directory, or its part for hosts, isn't usable.
    package var problem: DefaultsError? {
        let hosts = PreferencesDirectory(path: "\(path)/\(Domain.hostDirectory)")
        if isUsable, hosts.isUsable || hosts.isMissing { return nil }
        return DefaultsError(
            .directory,
            "The directory \(isUsable ? hosts.path : path) is gone or can't be read; "
                + "the last values stay in force until it is back.")
    }

    /// A warning about a directory in which other users can make files; `nil` where they can't.
    ///
    /// They can't read or change what is there; but they can remove files, unless the sticky bit keeps them from it, and
    /// put links and files of theirs into the place of ours.
    package var exposure: DefaultsError? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        if status.st_mode & 0o002 != 0 {
            return DefaultsError(
                .directory,
                "Other users can make files in the preferences directory \(path), and keep you from saving. "
                    + "Run `chmod o-w \(path)`.")
        }
        guard status.st_uid != geteuid(), status.st_uid != 0, geteuid() != 0 else { return nil }
        return DefaultsError(
            .directory,
            "The preferences directory \(path) belongs to the user with the number \(status.st_uid), who can keep you from "
                + "saving. Use a directory of your own.")
    }

    /// Whether the directory is there and can be searched, so that a file that isn't seen in it is gone.
    var isUsable: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0
    }

    /// Whether nothing has the path, not even a link that leads nowhere.
    var isMissing: Bool {
        var status = stat()
        return lstat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR)
    }

    /// When a domain's file, which is gone, can have gone at the latest: when its directory last changed.
    func lastChange(around domain: Domain, now: Timestamp) -> Timestamp {
        var status = stat()
        guard stat(Path.directory(of: path(of: domain)), &status) == 0 else { return now }
        return min(now, Timestamp(status.st_mtim))
    }

    /// The absolute path of a domain's file.
    package func path(of domain: Domain) -> String {
        "\(path)/\(domain.fileName)"
    }

    /// Every domain that has a file here now, in order; the user is whose the directory is.
    package func domains(of user: DomainUser = .current) throws(DefaultsError) -> [Domain] {
        try (domains(in: "", of: user) + domains(in: Domain.hostDirectory, of: user)).sorted()
    }

    /// Every domain of the current user's that has a file here now; and why those of hosts can't be told, if they can't.
    ///
    /// - Throws: `directory` when the directory itself can't be read.
    func domainsAsFarAsTheyAreSeen() throws(DefaultsError) -> (domains: [Domain], problem: DefaultsError?) {
        let domains = try domains(in: "", of: .current)
        do throws(DefaultsError) {
            return (try domains + self.domains(in: Domain.hostDirectory, of: .current), nil)
        } catch {
            return (domains, error)
        }
    }

    /// Every domain that has a file in the directory itself, or in one below it.
    package func domains(in subdirectory: String, of user: DomainUser) throws(DefaultsError) -> [Domain] {
        let prefix = subdirectory.isEmpty ? "" : subdirectory + "/"
        return try names(in: subdirectory).compactMap { Domain(fileName: prefix + $0, user: user) }
    }

    /// The names in the directory, or in one below it; none when it doesn't exist.
    package func names(in subdirectory: String) throws(DefaultsError) -> [String] {
        try entries(in: subdirectory).map(\.name)
    }

    /// What is in a directory.
    struct Entry {
        var name: String
        /// Whether it is a symbolic link, or the file system doesn't tell.
        var mayBeLink: Bool
    }

    /// What is in the directory, or in one below it; nothing when it doesn't exist.
    func entries(in subdirectory: String) throws(DefaultsError) -> [Entry] {
        let path = subdirectory.isEmpty ? self.path : "\(self.path)/\(subdirectory)"
        guard let stream = opendir(path) else {
            let number = errno
            if number == ENOENT { return [] }
            throw DefaultsError(.directory, errno: number, "The directory \(path) can't be read")
        }
        defer { closedir(stream) }
        var entries: [Entry] = []
        while true {
            // The end and a failure are told apart by errno alone.
            errno = 0
            guard let entry = readdir(stream) else {
                if errno == 0 { return entries }
                throw DefaultsError(.directory, errno: errno, "The directory \(path) can't be read")
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            guard let name, name != ".", name != ".." else { continue }
            let mayBeLink = [DT_LNK, DT_UNKNOWN].contains(Int(entry.pointee.d_type))
            entries.append(Entry(name: name, mayBeLink: mayBeLink))
        }
    }

    private static func absolute(_ path: String) throws(DefaultsError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DefaultsError(.directory, "The preferences directory's path is empty; name a directory.")
        }
        return Path.isAbsolute(path) ? path : "\(workingDirectory())/\(path)"
    }

    /// The working directory; "." where it can't be told.
    static func workingDirectory() -> String {
        guard let working = getcwd(nil, 0) else { return "." }
        defer { free(working) }
        return String(cString: working)
    }

    private static func standardPath(_ environment: Environment) throws(DefaultsError) -> String {
        // A relative XDG_CONFIG_HOME is to be ignored: https://specifications.freedesktop.org/basedir-spec/latest/
        if let configured = environment["XDG_CONFIG_HOME"], Path.isAbsolute(configured) { return configured }
        guard let home = environment.home else {
            throw DefaultsError(.directory, "No home directory is known; set HOME or DEFAULTS_DIRECTORY.")
        }
        return home + "/.config"
    }
}
