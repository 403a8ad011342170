internal import Glibc

/// What a listing of the directory found: for each relevant name, what `lstat` and `stat` say.
///
/// Where events don't come, two listings are compared.
struct PollingScan: Equatable {
    /// Which directory was listed; `nil` if there is none.
    var identity: DirectoryIdentity?
    var signatures: [String: FileSignature] = [:]
    /// Who may write to the directory, and to its subdirectories by name.
    var permissions: [String: DirectoryPermissions] = [:]

    /// A listing of nothing: there is no directory.
    init() {}

    /// Lists an open directory and its subdirectories.
    init(
        _ directory: borrowing OpenDirectory, subdirectories: [String], isRelevant: (String) -> Bool
    ) throws(ErrorNumber) {
        identity = directory.identity
        try list(directory.descriptor, ".", prefix: "", isRelevant: isRelevant)
        for name in subdirectories {
            // A subdirectory that isn't there, or can't be read, has no names.
            try? list(directory.descriptor, name, prefix: name + "/", isRelevant: isRelevant)
        }
    }

    private mutating func list(
        _ parent: Int32, _ path: String, prefix: String, isRelevant: (String) -> Bool
    ) throws(ErrorNumber) {
        let stream = try openListing(path, below: parent)
        defer { closedir(stream) }
        let descriptor = dirfd(stream)
        var information = stat()
        if fstat(descriptor, &information) == 0 { permissions[path] = DirectoryPermissions(information) }
        while let entry = readdir(stream) {
            let name = entryName(entry)
            guard name != ".", name != "..", isRelevant(prefix + name) else { continue }
            signatures[prefix + name] = try? FileSignature(name, in: descriptor)
        }
    }

    /// Whether the directory, or a subdirectory that is in both listings, has another owner or mode than in an older one.
    func hasOtherPermissions(than old: PollingScan) -> Bool {
        permissions.contains { name, now in old.permissions[name].map { $0 != now } ?? false }
    }

    /// The names that came, went or changed since an older listing, or may have.
    func changes(since old: PollingScan) -> Set<String> {
        var names = Set(old.signatures.keys.filter { signatures[$0] == nil })
        for (name, signature) in signatures {
            if old.signatures[name].map(signature.mayDiffer) ?? true { names.insert(name) }
        }
        return names
    }
}
