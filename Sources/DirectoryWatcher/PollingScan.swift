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
        var isLink: Bool
        /// What a link leads to; `nil` if it isn't a link, or leads nowhere.
        var target: Stamp?
        /// Whether the file changed so shortly before the listing that a later change may look the same.
        var isFresh: Bool

        /// Looks at a name in a directory; `nil` if it isn't there.
        init?(_ name: String, in directory: Int32 = AT_FDCWD, at now: Duration) {
            var information = stat()
            guard fstatat(directory, name, &information, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
            entry = Stamp(information)
            isLink = information.st_mode & S_IFMT == S_IFLNK
            if isLink, fstatat(directory, name, &information, 0) == 0 { target = Stamp(information) }
            let age = now - (target?.changed ?? entry.changed)
            isFresh = (.milliseconds(-20) ... .milliseconds(20)).contains(age)
        }

        /// Whether the file was changed since an older look, or may have been.
        func mayDiffer(from before: Signature) -> Bool {
            before.isFresh || before.entry != entry || before.target != target
        }
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
        let now = Duration.sinceEpoch
        identity = directory.identity
        try list(directory.descriptor, ".", prefix: "", at: now, isRelevant: isRelevant)
        for name in subdirectories {
            // A subdirectory that isn't there, or can't be read, has no names.
            try? list(directory.descriptor, name, prefix: name + "/", at: now, isRelevant: isRelevant)
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
            guard name != ".", name != "..", isRelevant(prefix + name) else { continue }
            signatures[prefix + name] = Signature(name, in: descriptor, at: now)
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

extension Duration {
    /// The system's time, as files bear it.
    static var sinceEpoch: Duration {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Duration(now)
    }

    fileprivate init(_ time: timespec) {
        self = .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
