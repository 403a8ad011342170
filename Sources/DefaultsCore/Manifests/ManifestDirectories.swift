import Linux

/// The directories of manifests, each of which describes the domain whose file has the same name.
///
/// They are `defaultsd/manifests` in `$XDG_DATA_HOME` (by default `~/.local/share`), and then in each of
/// `$XDG_DATA_DIRS` (by default `/usr/local/share` and `/usr/share`).
package struct ManifestDirectories: Hashable, Sendable {
    /// The absolute paths, in search order.
    package let paths: [String]
    /// The user's own directory, the first of the paths; `nil` if the user has no home directory.
    package let own: String?

    /// No directories.
    package static let none = ManifestDirectories(paths: [], own: nil)

    private init(paths: [String], own: String?) { (self.paths, self.own) = (paths, own) }

    /// Finds the directories of an environment; a relative path is ignored, as the XDG specification demands.
    package init(environment: Environment) {
        func manifests(_ data: String) -> String? {
            Path.isAbsolute(data) && !data.utf8.contains(0)
                ? "\(Path.withoutTrailingSlashes(data))/defaultsd/manifests" : nil
        }
        let home = environment["XDG_DATA_HOME"].flatMap(manifests)
        own = home ?? environment.home.flatMap { manifests("\($0)/.local/share") }
        let others = environment["XDG_DATA_DIRS"] ?? "/usr/local/share:/usr/share"
        var paths: [String] = []
        for path in [own] + others.split(separator: ":").map({ manifests(String($0)) }) {
            if let path, !paths.contains(path) { paths.append(path) }
        }
        self.paths = paths
    }

    /// Returns whether one of the directories contains a path.
    package func contains(_ path: String) -> Bool { paths.contains { path.utf8.starts(with: "\($0)/".utf8) } }
}
