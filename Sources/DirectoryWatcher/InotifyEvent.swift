internal import Glibc

/// One event of inotify, copied out of the library's buffer.
struct InotifyEvent: Sendable, Equatable {
    /// What an event's name field holds.
    enum Name: Sendable, Equatable {
        /// Nothing: the event is about the watched directory itself.
        case none
        case name(String)
        /// Bytes that aren't UTF-8.
        case undecodable
    }

    /// Which watch the event belongs to; -1 for an overflow.
    var watch: Int32
    var mask: InotifyMask
    var name: Name
}

/// The bits of an event, and of what is asked for.
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
    /// Adds to what the inode's watch asks for already, instead of replacing it: two of our places can be one inode.
    static let add = InotifyMask(rawValue: UInt32(IN_MASK_ADD))

    /// What is asked for of a directory that holds domains.
    ///
    /// `create`, because links give nothing else; `modify`, because a writer that never closes must be seen too.
    /// `IN_EXCL_UNLINK` isn't used: it would hide the end of a write to a file that was renamed over meanwhile.
    static let contents: InotifyMask = [
        .closeWrite, .movedTo, .movedFrom, .delete, .create, .attributes, .modify, .deleteSelf, .moveSelf,
        .onlyDirectory, .add,
    ]

    /// What is asked for of a directory that holds what links lead to.
    ///
    /// Without `modify`: it may be anybody's, a home or a log directory, in which others write all the time.
    static let linked = contents.subtracting(.modify)

    /// What is asked for of the directory above: the coming and going of a name, and of its permissions.
    static let entries: InotifyMask = [
        .movedTo, .movedFrom, .delete, .create, .attributes, .deleteSelf, .moveSelf, .onlyDirectory, .add,
    ]
}
