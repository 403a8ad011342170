// What Linux offers and Swift's Glibc module hides, under names of our own.
//
// The header includes nothing that depends on _GNU_SOURCE: Swift's Glibc module was built without it, and one type
// with two definitions does not compile. Each function returns what the system call returns, and sets errno.

#pragma once

#include "Fork.h"

#include <stdint.h>
#include <sys/types.h>

/// Swaps two names in one step (renameat2, RENAME_EXCHANGE); ENOENT when either is missing, EINVAL or ENOSYS where
/// the file system can't.
int linux_rename_exchange(int old_directory, const char *old_name, int new_directory, const char *new_name);

/// Renames, unless the new name exists: then EEXIST (renameat2, RENAME_NOREPLACE).
int linux_rename_noreplace(int old_directory, const char *old_name, int new_directory, const char *new_name);

/// Takes a read lease (F_SETLEASE, F_RDLCK). The kernel refuses it with EAGAIN while anyone has the file open for
/// writing, and makes who opens it for writing later wait until it is released. The kernel tells the holder of a waiting
/// writer by a signal: SIGURG here, which is ignored by default. (SIGIO, the usual one, would end the process, and to
/// ignore it is not for a library to decide.)
int linux_lease_read(int fd);

/// Lets a lease go.
int linux_lease_release(int fd);

/// Has the kernel send this process a signal when the thread that started it ends (PR_SET_PDEATHSIG).
int linux_signal_at_end_of_parent(int signal);

/// Has posix_spawn close all descriptors from a number on in the new process; takes a posix_spawn_file_actions_t.
int linux_spawn_close_from(void *actions, int lowest);

/// The flag of posix_spawn that gives a program a session of its own.
short linux_spawn_in_new_session(void);

/// Starts a thread with all signals blocked: they are for the program's other threads. Returns 0, or the error's number.
int linux_start_thread(pthread_t *thread, void *(*main)(void *), void *argument);

/// Has a function called at the very end of a normal exit, after all that `atexit` was told; one function at most.
void linux_at_end(void (*function)(void));

/// Reserves room for a file's first bytes (fallocate, FALLOC_FL_KEEP_SIZE), leaving its size and content as they are;
/// ENOSPC when there isn't as much, EOPNOTSUPP where the file system can't.
int linux_reserve(int fd, off_t length);

/// Makes a non-blocking, close-on-exec eventfd whose counter is 0.
int linux_eventfd(void);

/// Who is at the other end of a connected Unix socket (SO_PEERCRED).
struct linux_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};
int linux_peer_of(int fd, struct linux_peer *peer);

/// The magic number of the file system that holds an open file (fstatfs, f_type), or -1.
int64_t linux_file_system_type(int fd);

/// The mount that holds an open file (statx, STATX_MNT_ID), or 0 where the kernel doesn't tell.
uint64_t linux_mount_id(int fd);

/// When the file behind a descriptor was made, in nanoseconds since 1970 (statx, STATX_BTIME); 0 where the file system
/// doesn't keep that.
int64_t linux_birth_time(int fd);

/// Sets an extended attribute of an open file (fsetxattr); ENOTSUP where the file system has none.
int linux_set_attribute(int fd, const char *name, const void *value, size_t size);

/// Reads an extended attribute of an open file into a buffer (fgetxattr): its size, or -1 when there is none that fits.
ssize_t linux_attribute(int fd, const char *name, void *value, size_t size);

/// Copies every extended attribute from one open file to another, whose ACL is the first one's then, or none; the mask of
/// the ACL is left nothing beyond the permissions given (4 to read, 2 to write, 1 to execute). What the file system refuses
/// to take (ENOTSUP, EPERM) is passed over, and counted in the result; -1 for any other failure.
int linux_copy_attributes(int from, int to, unsigned mask);

/// Blocks signals, but for those that the process ignores, and makes a non-blocking, close-on-exec descriptor that is
/// readable when one is pending (signalfd).
int linux_signalfd(const int *signals, int count);

/// Takes the next signal of such a descriptor; 0 when there is none.
int linux_next_signal(int fd);

/// Starts a guard of programs: a process that ends all programs of its process group when this process ends, however that
/// comes, by SIGKILL too. It leads the group, so that the group is there before the first program; it takes no signals, and
/// keeps nothing of this process open. SIGTERM comes first, and two seconds later SIGKILL. Returns its id, or -1; `*pipe` is
/// what this process must keep open until it has ended the guard with SIGKILL.
pid_t linux_start_guard(int *pipe);

/// Stops this process as Ctrl-Z does (SIGTSTP), though that is blocked; returns once it is continued, or at once where
/// nobody would continue it.
void linux_stop_self(void);
