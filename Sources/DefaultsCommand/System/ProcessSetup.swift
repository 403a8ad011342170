import Glibc

/// The repair of inherited process state, before anything else runs.
enum ProcessSetup {
    /// Opens closed standard descriptors, and sets the signal handling that this command expects.
    static func run() {
        openStandardDescriptors()
        // If a parent left SIGCHLD ignored, the kernel would discard the exit statuses of our children.
        signal(SIGCHLD, SIG_DFL)
        // Writing to a closed pipe fails with EPIPE instead, and the command exits with status 0.
        signal(SIGPIPE, SIG_IGN)
        // Writing beyond the file size limit (ulimit -f) fails instead, and is reported like any other error.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Opens closed standard descriptors.
    ///
    /// Otherwise, the agent's socket or a file could get one of their numbers, and receive text meant for standard
    /// output or standard error.
    ///
    /// Each is opened for the wrong direction, so that reading and writing still fail. `open` returns the lowest free
    /// number, which is the one to fill.
    private static func openStandardDescriptors() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
