// Forking while threads use the library, and using it in the child.
//
// POSIX keeps one thread in a child: the one that forked. A lock that another thread held stays locked there for ever, and
// what that thread was changing stays half changed. So fork() waits here (pthread_atfork) until no thread is in a gate, and
// keeps all threads out until it is done. vfork(), posix_spawn() and the system call itself don't run this.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// A gate that a fork closes.
enum linux_gate {
    /// Around work that may take as long as the disk or an agent does. Locks may be taken in it.
    linux_gate_work,
    /// Around locks. A fork closes it last, when all work has stopped, so that no caller of the library waits for a disk.
    linux_gate_lock,
};

/// Enters a gate, after waiting for a fork that is under way. A thread may enter a gate again that it is in. The first thread
/// to enter one in a child calls the function of linux_start_over_with before it goes on.
void linux_enter(enum linux_gate gate);

/// Leaves a gate; to be called once for each entry.
void linux_leave(enum linux_gate gate);

/// Returns whether this is a child that hasn't started over yet.
bool linux_is_fresh_child(void);

/// Returns the process's id without a system call, which takes 0.2 µs; in a forked child, too.
pid_t linux_pid(void);

/// Sets the function that starts over in a child. It is called once in each child, before any other thread gets a lock.
void linux_start_over_with(void (*_Nonnull start_over)(void));

/// Has children close a descriptor as soon as they are forked; -1 is ignored.
void linux_close_in_child(int fd);

/// Takes that back; to be called before the descriptor is closed.
void linux_keep_in_child(int fd);

/// Allocates memory, aligned to a cache line, that is zero at first and again in every child: for counts of threads.
void *_Nonnull linux_allocate_zeroed_in_child(size_t size);

/// Frees such memory.
void linux_free_zeroed_in_child(void *_Nonnull memory);
