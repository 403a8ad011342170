import DefaultsCore
import Glibc
import Linux
import ProgramSupport
import TestSupport

/// A wall clock for the programs of a test, which the test can step.
///
/// A test can't set the machine's clock, and no namespace has a wall clock of its own. So the programs load our
/// `clock_gettime` before the C library's. The times of files remain the kernel's.
struct SteppedClock {
    /// The command prefix that runs a program with this clock.
    let launcher: [String]
    private let step: String

    /// Creates a clock that shows the right time, with its files in a directory, or `nil` if there is no compiler.
    init?(in directory: String) throws {
        step = directory + "/step"
        let source = directory + "/clock.c"
        let library = directory + "/clock.so"
        try RawFile.write(Self.source, to: source)
        try RawFile.write([UInt8](repeating: 0, count: 8), to: step)
        let compiled = try Programs.shell(
            "cc -shared -fPIC -o clock.so clock.c || clang -shared -fPIC -o clock.so clock.c", in: directory)
        guard compiled.status == 0 else { return nil }
        launcher = ["/usr/bin/env", "LD_PRELOAD=\(library)", "CLOCK_STEP=\(step)"]
    }

    /// Sets the clock to a number of seconds from the right time.
    func set(_ seconds: Int64) throws {
        // Written in place, since the programs have the file mapped.
        let file = try FileDescriptor(opening: step, O_WRONLY)
        try file.write(withUnsafeBytes(of: seconds, Array.init))
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <stdint.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>

        static volatile int64_t *step;

        __attribute__((constructor)) static void map_step(void) {
            const char *path = getenv("CLOCK_STEP");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            if (file < 0) return;
            void *bytes = mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
            if (bytes != MAP_FAILED) step = bytes;
            close(file);
        }

        int clock_gettime(clockid_t clock, struct timespec *time) {
            int result = syscall(SYS_clock_gettime, clock, time);
            if (result == 0 && clock == CLOCK_REALTIME && step) time->tv_sec += *step;
            return result;
        }
        """
}
