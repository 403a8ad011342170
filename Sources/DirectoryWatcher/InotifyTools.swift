#if !RawInotify
internal import CInotifyTools
internal import Glibc
internal import Linux

/// An inotify instance, created and read through libinotifytools in a way that avoids the library's pitfalls.
///
/// The trait `RawInotify` replaces this file with `RawInotify.swift`, which has the same interface.
///
/// The library has all its state in static variables, so at most one value of this type may exist in a process, and
/// only one thread may use it. ``DirectoryWatcher`` ensures both. The wrapper uses only the safe parts of the library:
/// creating the instance, adding watches, and reading with `next_events(0, 1)` after its own `poll`. (`next_event` with
/// a timeout of 0 blocks forever; asking for more than one event spins; the library's names and statistics become
/// stale.)
struct Inotify: ~Copyable {
    /// The descriptor of the inotify instance, for `poll`.
    ///
    /// The library owns the descriptor, and only the library reads from it.
    let descriptor: Int32

    /// The number of watches requested so far; each one uses a unique spelling of its path.
    private var spellings: UInt32 = 0

    /// Initializes the library.
    ///
    /// The library creates its instance without close-on-exec and doesn't reveal the descriptor. The initializer finds
    /// it in `/proc/self/fd`: the new descriptor whose only watch is the one set here. This works even if another
    /// thread creates its own inotify instance at the same time.
    init() throws(InotifyFailure) {
        let before = Self.instances() ?? []
        guard inotifytools_initialize() != 0 else { throw .noInstance(errno: inotifytools_error()) }
        let mask: InotifyMask = [.deleteSelf, .moveSelf]
        guard inotifytools_watch_file("/", Int32(mask.rawValue)) != 0 else {
            let failure = InotifyFailure.noWatch(errno: inotifytools_error())
            inotifytools_cleanup()
            throw failure
        }
        let found = (Self.instances() ?? []).subtracting(before).filter { Self.watches(of: $0) == ["1 \(mask.hex)"] }
        guard let descriptor = found.first, found.count == 1 else {
            inotifytools_cleanup()
            throw .noDescriptor
        }
        // The library uses select, and FD_SET with too high a descriptor ends the process. Nothing has been read yet,
        // so it is still safe to give up here.
        guard descriptor < 1024 else {
            inotifytools_cleanup()
            throw .descriptorTooHigh(descriptor)
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
    }

    /// Releases the instance.
    ///
    /// All watches must have been removed. On cleanup, the library forgets how far its buffer was read, and would
    /// return the rest after the next initialization, so the buffer is emptied first.
    deinit {
        while inotifytools_next_events(0, 1) != nil {}
        inotifytools_cleanup()
    }

    /// Watches an open directory or file.
    ///
    /// The path passed to the library is that of the descriptor in `/proc`, so that the open file is watched even if
    /// its own path now leads elsewhere. The library looks up watches by the spelling of their paths. For a spelling
    /// that was used before, it would return the number of the dead watch, so every call uses a new spelling.
    ///
    /// - Returns: The watch's number, which is that of the existing watch if the file is already watched.
    /// - Throws: The error number.
    mutating func watch(_ file: borrowing OpenPath, for mask: InotifyMask) throws(SystemCall.Failure) -> Int32 {
        spellings += 1
        var path = "/proc/self/fd/"
        for bit in 0..<(UInt32.bitWidth - spellings.leadingZeroBitCount) {
            path += spellings & (1 << bit) == 0 ? "/" : "./"
        }
        // The library appends a slash to the path of a directory unless it ends with one.
        path += mask.contains(.onlyDirectory) ? "\(file.descriptor)/" : "\(file.descriptor)"
        guard inotifytools_watch_file(path, Int32(mask.rawValue)) != 0 else {
            throw SystemCall.Failure(number: inotifytools_error())
        }
        return inotifytools_wd_from_filename(path)
    }

    /// Reads one event, and returns it with the number of bytes that it occupied in the queue.
    ///
    /// Returns `nil` if there is none. Never blocks.
    func next() throws(InotifyFailure) -> (event: InotifyEvent, byteCount: Int)? {
        while true {
            guard let pointer = inotifytools_next_events(0, 1) else {
                switch inotifytools_error() {
                case 0: return nil
                case EINTR: continue
                case let code: throw .reading(errno: code)
                }
            }
            return InotifyEvent.copy(UnsafeRawPointer(pointer))
        }
    }

    /// Returns this process's descriptors of inotify instances.
    private static func instances() -> Set<Int32>? {
        guard let listing = try? DirectoryListing("/proc/self/fd") else { return nil }
        var found: Set<Int32> = []
        while let entry = try? listing.next() {
            guard let descriptor = entry.name.flatMap({ Int32($0) }) else { continue }
            let target = SystemCall.target(ofLink: "/proc/self/fd/\(descriptor)")
            if target == Array("anon_inode:inotify".utf8) { found.insert(descriptor) }
        }
        return found
    }

    /// Returns an instance's watches, each as its number and its mask in hexadecimal.
    private static func watches(of instance: Int32) -> [String] {
        guard let file = fopen("/proc/self/fdinfo/\(instance)", "re") else { return [] }
        defer { fclose(file) }
        var found: [String] = []
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let fields = text.split(separator: " ")
            guard fields.first == "inotify" else { continue }
            let number = fields.first { $0.hasPrefix("wd:") }?.dropFirst(3) ?? ""
            let mask = fields.first { $0.hasPrefix("mask:") }?.dropFirst(5) ?? ""
            found.append("\(number) \(mask)")
        }
        return found
    }
}

extension InotifyMask {
    fileprivate var hex: String { String(rawValue, radix: 16) }
}
#endif
