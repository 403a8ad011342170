internal import Linux

/// The names that are links to files, and what each leads to: of its changes a watch of the link's directory says nothing.
struct Links {
    /// What a link led to when it was last looked at.
    struct Target {
        /// Its path without links, or the last one that it had; `nil` if there was nothing yet.
        var path: String?
        var signature: FileSignature
    }

    private var targets: [String: Target] = [:]
    /// The links' names by what they lead to: a directory, and a name in it.
    private var names: [String: [String: Set<String>]] = [:]

    var isEmpty: Bool { targets.isEmpty }

    /// All links.
    var all: some Sequence<String> { targets.keys }

    /// The directories that hold what links lead to.
    var directories: some Sequence<String> { names.keys }

    /// What a link leads to; `nil` if the name is no link.
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

    /// Whether any link leads into a directory.
    func lead(into directory: String) -> Bool { names[directory] != nil }

    /// The links that lead into a directory.
    func names(into directory: String) -> Set<String> {
        names[directory]?.values.reduce(into: []) { $0.formUnion($1) } ?? []
    }

    /// The links that lead to an entry of a directory.
    func names(to entry: String, in directory: String) -> Set<String> { names[directory]?[entry] ?? [] }
}

extension Links.Target {
    /// The directory and the name in it.
    fileprivate var location: (directory: String, entry: String)? {
        guard let path, Path.isAbsolute(path) else { return nil }
        return (Path.directory(of: path), Path.lastName(of: path))
    }
}
