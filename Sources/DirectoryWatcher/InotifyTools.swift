internal import CInotifyTools
internal import Glibc

/// libinotifytools, with its traps closed (research/watching-merging-delivering.md, §1.1).
///
/// The library is one set of static variables: at most one value of this type may live in a process, and only one
/// thread may use it. ``DirectoryWatcher`` sees to both. Of the library only what is free of traps is used: its
/// instance, adding watches, and reading with `next_events(0, 1)` after a `poll` of our own (a timeout of
/// 0 in `next_event` blocks for ever; more than one event asked for spins; its names and statistics go stale).
struct InotifyTools: ~Copyable {
    /// The inotify instance, to poll.
    ///
    /// It stays the library's: only the library reads from it.
    let descriptor: Int32

    /// How many watches were asked for: each gets a spelling of its own.
    private var spellings: UInt32 = 0

    /// Sets the library up.
    ///
    /// The library makes its instance without close-on-exec and tells nobody its descriptor. It is found as the new one
    /// in `/proc/self/fd` that holds exactly the watch set here; another thread that makes an instance of its own
    /// meanwhile doesn't confuse that.
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
        // The library selects: FD_SET with a descriptor above FD_SETSIZE ends the process. Nothing was read yet, so
        // here the way back is still open.
        guard descriptor < 1024 else {
            inotifytools_cleanup()
            throw .descriptorTooHigh(descriptor)
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
    }

    /// Gives the instance back.
    ///
    /// All watches must have been removed. The library forgets at clean-up how far its buffer was read, and would bring
    /// the rest up again after the next set-up: hence it is emptied first.
    deinit {
        while inotifytools_next_events(0, 1) != nil {}
        inotifytools_cleanup()
    }

    /// Watches an open directory.
    ///
    /// It is named through its descriptor, so that what is watched is what was opened, whatever its path leads to by
    /// now. The library finds watches by their spelling, and for one used before it gives the number of the dead watch:
    /// hence every call spells differently.
    ///
    /// - Returns: The watch's number; that of the older watch if the directory is watched already.
    /// - Throws: The error number.
    mutating func watch(_ directory: borrowing OpenDirectory, for mask: InotifyMask) throws(ErrorNumber) -> Int32 {
        spellings += 1
        var path = "/proc/self/fd/\(directory.descriptor)/"
        for bit in 0..<(UInt32.bitWidth - spellings.leadingZeroBitCount) {
            path += spellings & (1 << bit) == 0 ? "/" : "./"
        }
        guard inotifytools_watch_file(path, Int32(mask.rawValue)) != 0 else {
            throw ErrorNumber(code: inotifytools_error())
        }
        return inotifytools_wd_from_filename(path)
    }

    /// Ends a watch, if the kernel hasn't ended it.
    ///
    /// Not through the library: the directory may vanish at any moment, and for a watch that the kernel has ended the
    /// library complains on stderr. What it remembers of the watch is 176 bytes, and is given back with the instance.
    func unwatch(_ watch: Int32) {
        inotify_rm_watch(descriptor, watch)
    }

    /// How many bytes of events wait in the kernel.
    var queuedBytes: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Reads one event, and how many bytes of the queue it took.
    ///
    /// `nil` when there is none. Never blocks.
    func next() throws(InotifyFailure) -> (event: InotifyEvent, byteCount: Int)? {
        while true {
            guard let pointer = inotifytools_next_events(0, 1) else {
                switch inotifytools_error() {
                case 0: return nil
                case EINTR: continue
                case let code: throw .reading(errno: code)
                }
            }
            // The name is a flexible array, which Swift doesn't import; it is padded with zeros. All is copied here:
            // the buffer is the library's, and static.
            let header = pointer.pointee
            let size = MemoryLayout<inotify_event>.size
            let bytes = UnsafeRawBufferPointer(
                start: UnsafeRawPointer(pointer).advanced(by: size), count: Int(header.len))
            let event = InotifyEvent(
                watch: header.wd, mask: InotifyMask(rawValue: header.mask), name: Self.name(bytes.prefix { $0 != 0 }))
            return (event, size + Int(header.len))
        }
    }

    private static func name(_ bytes: Slice<UnsafeRawBufferPointer>) -> InotifyEvent.Name {
        guard !bytes.isEmpty else { return .none }
        return String(validating: bytes, as: UTF8.self).map { .name($0) } ?? .undecodable
    }

    /// The descriptors of this process that are inotify instances.
    private static func instances() -> Set<Int32>? {
        guard let directory = opendir("/proc/self/fd") else { return nil }
        defer { closedir(directory) }
        var found: Set<Int32> = []
        while let entry = readdir(directory) {
            guard let descriptor = Int32(entryName(entry)) else { continue }
            var target = [CChar](repeating: 0, count: 32)
            guard readlink("/proc/self/fd/\(descriptor)", &target, target.count - 1) > 0 else { continue }
            if strcmp(target, "anon_inode:inotify") == 0 { found.insert(descriptor) }
        }
        return found
    }

    /// The watches of an instance, each as its number and its mask in hexadecimal.
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

/// The name of a directory's entry; what isn't UTF-8 is repaired.
func entryName(_ entry: UnsafeMutablePointer<dirent>) -> String {
    withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) {
            String(cString: $0)
        }
    }
}
