import Glibc

/// A file system in memory that is soon full, in a mount namespace of its own; it needs no rights where users may make
/// namespaces.
package final class SmallFileSystem {
    private let holder: ForeignProcess
    /// Its root, as this process reaches it.
    package let path: String

    /// Whether it can be made here.
    package static let isAvailable: Bool = (try? SmallFileSystem(at: "/tmp", bytes: 4096)) != nil

    /// Mounts it on a directory, for those alone who look through `path`.
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
