import Glibc

/// The lock that whoever publishes into a preferences directory holds while at it: `flock` on the directory itself.
///
/// It keeps our own processes (agent, embedded stores) from publishing at once, and leaves no file behind. It doesn't
/// keep foreign writers out: they don't ask for it.
package struct DirectoryLock: ~Copyable {
    private let directory: FileDescriptor

    /// Waits for the lock.
    ///
    /// - Throws: `locked` when it isn't free within `patience` milliseconds, `directory` when the directory can't be opened.
    package init(_ directory: PreferencesDirectory, patience milliseconds: Int = 10_000) throws(DefaultsError) {
        do throws(SystemCall.Failure) {
            let file = try FileDescriptor(opening: directory.path, O_RDONLY | O_DIRECTORY)
            try Self.lock(file, patience: milliseconds)
            self.directory = file
        } catch {
            if error.number == EWOULDBLOCK {
                throw DefaultsError(
                    .locked,
                    "Another process has held the lock of \(directory.path) for \(milliseconds) ms; "
                        + "`lsof \(directory.path)` names it.")
            }
            throw DefaultsError(.directory, errno: error.number, "The directory \(directory.path) can't be opened")
        }
    }

    deinit {
        flock(directory.number, LOCK_UN)
    }

    /// A blocking `flock` could wait for ever behind a stopped process; so it is tried, at growing distances.
    private static func lock(_ file: borrowing FileDescriptor, patience: Int) throws(SystemCall.Failure) {
        var waited = 0
        var pause: Int32 = 1
        while true {
            do throws(SystemCall.Failure) {
                try SystemCall.run { flock(file.number, LOCK_EX | LOCK_NB) }
                return
            } catch {
                guard error.number == EWOULDBLOCK, waited < patience else { throw error }
            }
            poll(nil, 0, pause)
            waited += Int(pause)
            pause = min(pause * 2, 20)
        }
    }
}
