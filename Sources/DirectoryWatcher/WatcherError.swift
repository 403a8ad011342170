/// The reason why a watcher couldn't be started.
///
/// It isn't an error if the directory is missing or inotify is unavailable: the watcher then waits or polls, and its
/// ``WatcherStatus`` says so.
package struct WatcherError: Error, Equatable, CustomStringConvertible {
    /// The kind of failure.
    package struct Code: Sendable, Hashable {
        private let name: String
        private init(_ name: String) { self.name = name }

        /// Another watcher exists in this process.
        ///
        /// libinotifytools has one instance per process.
        package static let alreadyWatching = Code("alreadyWatching")
        /// The directory's path is empty.
        package static let noDirectory = Code("noDirectory")
    }

    /// The kind of failure.
    package let code: Code
    /// A message that says what went wrong and what to do about it.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
