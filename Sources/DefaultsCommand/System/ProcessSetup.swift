import Glibc
import Linux

/// The repair of inherited process state, before anything else runs.
enum ProcessSetup {
    /// Opens closed standard descriptors, and sets the signal handling that this command expects.
    static func run() {
        StandardDescriptors.openClosed()
        // If a parent left SIGCHLD ignored, the kernel would discard the exit statuses of our children.
        signal(SIGCHLD, SIG_DFL)
        // Writing to a closed pipe fails with EPIPE instead, and the command exits with status 0.
        signal(SIGPIPE, SIG_IGN)
        // Writing beyond the file size limit (ulimit -f) fails instead, and is reported like any other error.
        signal(SIGXFSZ, SIG_IGN)
    }
}
