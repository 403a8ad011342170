internal import Glibc

/// A snapshot of the watcher's state, for status reports and tests.
package struct WatcherStatus: Sendable, Equatable {
    /// The way in which changes are detected.
    package enum Mode: Sendable, Equatable {
        /// By inotify and the identity check.
        case inotify
        /// By comparing listings, for the given reason.
        case polling(PollingReason)
        /// There is no directory to watch. Its creation will be detected by inotify, on the nearest existing directory
        /// above, and by the identity check.
        case waiting(WaitingReason)
    }

    /// The reason why inotify isn't used.
    package enum PollingReason: Sendable, Equatable {
        /// The configuration asked for ``DirectoryWatcher/PollingChoice/always``.
        case requested
        /// The directory is on a file system that doesn't report changes made by other machines.
        case fileSystem(name: String)
        /// inotify is unavailable. It is retried after the retry interval and by ``DirectoryWatcher/requestRescan()``.
        case inotifyUnavailable(InotifyFailure)
    }

    /// The reason why there is nothing to watch.
    package enum WaitingReason: Sendable, Equatable {
        /// Nothing exists at the path.
        case missing
        /// The path, or a component on the way to it, isn't a directory.
        case notADirectory
        /// The directory can't be opened.
        case unreadable(errno: Int32)
    }

    /// The way in which changes are currently detected.
    package var mode: Mode
    /// The way in which changes to each companion are currently detected, by its path.
    ///
    /// The creation of a missing companion is detected by the identity check alone.
    package var companions: [String: Mode] = [:]
    /// The number of inotify watches held: on the directories, their subdirectories, and the directory above.
    package var watches = 0
    /// The number of times that the kernel's queue overflowed.
    package var overflows = 0
    /// The number of times that a rescan was marked, for any reason.
    package var rescans = 0
    /// The number of watches that were renewed because their directory was replaced or came back.
    package var rearms = 0
    /// The number of events ignored because their names aren't UTF-8 and so can't be domains.
    package var undecodableNames = 0
}

/// The reason why inotify can't be used.
package enum InotifyFailure: Error, Sendable, Equatable {
    /// The kernel refused an inotify instance.
    case noInstance(errno: Int32)
    /// The kernel refused a watch.
    case noWatch(errno: Int32)
    /// The instance's file descriptor can't be found in `/proc/self/fd`.
    case noDescriptor
    /// The instance's file descriptor is too high for `select`, which libinotifytools uses.
    case descriptorTooHigh(Int32)
    /// Reading events failed.
    case reading(errno: Int32)
}

extension WatcherStatus.Mode {
    /// The names of the mode and of its reason, for programs; the reason for inotify is empty.
    package var names: (kind: String, reason: String) {
        switch self {
        case .inotify: ("inotify", "")
        case .polling(.requested): ("polling", "requested")
        case .polling(.fileSystem): ("polling", "fileSystem")
        case .polling(.inotifyUnavailable): ("polling", "inotifyUnavailable")
        case .waiting(.missing): ("waiting", "missing")
        case .waiting(.notADirectory): ("waiting", "notADirectory")
        case .waiting(.unreadable): ("waiting", "unreadable")
        }
    }
}

extension WatcherStatus.Mode: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inotify: "inotify"
        case .polling(.requested): "polling, as configured"
        case .polling(.fileSystem(let name)): "polling: \(name) doesn't report the changes of other machines"
        case .polling(.inotifyUnavailable(let failure)): "polling: \(failure)"
        case .waiting(.missing): "waiting: the directory doesn't exist"
        case .waiting(.notADirectory): "waiting: the path doesn't lead to a directory"
        case .waiting(.unreadable(let errno)): "waiting: the directory can't be opened (\(errorText(errno)))"
        }
    }
}

extension InotifyFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noInstance(EMFILE):
            "no inotify instance is available: raise the limit of open files (ulimit -n) or "
                + "fs.inotify.max_user_instances"
        case .noInstance(let errno): "no inotify instance is available (\(errorText(errno)))"
        case .noWatch(ENOSPC): "no inotify watch is available: raise fs.inotify.max_user_watches"
        case .noWatch(let errno): "no inotify watch is available (\(errorText(errno)))"
        case .noDescriptor: "the inotify instance can't be found in /proc/self/fd: mount /proc"
        case .descriptorTooHigh(let descriptor):
            "the inotify instance got file descriptor \(descriptor), but libinotifytools can't use any above 1023: "
                + "start the watcher before opening other files"
        case .reading(let errno): "reading inotify events failed (\(errorText(errno)))"
        }
    }
}

/// Returns the C library's message for an error number, followed by the number.
func errorText(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    // This is the XSI version of strerror_r, which Glibc declares without _GNU_SOURCE. strerror isn't thread-safe.
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "errno \(code)" }
    let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
    return String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self) + ", errno \(code)"
}
