// Support for forking while threads use the library, and for using the library in the child.
//
// A child has only one thread: the one that forked. A lock that another thread held stays locked there forever, and
// data that the thread was changing stays half-changed. So fork() waits here (pthread_atfork) until no thread is in a
// gate, and keeps all threads out until it is done. vfork(), posix_spawn() and the bare system call don't run this
// code.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/// A gate that a fork closes.
enum fork_gate {
    /// Surrounds work that may have to wait for the disk or an agent. Code in this gate may acquire locks.
    fork_gate_work,
    /// Surrounds locks. A fork closes this gate last, when all work has stopped, so no caller of the library waits for
    /// a disk.
    fork_gate_lock,
};

/// Enters a gate, after waiting for any fork in progress. A thread may enter a gate that it is already in. The first
/// thread to enter a gate in a child first calls the function set with fork_start_over_with.
void fork_enter(enum fork_gate gate);

/// Leaves a gate; call it once for each entry.
void fork_leave(enum fork_gate gate);

/// Returns whether the thread is inside fork_gate_lock, where it may hold locks.
bool fork_is_locked(void);

/// Returns whether this process is a child that hasn't started over yet.
bool fork_is_fresh_child(void);

/// Returns the process's id without a system call, which takes 0.2 µs. The id is correct in a forked child, too.
pid_t fork_pid(void);

/// Sets the function that starts over in a child. It is called once in each child, before any other thread gets a lock.
void fork_start_over_with(void (*_Nonnull start_over)(void));

/// Returns the thread's innermost open transaction; a child's thread has that of the thread that forked.
void *_Nullable fork_transaction(void);

/// Sets the thread's innermost open transaction.
void fork_set_transaction(void *_Nullable transaction);

/// Returns whether the thread is calling the program's handler of problems.
bool fork_is_reporting(void);

/// Sets whether the thread is calling the program's handler of problems.
void fork_set_reporting(bool is_reporting);

/// Makes children close a descriptor as soon as they are forked; -1 is ignored.
void fork_close_in_child(int fd);

/// Undoes fork_close_in_child; call it before closing the descriptor.
void fork_keep_in_child(int fd);

/// Allocates memory, aligned to a cache line, that is zeroed initially and again in every child. It holds counts of
/// threads.
void *_Nonnull fork_allocate_zeroed_in_child(size_t size);

/// Frees memory from fork_allocate_zeroed_in_child.
void fork_free_zeroed_in_child(void *_Nonnull memory);
