// What lets a process fork while its threads use the library, and the child use it, too.
//
// POSIX keeps one thread in the child, the one that forked. What the others held stays held there, and what they had half
// done stays half done. So a fork waits here until no thread is in a gate, and lets none in until it is over: in the child
// no lock is held then, and no thread's work was cut off. fork() runs this by itself (pthread_atfork); vfork(),
// posix_spawn() and the system call don't.

#pragma once

#include <stdbool.h>
#include <stddef.h>

/// What a thread is in.
enum linux_gate {
    /// The work of a thread of the library's own, which may take as long as the disk; its locks are taken in it.
    linux_gate_work,
    /// A lock, or several. A fork closes this gate last, when all work has come to rest, so that nobody waits here for
    /// longer than a fork takes.
    linux_gate_lock,
};

/// Goes through a gate; a thread that is in it already goes deeper. Waits while the process forks. The first thread that
/// takes a lock in a child has all start over there before it goes on.
void linux_enter(enum linux_gate gate);

/// Comes back out, as often as it went in.
void linux_leave(enum linux_gate gate);

/// Whether this is a child in which nobody has taken a lock yet.
bool linux_is_fresh_child(void);

/// Names what has all start over in a child. It is called once in each, with the gate of locks shut for all other threads.
void linux_start_over_with(void (*_Nonnull start_over)(void));

/// Has children close a descriptor, or not any more; -1 is none. Called in the gate of work, or of locks.
void linux_close_in_child(int fd);
void linux_keep_in_child(int fd);

/// Allocates zeros that begin a cache line, and are zeros again in every child: for counts of what threads do.
void *_Nonnull linux_allocate_zeroed_in_child(size_t size);

/// Frees them.
void linux_free_zeroed_in_child(void *_Nonnull memory);
