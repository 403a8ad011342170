import Glibc

/// A small in-memory file system in its own mount namespace, for tests that need a full disk.
///
/// It requires no privileges where users may create namespaces.
package final class SmallFileSystem {
    private let holder: ForeignProcess
    /// The path of the root directory, as seen by this process.
    package let path: String

    /// Whether this machine allows such a file system.
    package static let isAvailable: Bool = (try? SmallFileSystem(at: "/tmp", bytes: 4096)) != nil

    /// Mounts the file system on a directory.
    ///
    /// The file system is visible only through `path`.
    package init(at directory: String, bytes: Int) throws {
        holder = try ForeignProcess(
            python: """
                import os, sys
                mount = 'mount -t tmpfs -o size="$1",mode=700 none "$0" && echo $$ && read line'
                os.execvp("unshare", ["unshare", "-Urm", "sh", "-c", mount] + sys.argv[1:])
                """, [directory, "\(bytes)"])
        guard let number = holder.line().flatMap({ pid_t($0) }) else { throw TestSystemError("mount") }
        path = "/proc/\(number)/root\(directory)"
    }
}
