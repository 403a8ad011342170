internal import Glibc

/// How the watcher is doing: a snapshot, for `status` reports and for tests.
package struct WatcherStatus: Sendable, Equatable {
    /// How changes are noticed.
    package enum Mode: Sendable, Equatable {
        /// By inotify, and the identity check.
        case inotify
        /// By comparing listings, for this reason.
        case polling(PollingReason)
        /// There is no directory to watch now. Its coming is noticed by inotify on the nearest directory above it that
        /// exists, and by the identity check.
        case waiting(WaitingReason)
    }

    /// Why inotify isn't used.
    package enum PollingReason: Sendable, Equatable {
        /// ``DirectoryWatcher/PollingChoice/always`` was asked for.
        case requested
        /// The directory is on a file system that doesn't report what other machines do.
        case fileSystem(name: String)
        /// inotify can't be had. It is tried again every minute, and with ``DirectoryWatcher/requestRescan()``.
        case inotifyUnavailable(InotifyFailure)
    }

    /// Why there is nothing to watch.
    package enum WaitingReason: Sendable, Equatable {
        /// Nothing is at the path.
        case missing
        /// What is at the path, or on the way to it, isn't a directory.
        case notADirectory
        /// The directory can't be opened.
        case unreadable(errno: Int32)
    }

    /// How changes are noticed now.
    package var mode: Mode
    /// How changes of each companion are noticed now, by its path.
    ///
    /// One that is waited for is looked for by the identity check alone.
    package var companions: [String: Mode] = [:]
    /// inotify watches that are held now: on the directories, their subdirectories, and the directory above.
    package var watches = 0
    /// Times that the kernel's queue overflowed.
    package var overflows = 0
    /// Times that a rescan was marked, for whatever reason.
    package var rescans = 0
    /// Watches that were set again because what they watched was replaced, or came back.
    package var rearms = 0
    /// Events passed over because their names aren't UTF-8, and so can't be domains.
    package var undecodableNames = 0
}

/// Why inotify can't be used.
package enum InotifyFailure: Error, Sendable, Equatable {
    /// The kernel gives no inotify instance.
    case noInstance(errno: Int32)
    /// The kernel gives no watch.
    case noWatch(errno: Int32)
    /// The instance's file descriptor can't be found in `/proc/self/fd`.
    case noDescriptor
    /// The instance's file descriptor is too high for `select`, which libinotifytools uses.
    case descriptorTooHigh(Int32)
    /// Reading events failed.
    case reading(errno: Int32)
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
            "no inotify instance can be had: raise the limit of open files (ulimit -n) or of "
                + "fs.inotify.max_user_instances"
        case .noInstance(let errno): "no inotify instance can be had (\(errorText(errno)))"
        case .noWatch(ENOSPC): "no inotify watch can be had: raise fs.inotify.max_user_watches"
        case .noWatch(let errno): "no inotify watch can be had (\(errorText(errno)))"
        case .noDescriptor: "the inotify instance can't be found in /proc/self/fd: mount /proc"
        case .descriptorTooHigh(let descriptor):
            "the inotify instance got file descriptor \(descriptor), and libinotifytools can use none above 1023: "
                + "start the watcher before other files are opened"
        case .reading(let errno): "reading inotify's events failed (\(errorText(errno)))"
        }
    }
}

/// What the C library says about an error number, and the number.
func errorText(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    // XSI's strerror_r, by Glibc's headers without _GNU_SOURCE: strerror's buffer isn't safe between threads.
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "errno \(code)" }
    let end = buffer.firstIndex(of: 0) ?? buffer.endIndex
    return String(decoding: buffer[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self) + ", errno \(code)"
}
