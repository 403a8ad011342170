import Linux

extension PreferencesDirectory {
    /// Finds the domain stored in a file: in this directory, or else in the directory that contains the file.
    ///
    /// - Parameter path: the path, with ".plist".
    /// - Returns: the domain, and its directory where that isn't this one; `nil` when the file's name can't be a domain's.
    package func domain(at path: String) -> (domain: Domain, elsewhere: PreferencesDirectory?)? {
        // A link to one of this directory's files is that domain too; but a file here may itself be a link.
        let linked = PreferencesDirectory(path: path).resolvedPath
        if let domain = ownDomain(at: path) ?? ownDomain(at: linked) { return (domain, nil) }
        let (parent, name) = Self.split(path)
        return Domain(fileName: name).map { ($0, PreferencesDirectory(path: parent)) }
    }

    /// The domain of a file in this directory or its host directory; `nil` for other paths.
    private func ownDomain(at path: String) -> Domain? {
        let (parent, name) = Self.split(path)
        let home = resolvedPath
        if parent == home { return Domain(fileName: name) }
        return parent == "\(home)/\(Domain.hostDirectory)" ? Domain(fileName: "\(Domain.hostDirectory)/\(name)") : nil
    }

    /// A path's directory, as its links lead to it, and its last name.
    private static func split(_ path: String) -> (parent: String, name: String) {
        let cut = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        let parent = PreferencesDirectory(path: PreferencesDirectory(path: String(path[...cut])).resolvedPath)
        return (parent.path, String(path[path.utf8.index(after: cut)...]))
    }
}
