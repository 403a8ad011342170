#include "CForks.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t forks_fork(void) { return fork(); }

int forks_wait(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
