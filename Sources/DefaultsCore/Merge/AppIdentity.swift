import CLinux
import Glibc

/// A process that edits or subscribes.
package struct AppIdentity: Hashable, Sendable {
    /// The process's number when it connected.
    package var pid: Int32
    /// The path of its executable, empty when it can't be told.
    package var executable: String

    package init(pid: Int32, executable: String) {
        self.pid = pid
        self.executable = executable
    }

    /// A process that runs now.
    package init(pid: Int32) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = buffer.withUnsafeMutableBytes { bytes in
            bytes.bindMemory(to: CChar.self).baseAddress.map { readlink("/proc/\(pid)/exe", $0, bytes.count) } ?? -1
        }
        self.init(pid: pid, executable: String(decoding: buffer.prefix(max(0, length)), as: UTF8.self))
    }

    /// This process.
    package static var current: AppIdentity { AppIdentity(pid: linux_pid(), executable: executableOfCurrent) }

    /// The executable's path, the same in a forked child.
    private static let executableOfCurrent = AppIdentity(pid: getpid()).executable
}
