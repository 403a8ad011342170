internal import Linux

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
        /// checks of the paths detect a companion that has appeared, or that was replaced
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
        /// Other names are ignored. The function is called for every event, so it should be fast. It must not call the
        /// watcher.
        package var isRelevant: @Sendable (String) -> Bool
        /// The signal that the kernel sends to the process when events are queued (`man 2 fcntl`, `F_SETSIG`), for an
        /// owner that can't wait for the descriptor itself; `nil` for none.
        ///
        /// While such a signal is pending, further events send no other.
        package var signal: Int32?

        package init(
            directory: String, subdirectories: [String] = [], companions: [String] = [],
            polling: PollingChoice = .automatic, identityCheckInterval: Duration = .seconds(5),
            pollInterval: Duration = .seconds(2), rearmInterval: Duration = .milliseconds(100),
            retryInterval: Duration = .seconds(60),
            unreportingFileSystems: [Int64: String] = NetworkFileSystem.names,
            signal: Int32? = nil,
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
            self.signal = signal
            self.isRelevant = isRelevant
        }
    }
}
