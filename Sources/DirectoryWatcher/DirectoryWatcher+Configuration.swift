extension DirectoryWatcher {
    /// The condition under which listings are compared instead of using inotify.
    package enum PollingChoice: Sendable, Hashable {
        /// If inotify is unavailable, or the file system doesn't report changes made by other machines.
        case automatic
        case always
    }

    /// The directories to watch, and how to watch them.
    package struct Configuration: Sendable {
        /// The directory's path; a relative path is resolved once, against the current directory, when watching starts.
        package var directory: String
        /// The names of subdirectories, directly in the directory, that are also watched.
        package var subdirectories: [String]
        /// The absolute paths of additional directories, each of which is watched with the same subdirectories.
        ///
        /// Names in companions are reported as absolute paths. The directories above a companion aren't watched: the
        /// identity check and ``DirectoryWatcher/drain()`` detect a companion that has appeared, or that was replaced
        /// together with a directory above it. If inotify is unavailable for a companion, that companion is polled, and
        /// the identity check runs as often as a poll; nothing else changes for the other directories.
        package var companions: [String]
        /// The condition under which listings are compared instead of using inotify.
        package var polling: PollingChoice
        /// The interval between identity checks, which detect changes to the paths that inotify doesn't report.
        package var identityCheckInterval: Duration
        /// The interval between comparisons of listings when polling.
        package var pollInterval: Duration
        /// The minimum time between two rounds of setting watches, which limits the cost of a directory that is
        /// constantly replaced.
        package var rearmInterval: Duration
        /// The time after which inotify is retried if it was unavailable.
        package var retryInterval: Duration
        /// The file systems that are polled because inotify doesn't report every change on them: their names, by magic
        /// number.
        package var unreportingFileSystems: [Int64: String]
        /// Returns whether a name, relative to the directory or to a companion, is relevant.
        ///
        /// Other names are ignored. The function is called on the watcher's thread, so it should be fast. It must not
        /// call the watcher.
        package var isRelevant: @Sendable (String) -> Bool
        /// A function called on the watcher's thread after each check of the paths, for other periodic checks.
        ///
        /// It must neither block nor call the watcher.
        package var onCheck: @Sendable () -> Void

        package init(
            directory: String, subdirectories: [String] = [], companions: [String] = [],
            polling: PollingChoice = .automatic, identityCheckInterval: Duration = .seconds(5),
            pollInterval: Duration = .seconds(2), rearmInterval: Duration = .milliseconds(100),
            retryInterval: Duration = .seconds(60),
            unreportingFileSystems: [Int64: String] = Self.networkFileSystems,
            onCheck: @escaping @Sendable () -> Void = {},
            isRelevant: @escaping @Sendable (String) -> Bool = { _ in true }
        ) {
            self.directory = directory
            self.subdirectories = subdirectories
            self.companions = companions
            self.polling = polling
            self.identityCheckInterval = identityCheckInterval
            self.pollInterval = pollInterval
            self.rearmInterval = rearmInterval
            self.retryInterval = retryInterval
            self.unreportingFileSystems = unreportingFileSystems
            self.onCheck = onCheck
            self.isRelevant = isRelevant
        }

        /// The file systems whose files other machines or servers can change without the kernel's knowledge.
        ///
        /// The numbers come from `linux/magic.h` and from the file systems' sources.
        package static let networkFileSystems: [Int64: String] = [
            0x6969: "NFS",
            0x517B: "SMB",
            0xFF53_4D42: "CIFS",
            0xFE53_4D42: "SMB2",
            0x6573_5546: "FUSE",
            0x0102_1997: "9P",
            0x00C3_6400: "Ceph",
            0x5346_414F: "AFS",
            0x6B41_4653: "AFS",
            0x7375_7245: "Coda",
            0x0116_1970: "GFS2",
            0x7461_636F: "OCFS2",
            0x0BD0_0BD0: "Lustre",
            0x1983_0326: "BeeGFS",
            0x786F_4256: "VirtualBox's shared folders",
            0xBACB_ACBC: "VMware's shared folders",
        ]
    }
}
