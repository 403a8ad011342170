#include <stdlib.h>
#include <unistd.h>

// Swift reads the arguments from /proc. Where that isn't mounted it has none, and a program that is linked statically
// aborts before `main`; so this runs before all of Swift does.
__attribute__((constructor(101))) static void check(void) {
    static const char message[] = "defaults: The arguments can't be read; is /proc mounted?\n";
    if (access("/proc/self/cmdline", R_OK) == 0) return;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) { /* Nobody to tell. */ }
    _exit(71); // EX_OSERR
}
