import Glibc

/// Standard input, output and error.
package enum StandardDescriptors {
    /// Opens those that are closed.
    ///
    /// Otherwise, a socket or a file could get one of their numbers, and receive text meant for standard output or
    /// standard error.
    ///
    /// Each is opened for the wrong direction, so that reading and writing still fail. `open` returns the lowest free
    /// number, which is the one to fill.
    package static func openClosed() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
