import CLinux

extension FileDescriptor {
    /// Opens a file, with close-on-exec, so that reading it leaves no trace, unless this user doesn't own it.
    package init(openingUnseen path: String, _ flags: Int32) throws(SystemCall.Failure) {
        self.init(owning: try SystemCall.run { linux_open_unseen(path, flags) })
    }
}
