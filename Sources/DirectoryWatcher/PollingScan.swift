internal import Glibc
internal import Linux

/// A listing of the directory: the results of `lstat` and `stat` for each relevant name.
///
/// Where inotify can't be used, successive listings are compared.
struct PollingScan: Equatable {
    /// The identity of the listed directory; `nil` if the directory is missing.
    var identity: DirectoryIdentity?
    var signatures: [String: FileSignature] = [:]
    /// The permissions of the directory and of its subdirectories, by name.
    var permissions: [String: DirectoryPermissions] = [:]

    /// Creates an empty listing, for a missing directory.
    init() {}

    /// Lists an open directory and its subdirectories.
    init(
        _ directory: borrowing OpenPath, subdirectories: [String], isRelevant: (String) -> Bool
    ) throws(SystemCall.Failure) {
        identity = directory.identity
        try list(".", below: directory.descriptor, prefix: "", isRelevant: isRelevant)
        for name in subdirectories {
            // A subdirectory that is missing or unreadable has no names.
            try? list(name, below: directory.descriptor, prefix: name + "/", isRelevant: isRelevant)
        }
    }

    private mutating func list(
        _ path: String, below parent: Int32, prefix: String, isRelevant: (String) -> Bool
    ) throws(SystemCall.Failure) {
        let listing = try DirectoryListing(path, below: parent)
        let descriptor = listing.descriptor
        if let status = try? FileStatus(ofDescriptor: descriptor) { permissions[path] = DirectoryPermissions(status) }
        while let entry = try listing.next() {
            guard let name = entry.name, isRelevant(prefix + name) else { continue }
            signatures[prefix + name] = try? FileSignature(name, in: descriptor)
        }
    }

    /// Returns whether the owner, group or mode of the directory, or of a subdirectory in both listings, has changed.
    func hasOtherPermissions(than old: PollingScan) -> Bool {
        permissions.contains { name, now in old.permissions[name].map { $0 != now } ?? false }
    }

    /// Returns the names that appeared, disappeared, or may have changed since an older listing.
    func changes(since old: PollingScan) -> Set<String> {
        var names = Set(old.signatures.keys.filter { signatures[$0] == nil })
        for (name, signature) in signatures {
            if old.signatures[name].map(signature.mayDiffer) ?? true { names.insert(name) }
        }
        return names
    }
}
