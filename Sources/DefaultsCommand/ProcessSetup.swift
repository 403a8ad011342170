import Glibc

/// What a process inherits and programs rely on, put right before anything else is done.
enum ProcessSetup {
    /// Opens what is closed of standard input, output and error, and has signals mean what this command expects.
    static func run() {
        openStandardDescriptors()
        // A parent may have left this ignored; then the kernel keeps no child's status, and tells of no child's end.
        signal(SIGCHLD, SIG_DFL)
        // A reader that has gone is told of by the write, which then ends the command in peace.
        signal(SIGPIPE, SIG_IGN)
        // A file that would grow beyond the limit (ulimit -f) fails to be written, which is reported as any other failure.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Else the agent's socket, or a file, would get one of their numbers, and the text that was meant for that.
    ///
    /// They are opened the wrong way round, so that reading and writing still fail. The lowest free number is given out, and
    /// so each gets its own.
    private static func openStandardDescriptors() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
