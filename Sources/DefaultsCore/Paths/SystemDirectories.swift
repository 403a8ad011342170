import Linux

/// The directories of the domains that apply to all users: read-only layers in addition to the user's own.
package struct SystemDirectories: Hashable, Sendable {
    /// The system directories: absolute paths, in search order.
    package let anyUser: [String]
    /// The managed directory, an absolute path; `nil` for none.
    package let managed: String?

    /// No directories.
    package static let none = SystemDirectories(anyUser: [], managed: nil)

    /// Creates a list of directories.
    ///
    /// A relative path is dropped, and so is a path that leads to the same directory as an earlier one or as the
    /// managed directory.
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

    /// Returns these directories without the user's own preferences directory, which may be one of them.
    package func excluding(_ own: PreferencesDirectory) -> SystemDirectories {
        SystemDirectories(
            anyUser: anyUser.filter { !PreferencesDirectory(path: $0).isSame(as: own) },
            managed: managed.flatMap { PreferencesDirectory(path: $0).isSame(as: own) ? nil : $0 })
    }

    /// All the paths.
    package var paths: [String] { anyUser + [managed].compactMap(\.self) }

    /// Returns the domains stored in the file at an absolute path: at most one, unless one of the directories is inside
    /// another.
    package func domains(atPath path: String) -> [Domain] {
        layers.compactMap { user, directory in
            // Compare bytes, as the file system does.
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

    /// Returns the directory of a layer's domains, given the layer's user; `nil` if none of these directories is that
    /// layer's.
    package func directory(of user: DomainUser) -> PreferencesDirectory? {
        layers.first { $0.user == user }?.directory
    }

    /// Returns every domain that currently has a file in one of the directories, in order.
    ///
    /// A directory that is missing or can't be read contributes none; for the latter, see `problems`.
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
