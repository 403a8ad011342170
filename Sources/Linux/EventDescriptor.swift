import CLinux
import Glibc

/// An eventfd, which becomes readable when it is signaled, and stays so until it is reset.
///
/// No call blocks. The descriptor is a plain number because its owners close it at different times: a forked child must
/// forget it without closing it.
package enum EventDescriptor {
    /// Opens a descriptor; returns -1 if none is left.
    package static func open() -> Int32 { linux_eventfd() }

    /// Makes a descriptor readable.
    package static func signal(_ descriptor: Int32) {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// Makes a descriptor unreadable until it is signaled again.
    package static func reset(_ descriptor: Int32) {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout.size(ofValue: count))
    }
}
