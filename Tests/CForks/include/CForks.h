// fork(), which Swift's Glibc module marks as unavailable, for the tests.

#pragma once

#include <sys/types.h>

/// Forks: 0 in the child, the child's pid in the parent, or -1.
pid_t forks_fork(void);

/// Waits for a child's end, and returns its status as the shell shows it.
int forks_wait(pid_t pid);
