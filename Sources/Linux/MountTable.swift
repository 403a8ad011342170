import CLinux
import Glibc

/// The kernel's list of mounts in this process's namespace.
package struct MountTable: ~Copyable {
    private static let path = "/proc/self/mountinfo"
    private let descriptor = open(path, O_RDONLY | O_CLOEXEC)

    package init() {}

    deinit { close(descriptor) }

    /// Returns whether the list has changed since the last call, or since this value was created.
    package func hasChanged() -> Bool {
        var change = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
        return poll(&change, 1, 0) == 1
    }

    /// The mounts at which reads leave no trace, under a lock that is held while the list is read.
    private static let recording = ForkSafeMutex(Recording())

    private struct Recording: ~Copyable {
        let table = MountTable()
        /// The devices of mounts, by the numbers of these; empty if they aren't known.
        var devices: [Substring: Substring] = [:]
        /// The devices that are mounted with `noatime`.
        var unrecorded: Set<Substring> = []

        mutating func update() {
            (devices, unrecorded) = ([:], [])
            guard let file = try? FileDescriptor(opening: path, O_RDONLY), let bytes = try? file.read(upTo: 16 << 20)
            else { return }
            // The fields are the mount's number, its parent, the device, the root, the path, and the options
            // (proc_pid_mountinfo(5)).
            for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ", maxSplits: 6)
                guard fields.count > 6 else { continue }
                devices[fields[0]] = fields[2]
                if fields[5].split(separator: ",").contains("noatime") { unrecorded.insert(fields[2]) }
            }
        }
    }

    /// Returns whether programs may read an open file without moving its access time, by a mount with the option
    /// `noatime`.
    ///
    /// Also true if that can't be found out. Mounts in other namespaces, such as those of containers, aren't known, and
    /// read-only mounts, which have no option for it, don't count.
    package static func mayReadUnrecorded(_ file: borrowing FileDescriptor) -> Bool {
        let mount = "\(linux_mount(file.number))"
        return recording.withLock { recording in
            let isOpen = recording.table.descriptor >= 0
            if !isOpen || recording.table.hasChanged() || recording.devices.isEmpty { recording.update() }
            return recording.devices[mount[...]].map { recording.unrecorded.contains($0) } ?? true
        }
    }
}
