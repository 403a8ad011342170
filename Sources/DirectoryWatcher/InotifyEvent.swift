internal import Glibc

/// An inotify event, copied out of the library's buffer.
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

    /// The events to request for the directory above: names that appear or disappear, and changes to its permissions.
    static let entries: InotifyMask = [
        .movedTo, .movedFrom, .delete, .create, .attributes, .deleteSelf, .moveSelf, .onlyDirectory, .add,
    ]
}
