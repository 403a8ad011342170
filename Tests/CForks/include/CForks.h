// fork() for the tests, since Swift's Glibc module marks it as unavailable.

#pragma once

#include <sys/types.h>

/// Forks, and returns 0 in the child, the child's pid in the parent, or -1 if that failed.
pid_t forks_fork(void);

/// Waits for a child to end, and returns its status as a shell shows it, or -1 if that failed.
int forks_wait(pid_t pid);
