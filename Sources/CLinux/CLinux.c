// Fail here with a clear message, before the modules above fail with obscure ones.
#ifndef __linux__
#error "Only DefaultsKit and PropertyList compile on this system. The other modules of defaultsd need Linux."
#endif

#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

int linux_rename_exchange(int old_directory, const char *old_name, int new_directory, const char *new_name) {
    return renameat2(old_directory, old_name, new_directory, new_name, RENAME_EXCHANGE);
}

int linux_rename_noreplace(int old_directory, const char *old_name, int new_directory, const char *new_name) {
    return renameat2(old_directory, old_name, new_directory, new_name, RENAME_NOREPLACE);
}

int linux_lease_read(int fd) {
    if (fcntl(fd, F_SETSIG, SIGURG) != 0) return -1;
    return fcntl(fd, F_SETLEASE, F_RDLCK);
}

int linux_lease_release(int fd) { return fcntl(fd, F_SETLEASE, F_UNLCK); }

int linux_signal_at_end_of_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal); }

int linux_pipe(int *ends) { return pipe2(ends, O_CLOEXEC); }

int linux_spawn_close_from(void *actions, int lowest) {
    return posix_spawn_file_actions_addclosefrom_np(actions, lowest);
}

short linux_spawn_in_new_session(void) { return POSIX_SPAWN_SETSID; }

int linux_start_thread(pthread_t *thread, void *(*main)(void *), void *argument) {
    sigset_t blocked, restored;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &restored);
    int error = pthread_create(thread, NULL, main, argument);
    pthread_sigmask(SIG_SETMASK, &restored, NULL);
    return error;
}

void linux_share_heap(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, 1 << 20);
}

void linux_release_freed_memory(void) { malloc_trim(0); }

static _Atomic(void (*)(void)) at_end;

void linux_at_end(void (*function)(void)) { at_end = function; }

__attribute__((destructor)) static void end(void) {
    void (*function)(void) = at_end;
    if (function) function();
}

int linux_reserve(int fd, off_t length) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, length); }

int linux_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int linux_signal_when_readable(int fd, int signal) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETOWN, getpid()) != 0 || fcntl(fd, F_SETSIG, signal) != 0) return -1;
    return fcntl(fd, F_SETFL, flags | O_ASYNC);
}

int linux_peer_of(int fd, struct linux_peer *peer) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    peer->pid = credentials.pid;
    peer->uid = credentials.uid;
    peer->gid = credentials.gid;
    return 0;
}

int linux_tcp_socket_of(
    uint32_t address, uint16_t port, uint32_t peer_address, uint16_t peer_port, struct linux_tcp_socket *found) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } question = {
        .header = {.nlmsg_len = sizeof question, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        .body = {
            .sdiag_family = AF_INET,
            .sdiag_protocol = IPPROTO_TCP,
            .id = {
                .idiag_sport = port,
                .idiag_dport = peer_port,
                .idiag_src = {address},
                .idiag_dst = {peer_address},
                .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
            },
        },
    };
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0) return -1;
    // The kernel answers before `send` returns.
    ssize_t length = send(fd, &question, sizeof question, 0);
    if (length >= 0) length = recv(fd, &answer, sizeof answer, MSG_DONTWAIT);
    int error = errno;
    close(fd);
    if (length >= 0) {
        const struct nlmsgerr *failure = NLMSG_DATA(&answer.header);
        const struct inet_diag_msg *socket = NLMSG_DATA(&answer.header);
        if (answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY && length >= (ssize_t)NLMSG_LENGTH(sizeof *socket)) {
            *found = (struct linux_tcp_socket){socket->idiag_uid, socket->idiag_inode, socket->idiag_state};
            return 0;
        }
        int refused = answer.header.nlmsg_type == NLMSG_ERROR && length >= (ssize_t)NLMSG_LENGTH(sizeof *failure);
        error = refused && failure->error < 0 ? -failure->error : EPROTO;
    }
    errno = error;
    return -1;
}

int64_t linux_file_system_type(int fd) {
    struct statfs information;
    if (fstatfs(fd, &information) != 0) return -1;
    return (int64_t)(uint32_t)information.f_type;
}

uint64_t linux_mount_id(int fd) {
#ifdef STATX_MNT_ID
    struct statx information;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &information) == 0 && (information.stx_mask & STATX_MNT_ID))
        return information.stx_mnt_id;
#endif
    return 0;
}

int linux_file_ties(int fd, const char *path) {
    struct statx information;
    int flags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
    if (statx(fd, path, flags, STATX_TYPE | STATX_NLINK, &information) != 0 || !S_ISREG(information.stx_mode)) return 0;
    int ties = information.stx_nlink > 1 ? 1 : 0;
#ifdef STATX_ATTR_MOUNT_ROOT
    if (information.stx_attributes & STATX_ATTR_MOUNT_ROOT) ties |= 2;
#endif
    return ties;
}

int64_t linux_birth_time(int fd) {
    struct statx information;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &information) != 0 || !(information.stx_mask & STATX_BTIME)) return 0;
    return information.stx_btime.tv_sec * 1000000000 + information.stx_btime.tv_nsec;
}

int linux_open_unseen(const char *path, int flags) {
    int fd = open(path, flags | O_NOATIME | O_CLOEXEC);
    return fd < 0 && errno == EPERM ? open(path, flags | O_CLOEXEC) : fd;
}

int linux_open_status(const char *path) { return open(path, O_PATH | O_CLOEXEC); }

uint64_t linux_mount(int fd) {
#ifdef STATX_MNT_ID
    struct statx information;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &information) == 0 && (information.stx_mask & STATX_MNT_ID))
        return information.stx_mnt_id;
#endif
    return 0;
}

