internal import Glibc

/// The kernel's list of mounts, which tells whether something has been mounted or unmounted.
struct MountTable: ~Copyable {
    private let descriptor = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)

    deinit { close(descriptor) }

    /// Returns whether the list has changed since the last call, or since this value was created.
    func hasChanged() -> Bool {
        var change = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
        return poll(&change, 1, 0) == 1
    }
}
