#if RawInotify
internal import Glibc
internal import Linux

/// An inotify instance, made and read by the kernel's own interface (`man 7 inotify`).
///
/// The trait `RawInotify` puts this file in the place of `InotifyTools.swift`, which has the same interface. Packages
/// are built with it, because libinotifytools has a licence under which they couldn't be distributed; the page
/// *Licences* says more.
struct Inotify: ~Copyable {
    /// The descriptor of the inotify instance, for `poll`.
    let descriptor: Int32

    /// The buffer that events are read into.
    private let buffer: UnsafeMutableRawPointer
    /// The size of the buffer, which is that of the library's.
    private static let capacity = 131_072
    /// The part of the buffer that holds events not yet returned.
    private var unread = 0..<0

    init() throws(InotifyFailure) {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { throw .noInstance(errno: errno) }
        self.descriptor = descriptor
        buffer = .allocate(byteCount: Self.capacity, alignment: MemoryLayout<inotify_event>.alignment)
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    /// Watches an open directory.
    ///
    /// The path passed to the kernel is that of the descriptor in `/proc`, so that the open directory is watched even
    /// if its own path now leads elsewhere.
    ///
    /// - Returns: The watch's number, which is that of the existing watch if the directory is already watched.
    /// - Throws: The error number.
    func watch(_ directory: borrowing OpenDirectory, for mask: InotifyMask) throws(SystemCall.Failure) -> Int32 {
        let path = "/proc/self/fd/\(directory.descriptor)/"
        return try SystemCall.run { inotify_add_watch(descriptor, path, mask.rawValue) }
    }

    /// Reads one event, and returns it with the number of bytes that it occupied in the queue.
    ///
    /// Returns `nil` if there is none. Never blocks.
    mutating func next() throws(InotifyFailure) -> (event: InotifyEvent, byteCount: Int)? {
        while unread.isEmpty {
            let count = read(descriptor, buffer, Self.capacity)
            guard count < 0 else {
                unread = 0..<count
                if count == 0 { return nil }
                break
            }
            switch errno {
            case EAGAIN: return nil
            case EINTR: continue
            case let code: throw .reading(errno: code)
            }
        }
        // The kernel returns whole events only.
        let next = InotifyEvent.copy(UnsafeRawPointer(buffer.advanced(by: unread.lowerBound)))
        unread.removeFirst(next.byteCount)
        return next
    }
}
#endif
