// Linux functions that Swift's Glibc module hides, under our own names.
//
// This header includes nothing that depends on _GNU_SOURCE: Swift's Glibc module was built without it, and a type with
// two definitions doesn't compile. Each function returns what the system call returns, and sets errno.

#pragma once

#include <stdint.h>
#include <sys/types.h>

/// Swaps two names in one step (renameat2, RENAME_EXCHANGE). Fails with ENOENT if either is missing, and with EINVAL or
/// ENOSYS if the file system can't do this.
int linux_rename_exchange(int old_directory, const char *old_name, int new_directory, const char *new_name);

/// Renames a file, but fails with EEXIST if the new name exists (renameat2, RENAME_NOREPLACE).
int linux_rename_noreplace(int old_directory, const char *old_name, int new_directory, const char *new_name);

/// Takes a read lease (F_SETLEASE, F_RDLCK). The kernel refuses it with EAGAIN while any process has the file open for
/// writing, and makes later attempts to open it for writing wait until the lease is released. When a writer is waiting,
/// the kernel sends the lease's holder a signal: here SIGURG, which is ignored by default. (The usual signal, SIGIO,
/// would end the process, and a library must not decide to ignore SIGIO.)
int linux_lease_read(int fd);

/// Releases a lease.
int linux_lease_release(int fd);

/// Makes the kernel send this process a signal when the thread that started it ends (PR_SET_PDEATHSIG).
int linux_signal_at_end_of_parent(int signal);

/// Creates a pipe, with close-on-exec; the reading end comes first.
int linux_pipe(int *ends);

/// Makes posix_spawn close all descriptors from `lowest` up in the new process. `actions` points to a
/// posix_spawn_file_actions_t.
int linux_spawn_close_from(void *actions, int lowest);

/// Returns the posix_spawn flag that gives a program its own session.
short linux_spawn_in_new_session(void);

/// Starts a thread with all signals blocked, since they are for the program's other threads. Returns 0 or the error
/// number.
int linux_start_thread(pthread_t *thread, void *(*main)(void *), void *argument);

/// Makes malloc use one heap for all threads (mallopt, M_ARENA_MAX), of which freed memory can be given back. Call it
/// before threads are started.
void linux_share_heap(void);

/// Gives freed memory of the heap back to the system (malloc_trim).
void linux_release_freed_memory(void);

/// Sets the function to call at the very end of a normal exit, after all `atexit` functions. There is only one.
void linux_at_end(void (*function)(void));

/// Reserves space for a file's first `length` bytes (fallocate, FALLOC_FL_KEEP_SIZE) without changing its size or
/// contents. Fails with ENOSPC if there isn't enough space, and with EOPNOTSUPP if the file system can't do this.
int linux_reserve(int fd, off_t length);

/// Creates a non-blocking, close-on-exec eventfd whose counter is 0.
int linux_eventfd(void);

/// Makes the kernel send this process a signal whenever a descriptor becomes readable (O_ASYNC, F_SETOWN, F_SETSIG).
int linux_signal_when_readable(int fd, int signal);

/// The process at the other end of a connected Unix socket (SO_PEERCRED).
struct linux_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};
int linux_peer_of(int fd, struct linux_peer *peer);

/// A TCP socket of this machine, as the kernel reports it (NETLINK_SOCK_DIAG). The state is one of `enum` in
/// <netinet/tcp.h>. Once its process has closed a socket, the inode is 0, and soon the user is 0 as well.
struct linux_tcp_socket {
    uid_t uid;
    uint32_t inode;
    uint8_t state;
};

/// Looks up the socket that has the first address and port, and is connected to the second; all are in network order.
/// If there is none, this finds the socket that listens at the first, and otherwise fails with ENOENT, as it does if the
/// kernel can't look up sockets.
int linux_tcp_socket_of(
    uint32_t address, uint16_t port, uint32_t peer_address, uint16_t peer_port, struct linux_tcp_socket *found);

/// Returns the magic number of the file system that holds an open file (fstatfs, f_type), or -1.
int64_t linux_file_system_type(int fd);

/// Returns the id of the mount that holds an open file (statx, STATX_MNT_ID), or 0 if the kernel doesn't report it.
uint64_t linux_mount_id(int fd);

/// Returns 1 if a regular file has several hard links, 2 if something is mounted at its path (from Linux 5.8 on), 3 if
/// both, or 0. A final link isn't followed. An empty path stands for the open file itself.
int linux_file_ties(int fd, const char *path);

/// Returns the creation time of an open file, in nanoseconds since 1970 (statx, STATX_BTIME), or 0 if the file system
/// doesn't record it.
int64_t linux_birth_time(int fd);

/// Opens a file like `open`, with close-on-exec, but so that reading it doesn't change its access time, unless the
/// caller doesn't own it (O_NOATIME).
int linux_open_unseen(const char *path, int flags);

/// Opens a file for status queries only, not for reading or writing (O_PATH).
int linux_open_status(const char *path);

/// Returns the number of the mount through which a file was opened (statx(2)); 0 if the kernel doesn't tell.
uint64_t linux_mount(int fd);

/// Returns 1 if an open file and the file at a path are on the same mount, or else 0.
int linux_shares_mount(int fd, const char *path);

/// Sets an open file's access time to one second before its creation, so that the first read moves it. Returns 0 if a
/// test read moved it, or else -1; the access time is then the current time.
int linux_seal(int fd);

/// Returns 1 if the access time of an open file is the one that `linux_seal` sets, or else 0.
int linux_is_sealed(int fd);

/// Sets an extended attribute of an open file (fsetxattr). Fails with ENOTSUP if the file system doesn't support them.
int linux_set_attribute(int fd, const char *name, const void *value, size_t size);

/// Removes an extended attribute of an open file (fremovexattr). Fails with ENODATA if it doesn't exist.
int linux_remove_attribute(int fd, const char *name);

/// Reads an extended attribute of an open file into a buffer (fgetxattr). Returns its size, or -1 if it doesn't exist
/// or doesn't fit.
ssize_t linux_attribute(int fd, const char *name, void *value, size_t size);

/// Copies every extended attribute but one from one open file to another, including the ACL. If the first file has no
/// ACL, the second file's ACL is removed. The ACL's mask is limited to the given permissions (4 to read, 2 to write, 1 to
/// execute). Returns the number of attributes that the file system refused (ENOTSUP, EPERM) and that were skipped, or
/// -1 on any other failure.
int linux_copy_attributes(int from, int to, unsigned mask, const char *except);

/// Blocks signals, except those that the process ignores, and creates a non-blocking, close-on-exec descriptor that is
/// readable when a signal is pending (signalfd).
int linux_signalfd(const int *signals, int count);

/// Dequeues the next signal from such a descriptor; returns 0 if there is none.
int linux_next_signal(int fd);

/// Starts a guard process that ends all programs of its process group when this process ends, even by SIGKILL. The
/// guard leads the group, so the group exists before the first program starts. It blocks all signals, and holds none of
/// this process's files open. It sends SIGTERM, and SIGKILL two seconds later. Returns the guard's process id, or -1.
/// This process must keep `*pipe` open until it has ended the guard with SIGKILL.
pid_t linux_start_guard(int *pipe);

/// Stops this process as Ctrl-Z does (SIGTSTP), although that signal is blocked. Returns when the process is continued,
/// or immediately if nothing would continue it.
void linux_stop_self(void);
