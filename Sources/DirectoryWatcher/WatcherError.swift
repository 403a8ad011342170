/// Why a watcher could not be started.
///
/// That the directory is missing, or that inotify is out, is no error: the watcher then waits, or polls, and says so in
/// its ``WatcherStatus``.
package struct WatcherError: Error, Equatable, CustomStringConvertible {
    /// What went wrong.
    package struct Code: Sendable, Hashable {
        private let name: String
        private init(_ name: String) { self.name = name }

        /// Another watcher lives in this process.
        ///
        /// Libinotifytools keeps one instance a process.
        package static let alreadyWatching = Code("alreadyWatching")
        /// The directory's path is empty.
        package static let noDirectory = Code("noDirectory")
        /// The kernel refused what the watcher can't do without: a file descriptor or a thread.
        package static let outOfResources = Code("outOfResources")
    }

    /// What went wrong.
    package let code: Code
    /// The system's error number, where there is one.
    package let errno: Int32?
    /// What went wrong, and what to do about it, in a sentence.
    package let description: String

    init(_ code: Code, errno: Int32? = nil, _ description: String) {
        self.code = code
        self.errno = errno
        self.description = description
    }
}
