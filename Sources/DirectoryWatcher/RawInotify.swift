#if RawInotify
internal import Glibc
internal import Linux

/// An inotify instance, created and read through the kernel's own interface (`man 7 inotify`).
///
/// The trait `RawInotify` replaces `InotifyTools.swift` with this file, which has the same interface. Packages are
/// built with the trait, because otherwise the license of libinotifytools wouldn't allow their distribution; see the
/// page *Licenses*.
struct Inotify: ~Copyable {
    /// The descriptor of the inotify instance, for `poll`.
    let descriptor: Int32

    /// The buffer into which events are read.
    private let buffer: UnsafeMutableRawPointer
    /// The size of the buffer, the same as in libinotifytools.
    private static let capacity = 131_072
    /// The part of the buffer with events that haven't been returned yet.
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

    /// Watches an open directory or file.
    ///
    /// The path passed to the kernel is that of the descriptor in `/proc`, so that the open file is watched even if its
    /// own path now leads elsewhere.
    ///
    /// - Returns: The watch's number, which is that of the existing watch if the file is already watched.
    /// - Throws: The error number.
    func watch(_ file: borrowing OpenPath, for mask: InotifyMask) throws(SystemCall.Failure) -> Int32 {
        let path = "/proc/self/fd/\(file.descriptor)"
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
        // The kernel returns only whole events.
        let next = InotifyEvent.copy(UnsafeRawPointer(buffer.advanced(by: unread.lowerBound)))
        unread.removeFirst(next.byteCount)
        return next
    }
}
#endif
