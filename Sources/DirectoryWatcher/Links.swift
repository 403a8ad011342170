internal import Linux

/// The names that are links to files, with their targets, and those of tied files (`FileTies`): a watch on their
/// directory doesn't report every change.
struct Links {
    /// The target of a link when it was last checked.
    struct Target {
        /// The target's path with all links resolved, or the last known one; `nil` if the link has never resolved, and
        /// for a tied file.
        var path: String?
        var signature: FileSignature
    }

    private var targets: [String: Target] = [:]
    /// The links' names, by the directory and the entry that they lead to.
    private var names: [String: [String: Set<String>]] = [:]

    var isEmpty: Bool { targets.isEmpty }

    /// All links and tied files.
    var all: some Sequence<String> { targets.keys }

    /// The directories that hold the links' targets.
    var directories: some Sequence<String> { names.keys }

    /// The target of a link or the state of a tied file; `nil` for any other name.
    subscript(name: String) -> Target? {
        get { targets[name] }
        set {
            if let (directory, entry) = targets[name]?.location {
                names[directory]?[entry]?.remove(name)
                if names[directory]?[entry]?.isEmpty == true { names[directory]?[entry] = nil }
                if names[directory]?.isEmpty == true { names[directory] = nil }
            }
            targets[name] = newValue
            if let (directory, entry) = newValue?.location {
                names[directory, default: [:]][entry, default: []].insert(name)
            }
        }
    }

    /// Returns whether any link leads into a directory.
    func lead(into directory: String) -> Bool { names[directory] != nil }

    /// Returns the links that lead into a directory.
    func names(into directory: String) -> Set<String> {
        names[directory]?.values.reduce(into: []) { $0.formUnion($1) } ?? []
    }

    /// Returns the links that lead to an entry of a directory.
    func names(to entry: String, in directory: String) -> Set<String> { names[directory]?[entry] ?? [] }
}

extension Links.Target {
    /// The target's directory and its name there.
    fileprivate var location: (directory: String, entry: String)? {
        guard let path, Path.isAbsolute(path) else { return nil }
        return (Path.directory(of: path), Path.lastName(of: path))
    }
}