int linux_shares_mount(int fd, const char *path) {
    struct statx file, other;
#ifdef STATX_MNT_ID
    unsigned mask = STATX_MNT_ID;
#else
    unsigned mask = 0;
#endif
    if (statx(fd, "", AT_EMPTY_PATH, mask, &file) != 0 || statx(AT_FDCWD, path, 0, mask, &other) != 0) return 0;
#ifdef STATX_MNT_ID
    if (file.stx_mask & other.stx_mask & STATX_MNT_ID) return file.stx_mnt_id == other.stx_mnt_id;
#endif
    return file.stx_dev_major == other.stx_dev_major && file.stx_dev_minor == other.stx_dev_minor;
}

int linux_is_sealed(int fd) {
    struct statx information;
    unsigned mask = STATX_ATIME | STATX_BTIME;
    if (statx(fd, "", AT_EMPTY_PATH, mask, &information) != 0 || (information.stx_mask & mask) != mask) return 0;
    return information.stx_atime.tv_sec == information.stx_btime.tv_sec - 1 &&
           information.stx_atime.tv_nsec == information.stx_btime.tv_nsec;
}

int linux_seal(int fd) {
    int64_t birth = linux_birth_time(fd);
    struct timespec times[] = {{birth / 1000000000 - 1, birth % 1000000000}, {0, UTIME_OMIT}};
    if (birth <= 0 || futimens(fd, times) != 0) return -1;
    // Test it: mount options, file flags and some file systems prevent it.
    int flags = fcntl(fd, F_GETFL);
    char byte;
    fcntl(fd, F_SETFL, flags & ~O_NOATIME);
    ssize_t count = pread(fd, &byte, 1, 0);
    fcntl(fd, F_SETFL, flags);
    if (count == 1 && !linux_is_sealed(fd) && futimens(fd, times) == 0 && linux_is_sealed(fd)) return 0;
    // Nothing would break the seal.
    times[0] = (struct timespec){0, UTIME_NOW};
    futimens(fd, times);
    return -1;
}

int linux_set_attribute(int fd, const char *name, const void *value, size_t size) {
    return fsetxattr(fd, name, value, size, 0);
}

int linux_remove_attribute(int fd, const char *name) { return fremovexattr(fd, name); }

ssize_t linux_attribute(int fd, const char *name, void *value, size_t size) {
    return fgetxattr(fd, name, value, size);
}

/// Removes permissions from the mask of an ACL. The attribute's format (linux/posix_acl_xattr.h) is four bytes, then
/// for each entry a tag and permissions of two bytes each and an id of four.
static void narrow_mask(unsigned char *acl, ssize_t length, unsigned mask) {
    for (ssize_t entry = 4; entry + 8 <= length; entry += 8) {
        if (acl[entry] == 0x10 && acl[entry + 1] == 0) acl[entry + 2] &= (unsigned char)mask;
    }
}

int linux_copy_attributes(int from, int to, unsigned mask, const char *except) {
    // A new file inherits its directory's default ACL, whose entries would take effect once the mode grants a group
    // access.
    if (fgetxattr(to, "system.posix_acl_access", NULL, 0) >= 0 && fremovexattr(to, "system.posix_acl_access") != 0
        && errno != ENODATA)
        return -1;
    ssize_t size = flistxattr(from, NULL, 0);
    if (size <= 0) return size < 0 && errno != ENOTSUP ? -1 : 0;
    char *names = malloc((size_t)size);
    if (names == NULL) return -1;
    size = flistxattr(from, names, (size_t)size);
    int refused = 0;
    for (char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
        if (strcmp(name, except) == 0) continue;
        ssize_t length = fgetxattr(from, name, NULL, 0);
        if (length < 0) continue; // removed since it was listed
        void *value = malloc(length > 0 ? (size_t)length : 1);
        if (value == NULL) {
            refused = -1;
            break;
        }
        length = fgetxattr(from, name, value, (size_t)length);
        if (strcmp(name, "system.posix_acl_access") == 0) narrow_mask(value, length, mask);
        if (length >= 0 && fsetxattr(to, name, value, (size_t)length, 0) != 0) {
            if (errno == ENOTSUP || errno == EPERM) {
                refused += 1;
            } else {
                int error = errno;
                free(value);
                free(names);
                errno = error;
                return -1;
            }
        }
        free(value);
    }
    free(names);
    return refused;
}

int linux_signalfd(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int index = 0; index < count; index += 1) {
        struct sigaction action;
        if (sigaction(signals[index], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&set, signals[index]);
        }
    }
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int linux_next_signal(int fd) {
    struct signalfd_siginfo information;
    return read(fd, &information, sizeof information) == sizeof information ? (int)information.ssi_signo : 0;
}

pid_t linux_start_guard(int *kept) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    sigset_t all, former;
    sigfillset(&all);
    // The guard inherits the mask, so no signal can reach it before it is set up.
    pthread_sigmask(SIG_BLOCK, &all, &former);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        // Close all inherited descriptors, so that no process that waits for the end of a pipe waits for the guard.
        dup2(ends[0], 0);
        syscall(SYS_close_range, 1, ~0U, 0);
        char byte;
        while (read(0, &byte, 1) < 0 && errno == EINTR) {}
        kill(0, SIGTERM);
        // A stopped process handles SIGTERM only once it continues.
        kill(0, SIGCONT);
        poll(NULL, 0, 2000);
        kill(0, SIGKILL);
        _exit(0);
    }
    int error = errno;
    // Both processes do this, because either may run first, and the group must exist when this function returns.
    if (pid > 0) setpgid(pid, pid);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    close(ends[0]);
    if (pid > 0) *kept = ends[1]; else close(ends[1]);
    errno = error;
    return pid;
}

void linux_stop_self(void) {
    sigset_t stop, former;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, &former);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
}
