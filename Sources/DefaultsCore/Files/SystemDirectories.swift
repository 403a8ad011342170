import Linux

/// The directories with the domains of all users of this system: layers beside the user's own, never written to.
package struct SystemDirectories: Hashable, Sendable {
    /// The system directories: absolute paths, in search order.
    package let anyUser: [String]
    /// The managed directory, an absolute path; `nil` for none.
    package let managed: String?

    /// No directories.
    package static let none = SystemDirectories(anyUser: [], managed: nil)

    /// Creates a list of directories.
    ///
    /// Paths that aren't distinct directories are dropped: a relative path, and a path that leads to the same directory
    /// as one before it, or as the managed directory.
    package init(anyUser: [String], managed: String?) {
        let managed = managed.flatMap(Self.directory)
        var kept: [PreferencesDirectory] = []
        for directory in anyUser.compactMap(Self.directory) {
            let isKnown = (kept + [managed].compactMap(\.self)).contains { $0.isSame(as: directory) }
            if !isKnown { kept.append(directory) }
        }
        self.anyUser = kept.map(\.path)
        self.managed = managed?.path
    }

    /// Finds the directories of an environment.
    ///
    /// The system directories are those in `DEFAULTS_SYSTEM_DIRECTORIES`, or else those in `XDG_CONFIG_DIRS` (by
    /// default `/etc/xdg`) and `/usr/local/etc`, where Foundation looks. The managed directory is
    /// `DEFAULTS_MANAGED_DIRECTORY`, or else `/etc/defaultsd/managed`. A variable without an absolute path means no
    /// directory; an empty one counts as unset.
    package init(environment: Environment) {
        let anyUser =
            environment["DEFAULTS_SYSTEM_DIRECTORIES"]
            ?? "\(environment["XDG_CONFIG_DIRS"] ?? "/etc/xdg"):/usr/local/etc"
        self.init(
            anyUser: anyUser.split(separator: ":").map(String.init),
            managed: environment["DEFAULTS_MANAGED_DIRECTORY"] ?? "/etc/defaultsd/managed")
    }

    /// Returns these directories without the user's own, which may be one of them.
    package func excluding(_ own: PreferencesDirectory) -> SystemDirectories {
        SystemDirectories(
            anyUser: anyUser.filter { !PreferencesDirectory(path: $0).isSame(as: own) },
            managed: managed.flatMap { PreferencesDirectory(path: $0).isSame(as: own) ? nil : $0 })
    }

    /// All the paths.
    package var paths: [String] { anyUser + [managed].compactMap(\.self) }

    /// Returns the domains that a file at an absolute path holds: one, unless one of the directories is inside another.
    package func domains(atPath path: String) -> [Domain] {
        layers.compactMap { user, directory in
            // Compares bytes, as the file system does.
            let start = "\(directory.path)/".utf8
            guard path.utf8.starts(with: start) else { return nil }
            return Domain(fileName: String(Substring(path.utf8.dropFirst(start.count))), user: user)
        }
    }

    /// The layers: each directory, with its user.
    private var layers: [(user: DomainUser, directory: PreferencesDirectory)] {
        anyUser.map { (.any(directory: $0), PreferencesDirectory(path: $0)) }
            + [managed].compactMap(\.self).map { (.managed, PreferencesDirectory(path: $0)) }
    }

    /// Returns the directory that holds a user's domains; `nil` if none of these does.
    package func directory(of user: DomainUser) -> PreferencesDirectory? {
        layers.first { $0.user == user }?.directory
    }

    /// Returns every domain that has a file in one of the directories now, in order.
    ///
    /// A directory that is missing has none. Neither has one that can't be read; see `problems`.
    func domains() -> [Domain] {
        layers.flatMap { user, directory in
            ["", Domain.hostDirectory].flatMap { (try? directory.domains(in: $0, of: user)) ?? [] }
        }.sorted()
    }

    /// The errors of directories that exist but can't be read; the values that were read from them stay in effect.
    package var problems: [DefaultsError] {
        paths.map { PreferencesDirectory(path: $0) }.compactMap { $0.isMissing ? nil : $0.problem }
    }

    private static func directory(_ path: String) -> PreferencesDirectory? {
        Path.isAbsolute(path) && !path.utf8.contains(0) ? PreferencesDirectory(path: path) : nil
    }
}
