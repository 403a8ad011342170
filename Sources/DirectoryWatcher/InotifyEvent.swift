internal import CLinux
internal import Glibc

/// An inotify event, copied from the buffer into which it was read.
struct InotifyEvent: Sendable, Equatable {
    /// The contents of an event's name field.
    enum Name: Sendable, Equatable {
        /// No name: the event is about the watched directory itself.
        case none
        case name(String)
        /// Bytes that aren't UTF-8.
        case undecodable
    }

    /// The watch that the event belongs to; -1 for an overflow.
    var watch: Int32
    var mask: InotifyMask
    var name: Name

    /// Copies the event at a pointer, and returns it with the number of bytes that it occupies.
    static func copy(_ pointer: UnsafeRawPointer) -> (event: InotifyEvent, byteCount: Int) {
        let header = pointer.loadUnaligned(as: inotify_event.self)
        let size = MemoryLayout<inotify_event>.size
        // The name is a flexible array member, which Swift doesn't import, and is padded with zeros.
        let bytes = UnsafeRawBufferPointer(start: pointer.advanced(by: size), count: Int(header.len)).prefix { $0 != 0 }
        let name: Name =
            bytes.isEmpty ? .none : String(validating: bytes, as: UTF8.self).map { .name($0) } ?? .undecodable
        return (
            InotifyEvent(watch: header.wd, mask: InotifyMask(rawValue: header.mask), name: name),
            size + Int(header.len)
        )
    }
}

/// The operations that are the same with and without libinotifytools.
extension Inotify {
    /// Ends a watch, unless the kernel has already ended it.
    ///
    /// This bypasses libinotifytools, which complains on stderr if the kernel has already ended the watch, as it does
    /// whenever the directory vanishes. The library's record of the watch, 176 bytes, is freed with the instance.
    func unwatch(_ watch: Int32) {
        inotify_rm_watch(descriptor, watch)
    }

    /// Makes the kernel send the process a signal when events are queued.
    ///
    /// If the kernel can't, events are read with the next check of the paths.
    func notify(with signal: Int32) {
        _ = linux_signal_when_readable(descriptor, signal)
    }

    /// The number of bytes of events queued in the kernel.
    var queuedBytes: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }
}

/// The bits of an event or of a watch request.
struct InotifyMask: OptionSet, Sendable {
    let rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    static let modify = InotifyMask(rawValue: UInt32(IN_MODIFY))
    static let attributes = InotifyMask(rawValue: UInt32(IN_ATTRIB))
    static let closeWrite = InotifyMask(rawValue: UInt32(IN_CLOSE_WRITE))
    static let movedFrom = InotifyMask(rawValue: UInt32(IN_MOVED_FROM))
    static let movedTo = InotifyMask(rawValue: UInt32(IN_MOVED_TO))
    static let create = InotifyMask(rawValue: UInt32(IN_CREATE))
    static let delete = InotifyMask(rawValue: UInt32(IN_DELETE))
    static let deleteSelf = InotifyMask(rawValue: UInt32(IN_DELETE_SELF))
    static let moveSelf = InotifyMask(rawValue: UInt32(IN_MOVE_SELF))
    static let unmount = InotifyMask(rawValue: UInt32(IN_UNMOUNT))
    static let overflow = InotifyMask(rawValue: UInt32(IN_Q_OVERFLOW))
    static let ignored = InotifyMask(rawValue: UInt32(IN_IGNORED))
    static let onlyDirectory = InotifyMask(rawValue: UInt32(IN_ONLYDIR))
    /// Adds to the bits of the inode's existing watch instead of replacing them, since one inode may have several
    /// roles.
    static let add = InotifyMask(rawValue: UInt32(IN_MASK_ADD))

    /// The events to request for a directory that holds domains.
    ///
    /// `create` is included because a new link causes no other event, and `modify` because a writer that never closes
    /// the file must also be noticed. `IN_EXCL_UNLINK` isn't used: it would hide the end of a write to a file that has
    /// since been replaced by a rename.
    static let contents: InotifyMask = [
        .closeWrite, .movedTo, .movedFrom, .delete, .create, .attributes, .modify, .deleteSelf, .moveSelf,
        .onlyDirectory, .add,
    ]

    /// The events to request for a directory that holds the targets of links.
    ///
    /// `modify` is left out because this may be any directory, such as a home or log directory that other programs
    /// constantly write to.
    static let linked = contents.subtracting(.modify)

    /// The events to request for a file that can change without an event for its directory.
    static let file: InotifyMask = [.closeWrite, .attributes, .modify, .deleteSelf, .moveSelf, .add]

    /// The events to request for the directory above: names that appear or disappear, and changes to its permissions.
    static let entries: InotifyMask = [
        .movedTo, .movedFrom, .delete, .create, .attributes, .deleteSelf, .moveSelf, .onlyDirectory, .add,
    ]
}
