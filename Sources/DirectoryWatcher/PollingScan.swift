internal import Glibc

/// What a listing of the directory found: for each relevant name, what `lstat` and `stat` say.
///
/// Where events don't come, two listings are compared. A file that was changed within 20 ms of the listing may be
/// changed once more without showing it (the kernel's clock for times ticks every 4 to 10 ms), and is reported by the
/// next comparison too.
struct PollingScan: Equatable {
    /// What tells one state of a file from another.
    struct Signature: Equatable {
        var entry: Stamp
        /// What a link leads to; `nil` if it isn't a link, or leads nowhere.
        var target: Stamp?
        /// Whether the file changed so shortly before the listing that a later change may look the same.
        var isFresh = false
    }

    struct Stamp: Equatable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modified: Duration
        var changed: Duration

        init(_ information: stat) {
            device = UInt64(information.st_dev)
            inode = UInt64(information.st_ino)
            size = Int64(information.st_size)
            modified = Duration(information.st_mtim)
            changed = Duration(information.st_ctim)
        }
    }

    /// Which directory was listed; `nil` if there is none.
    var identity: DirectoryIdentity?
    var signatures: [String: Signature] = [:]
    /// Who may write to the directory, and to its subdirectories by name.
    var permissions: [String: DirectoryPermissions] = [:]

    /// A listing of nothing: there is no directory.
    init() {}

    /// Lists an open directory and its subdirectories.
    init(
        _ directory: borrowing OpenDirectory, subdirectories: [String], isRelevant: (String) -> Bool
    ) throws(ErrorNumber) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        identity = directory.identity
        try list(directory.descriptor, ".", prefix: "", at: Duration(now), isRelevant: isRelevant)
        for name in subdirectories {
            // A subdirectory that isn't there, or can't be read, has no names.
            try? list(directory.descriptor, name, prefix: name + "/", at: Duration(now), isRelevant: isRelevant)
        }
    }

    private mutating func list(
        _ parent: Int32, _ path: String, prefix: String, at now: Duration, isRelevant: (String) -> Bool
    ) throws(ErrorNumber) {
        let descriptor = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw ErrorNumber(code: errno) }
        guard let stream = fdopendir(descriptor) else {
            let code = errno
            close(descriptor)
            throw ErrorNumber(code: code)
        }
        defer { closedir(stream) }
        var information = stat()
        if fstat(descriptor, &information) == 0 { permissions[path] = DirectoryPermissions(information) }
        while let entry = readdir(stream) {
            let name = entryName(entry)
            guard name != ".", name != "..", isRelevant(prefix + name),
                fstatat(descriptor, name, &information, AT_SYMLINK_NOFOLLOW) == 0
            else { continue }
            var signature = Signature(entry: Stamp(information))
            if information.st_mode & S_IFMT == S_IFLNK, fstatat(descriptor, name, &information, 0) == 0 {
                signature.target = Stamp(information)
            }
            let age = now - (signature.target?.changed ?? signature.entry.changed)
            signature.isFresh = (.milliseconds(-20) ... .milliseconds(20)).contains(age)
            signatures[prefix + name] = signature
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
            guard let before = old.signatures[name] else {
                names.insert(name)
                continue
            }
            if before.isFresh || before.entry != signature.entry || before.target != signature.target {
                names.insert(name)
            }
        }
        return names
    }
}

extension Duration {
    fileprivate init(_ time: timespec) {
        self = .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
