extension DirectoryWatcher {
    /// When to compare listings instead of using inotify.
    package enum PollingChoice: Sendable, Hashable {
        /// Where inotify can't be had, or the file system doesn't report what others do.
        case automatic
        case always
    }

    /// What to watch, and how.
    package struct Configuration: Sendable {
        /// The directory's path; a relative one counts from the current directory at the start.
        package var directory: String
        /// Names of directories directly below, to be watched too.
        package var subdirectories: [String]
        /// Absolute paths of further directories, each to be watched with the same subdirectories.
        ///
        /// Names in them are reported as absolute paths. One that is missing, or was replaced together with what is above
        /// it, is found by the identity check and by ``DirectoryWatcher/drain()``: nothing above a companion is watched.
        /// One that inotify can't be had for is polled, which makes the identity check as frequent, and changes nothing
        /// for the others.
        package var companions: [String]
        /// When to compare listings instead of using inotify.
        package var polling: PollingChoice
        /// How often the paths are looked at for what inotify can't tell.
        package var identityCheckInterval: Duration
        /// How often listings are compared when polling.
        package var pollInterval: Duration
        /// The least time between two settings of watches: a directory that is replaced all the time costs no more.
        package var rearmInterval: Duration
        /// How often inotify is tried again after it could not be had.
        package var retryInterval: Duration
        /// File systems that inotify doesn't tell all of, to be polled: their names by magic number.
        package var unreportingFileSystems: [Int64: String]
        /// Whether a name, relative to the directory or to a companion, matters.
        ///
        /// Names that don't make no tick. It is called on the watcher's thread, which waits for it; it must not call
        /// the watcher.
        package var isRelevant: @Sendable (String) -> Bool
        /// Called on the watcher's thread when the paths have been looked at, for what else is to be looked at so often.
        ///
        /// It must not wait, nor call the watcher.
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

        /// File systems whose files other machines, or servers, change without the kernel's knowing.
        ///
        /// The numbers are those of `linux/magic.h` and of the file systems' sources.
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
