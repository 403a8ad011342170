#include <stdlib.h>
#include <unistd.h>

// Swift reads the arguments from /proc. Where that isn't mounted, Swift has no arguments, and a statically linked
// program aborts before `main`. So this constructor runs before any of Swift's code.
__attribute__((constructor(101))) static void check(void) {
    static const char message[] = "defaults: The arguments can't be read; is /proc mounted?\n";
    if (access("/proc/self/cmdline", R_OK) == 0) return;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0) { /* The message can't be shown anywhere. */ }
    _exit(71); // EX_OSERR
}
