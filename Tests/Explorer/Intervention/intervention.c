// Loaded into a program with LD_PRELOAD, this library counts the program's calls that concern files below a root, or
// inotify, and intervenes at one of them. It stops or kills the process before the call, or makes the call fail. It
// also records all of these calls, with what they write. EXPLORER_PAGE names the shared page, EXPLORER_ROOT the root,
// EXPLORER_RECORD the file for the records, EXPLORER_BOOT a file that takes the place of the system's boot ID, and
// EXPLORER_RESTORED a file with the former status of files that were restored.

#define _GNU_SOURCE
#include "explorer.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct explorer_page *page;
static const char *root, *boot;
static size_t root_size;
static int records = -1;
static pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;

// The paths with which files below the root were opened, by descriptor.
#define DESCRIPTORS 4096
static char *opened[DESCRIPTORS];

#define NEXT(name) ({ \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    next; })

static struct explorer_restored restored[256];
static size_t count_of_restored;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("EXPLORER_PAGE"), *record = getenv("EXPLORER_RECORD");
    root = getenv("EXPLORER_ROOT");
    boot = getenv("EXPLORER_BOOT");
    if (!path || !root) return;
    root_size = strlen(root);
    page = explorer_map(path);
    const char *former = getenv("EXPLORER_RESTORED");
    int list = former ? NEXT(open)(former, O_RDONLY | O_CLOEXEC) : -1;
    if (list >= 0) {
        count_of_restored = NEXT(read)(list, restored, sizeof(restored)) / sizeof(restored[0]);
        NEXT(close)(list);
    }
    if (record) {
        // A high number, so that the program's descriptors have the numbers that they would have without this.
        int file = NEXT(open)(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        records = fcntl(file, F_DUPFD_CLOEXEC, 1000);
        NEXT(close)(file);
    }
}

static const char *path_of(int fd) { return fd >= 0 && fd < DESCRIPTORS ? opened[fd] : NULL; }

// Returns the path, if it is below the root. A relative path is below the directory that is open.
static const char *at(int directory, const char *path, char *buffer, size_t size) {
    if (!page || !path) return NULL;
    static const char own[] = "/proc/self/fd/";
    if (strncmp(path, own, sizeof(own) - 1) == 0) return path_of(atoi(path + sizeof(own) - 1));
    if (path[0] == '/') return strncmp(path, root, root_size) == 0 ? path : NULL;
    const char *parent = path_of(directory);
    if (!parent) return NULL;
    snprintf(buffer, size, "%s/%s", parent, path);
    return buffer;
}

// Writes a path without the root and the hashes, which differ from run to run.
static void shorten(const char *path, char *buffer, size_t size) {
    size_t length = 0;
    path += strncmp(path, root, root_size) == 0 ? root_size : 0;
    while (*path && length + 2 < size) {
        size_t digits = strspn(path, "0123456789abcdef");
        if (digits >= 16) {
            buffer[length++] = '#';
            path += digits;
        } else {
            buffer[length++] = *path++;
        }
    }
    if (length == 0) buffer[length++] = '/';
    buffer[length] = 0;
}

static int64_t nanoseconds(struct timespec time) { return time.tv_sec * 1000000000 + time.tv_nsec; }

static void write_record(
    const char *call, const char *path, const char *other, const struct stat *status, int64_t born, int64_t number,
    const void *data, size_t size, int32_t result
) {
    struct explorer_record record = {
        strlen(path), other ? strlen(other) : 0, data ? size : 0, result, status ? status->st_ino : 0, number,
        status ? nanoseconds(status->st_mtim) : 0, status ? nanoseconds(status->st_ctim) : 0, born, {0},
    };
    snprintf(record.call, sizeof(record.call), "%s", call);
    struct iovec parts[] = {
        {&record, sizeof(record)}, {(void *)path, record.path_size}, {(void *)other, record.other_size},
        {(void *)data, record.data_size},
    };
    if (records >= 0) NEXT(writev)(records, parts, 4);
}

// Counts a call on a path below the root, and intervenes if it is the one. Returns the error with which the call fails.
static int reach(const char *call, const char *path) {
    if (!page || !path) return 0;
    uint32_t mode = atomic_load(&page->mode);
    if (mode == explorer_off) return 0;
    int saved = errno;
    char own[sizeof(page->path)];
    shorten(path, own, sizeof(own));
    bool counts = !page->target_call[0]
        || (strcmp(call, page->target_call) == 0 && strcmp(own, page->target_path) == 0);
    uint32_t number = counts ? atomic_fetch_add(&page->count, 1) + 1 : 0;
    int error = 0;
    if (mode == explorer_record) write_record(call, own, NULL, NULL, 0, -1, NULL, 0, explorer_before);
    if (mode == explorer_fail_always && atomic_load(&page->has_happened)) {
        if (strcmp(call, page->call) == 0) error = page->error;
    } else if (mode != explorer_record && number == page->target) {
        snprintf(page->call, sizeof(page->call), "%s", call);
        snprintf(page->path, sizeof(page->path), "%s", own);
        page->process = getpid();
        atomic_store(&page->has_happened, 1);
        if (mode == explorer_stop) raise(SIGSTOP);
        if (mode == explorer_kill) raise(SIGKILL);
        if (mode >= explorer_fail) error = page->error;
    }
    errno = saved;
    return error;
}

// While a page records, the calls that change files are made one at a time, so that the records are in their order.
static bool begin_recording(const char *path) {
    if (!page || !path || records < 0 || atomic_load(&page->mode) != explorer_record) return false;
    pthread_mutex_lock(&recording);
    return true;
}

static void end_recording(
    const char *call, const char *path, const char *other, int fd, int64_t number, const void *data, size_t size,
    int64_t result
) {
    int saved = errno;
    struct stat status;
    bool is_known = fd >= 0 ? NEXT(fstat)(fd, &status) == 0
        : NEXT(fstatat)(AT_FDCWD, other ? other : path, &status, AT_SYMLINK_NOFOLLOW) == 0;
    struct statx extended = {0};
    if (fd >= 0) NEXT(statx)(fd, "", AT_EMPTY_PATH, STATX_BTIME, &extended);
    int64_t born = extended.stx_btime.tv_sec * 1000000000 + extended.stx_btime.tv_nsec;
    int32_t outcome = result < 0 ? -saved : (int32_t)result;
    write_record(call, path, other, is_known ? &status : NULL, born, number, data, size, outcome);
    pthread_mutex_unlock(&recording);
    errno = saved;
}

// A call that changes nothing.
#define READING(call, path, result) do { \
    int error_ = reach(call, path); \
    if (error_) { errno = error_; return -1; } \
    return result; } while (0)

// A call that changes a file: which, and how, is recorded.
#define CHANGING(call, path, other, fd, number, data, size, expression) do { \
    const char *path_ = path, *other_ = other; \
    int error_ = reach(call, path_); \
    if (error_) { errno = error_; return -1; } \
    bool records_ = begin_recording(path_); \
    int64_t number_ = records_ ? (number) : 0; \
    int64_t result_ = expression; \
    if (records_) end_recording(call, path_, other_, fd, number_, data, size, result_); \
    return result_; } while (0)

#define AT(directory, path) at(directory, path, (char[4096]){0}, 4096)

// MARK: Opening and closing

static void set_opened(int fd, const char *path) {
    if (fd < 0 || fd >= DESCRIPTORS) return;
    char *former = opened[fd];
    opened[fd] = path ? strdup(path) : NULL;
    free(former);
}

static int open_at(int directory, const char *path, int flags, mode_t mode) {
    if (boot && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) path = boot;
    const char *full = AT(directory, path);
    int error = reach(flags & O_CREAT ? "create" : "open", full);
    if (error) { errno = error; return -1; }
    bool changes = flags & (O_CREAT | O_TRUNC);
    bool isRecorded = changes && begin_recording(full);
    struct stat status;
    bool isNew = isRecorded && NEXT(fstatat)(directory, path, &status, 0) != 0;
    int fd = NEXT(openat)(directory, path, flags, mode);
    if (isRecorded) end_recording(isNew ? "create" : "open", full, NULL, fd, flags, NULL, 0, fd);
    if (fd >= 0 && full) set_opened(fd, full);
    return fd;
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at(directory, path, flags, mode);
}

// A failed `close` closes the file all the same, so it never fails here.
int close(int fd) {
    const char *path = path_of(fd);
    if (path) {
        int error = reach("close", path);
        (void)error;
        set_opened(fd, NULL);
    }
    return NEXT(close)(fd);
}

int dup(int fd) {
    int copy = NEXT(dup)(fd);
    if (path_of(fd)) set_opened(copy, path_of(fd));
    return copy;
}

DIR *opendir(const char *path) {
    int error = reach("opendir", AT(AT_FDCWD, path));
    if (error) { errno = error; return NULL; }
    return NEXT(opendir)(path);
}

DIR *fdopendir(int fd) {
    int error = reach("fdopendir", path_of(fd));
    if (error) { errno = error; return NULL; }
    return NEXT(fdopendir)(fd);
}

// `closedir` closes the descriptor within the C library.
int closedir(DIR *directory) {
    int fd = dirfd(directory);
    if (path_of(fd)) set_opened(fd, NULL);
    return NEXT(closedir)(directory);
}

struct dirent *readdir(DIR *directory) {
    int error = reach("readdir", path_of(dirfd(directory)));
    if (error) { errno = error; return NULL; }
    return NEXT(readdir)(directory);
}

// MARK: Reading

ssize_t read(int fd, void *buffer, size_t size) { READING("read", path_of(fd), NEXT(read)(fd, buffer, size)); }

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
    READING("pread", path_of(fd), NEXT(pread)(fd, buffer, size, offset));
}

// After a power failure, other files than the restored ones have such inodes, so that none has that of a restored one.
static const uint64_t new_inode = 1ULL << 40;

// Returns what is known of a restored file; NULL if it isn't one.
static const struct explorer_restored *find_restored(uint64_t inode) {
    for (size_t i = 0; i < count_of_restored; i++) if (restored[i].inode == inode) return &restored[i];
    return NULL;
}

// Returns the result of a call for a file's status, in which it changes what is otherwise after the restoration.
static int as_before(int result, struct stat *status) {
    if (result != 0 || count_of_restored == 0) return result;
    const struct explorer_restored *file = find_restored(status->st_ino);
    status->st_ino = file ? file->former : status->st_ino | new_inode;
    if (!file || file->restored != nanoseconds(status->st_ctim)) return result;
    status->st_mtim = (struct timespec){file->modified / 1000000000, file->modified % 1000000000};
    status->st_ctim = (struct timespec){file->changed / 1000000000, file->changed % 1000000000};
    return result;
}

static int as_born(int result, struct statx *status) {
    const struct explorer_restored *file = result == 0 ? find_restored(status->stx_ino) : NULL;
    if (file) {
        status->stx_btime.tv_sec = file->born / 1000000000;
        status->stx_btime.tv_nsec = file->born % 1000000000;
    }
    return result;
}

int fstat(int fd, struct stat *status) { READING("fstat", path_of(fd), as_before(NEXT(fstat)(fd, status), status)); }

int stat(const char *path, struct stat *status) {
    READING("stat", AT(AT_FDCWD, path), as_before(NEXT(stat)(path, status), status));
}

int lstat(const char *path, struct stat *status) {
    READING("lstat", AT(AT_FDCWD, path), as_before(NEXT(lstat)(path, status), status));
}

int fstatat(int directory, const char *path, struct stat *status, int flags) {
    READING("fstatat", AT(directory, path), as_before(NEXT(fstatat)(directory, path, status, flags), status));
}

int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status) {
    const char *full = path[0] ? AT(directory, path) : path_of(directory);
    READING("statx", full, as_born(NEXT(statx)(directory, path, flags, mask | STATX_INO, status), status));
}

int fstatfs(int fd, struct statfs *status) { READING("fstatfs", path_of(fd), NEXT(fstatfs)(fd, status)); }
int access(const char *path, int mode) { READING("access", AT(AT_FDCWD, path), NEXT(access)(path, mode)); }

int faccessat(int directory, const char *path, int mode, int flags) {
    READING("faccessat", AT(directory, path), NEXT(faccessat)(directory, path, mode, flags));
}

ssize_t readlink(const char *restrict path, char *restrict buffer, size_t size) {
    READING("readlink", AT(AT_FDCWD, path), NEXT(readlink)(path, buffer, size));
}

char *realpath(const char *restrict path, char *restrict buffer) {
    int error = reach("realpath", AT(AT_FDCWD, path));
    if (error) { errno = error; return NULL; }
    return NEXT(realpath)(path, buffer);
}

ssize_t fgetxattr(int fd, const char *name, void *value, size_t size) {
    READING("fgetxattr", path_of(fd), NEXT(fgetxattr)(fd, name, value, size));
}

ssize_t flistxattr(int fd, char *names, size_t size) {
    READING("flistxattr", path_of(fd), NEXT(flistxattr)(fd, names, size));
}

int flock(int fd, int operation) { READING("flock", path_of(fd), NEXT(flock)(fd, operation)); }

int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int error = command == F_SETLEASE ? reach("lease", path_of(fd)) : 0;
    if (error) { errno = error; return -1; }
    int result = NEXT(fcntl)(fd, command, argument);
    bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    if (copies && path_of(fd)) set_opened(result, path_of(fd));
    return result;
}

int inotify_init(void) { READING("inotify_init", page ? root : NULL, NEXT(inotify_init)()); }
int inotify_init1(int flags) { READING("inotify_init", page ? root : NULL, NEXT(inotify_init1)(flags)); }

int inotify_add_watch(int fd, const char *path, uint32_t mask) {
    READING("inotify_add", page ? path : NULL, NEXT(inotify_add_watch)(fd, path, mask));
}

int inotify_rm_watch(int fd, int watch) { READING("inotify_rm", page ? root : NULL, NEXT(inotify_rm_watch)(fd, watch)); }

// MARK: Changing files

static int64_t position(int fd) {
    struct stat status;
    if (NEXT(fcntl)(fd, F_GETFL) & O_APPEND && NEXT(fstat)(fd, &status) == 0) return status.st_size;
    return lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t size) {
    CHANGING("write", path_of(fd), NULL, fd, position(fd), data, size, NEXT(write)(fd, data, size));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    CHANGING("write", path_of(fd), NULL, fd, offset, data, size, NEXT(pwrite)(fd, data, size, offset));
}

int ftruncate(int fd, off_t size) {
    CHANGING("ftruncate", path_of(fd), NULL, fd, size, NULL, 0, NEXT(ftruncate)(fd, size));
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
    READING("fallocate", path_of(fd), NEXT(fallocate)(fd, mode, offset, size));
}

int fsync(int fd) { CHANGING("fsync", path_of(fd), NULL, fd, 0, NULL, 0, NEXT(fsync)(fd)); }
int fdatasync(int fd) { CHANGING("fsync", path_of(fd), NULL, fd, 0, NULL, 0, NEXT(fdatasync)(fd)); }

int rename(const char *old, const char *new) {
    CHANGING("rename", AT(AT_FDCWD, old), AT(AT_FDCWD, new), -1, 0, NULL, 0, NEXT(rename)(old, new));
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    CHANGING("rename", AT(from, old), AT(to, new), -1, flags, NULL, 0, NEXT(renameat2)(from, old, to, new, flags));
}

int link(const char *old, const char *new) {
    CHANGING("link", AT(AT_FDCWD, old), AT(AT_FDCWD, new), -1, 0, NULL, 0, NEXT(link)(old, new));
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
    CHANGING("link", AT(from, old), AT(to, new), -1, 0, NULL, 0, NEXT(linkat)(from, old, to, new, flags));
}

int symlink(const char *target, const char *path) {
    CHANGING(
        "symlink", AT(AT_FDCWD, path), NULL, -1, 0, target, strlen(target), NEXT(symlink)(target, path));
}

int unlink(const char *path) {
    CHANGING("unlink", AT(AT_FDCWD, path), NULL, -1, 0, NULL, 0, NEXT(unlink)(path));
}

int unlinkat(int directory, const char *path, int flags) {
    CHANGING("unlink", AT(directory, path), NULL, -1, 0, NULL, 0, NEXT(unlinkat)(directory, path, flags));
}

int mkdir(const char *path, mode_t mode) {
    CHANGING("mkdir", AT(AT_FDCWD, path), NULL, -1, mode, NULL, 0, NEXT(mkdir)(path, mode));
}

int mkdirat(int directory, const char *path, mode_t mode) {
    CHANGING("mkdir", AT(directory, path), NULL, -1, mode, NULL, 0, NEXT(mkdirat)(directory, path, mode));
}

int fchmod(int fd, mode_t mode) {
    CHANGING("chmod", path_of(fd), NULL, fd, mode, NULL, 0, NEXT(fchmod)(fd, mode));
}

int chmod(const char *path, mode_t mode) {
    CHANGING("chmod", AT(AT_FDCWD, path), NULL, -1, mode, NULL, 0, NEXT(chmod)(path, mode));
}

int fchown(int fd, uid_t user, gid_t group) { READING("chown", path_of(fd), NEXT(fchown)(fd, user, group)); }
int futimens(int fd, const struct timespec times[2]) { READING("utimens", path_of(fd), NEXT(futimens)(fd, times)); }

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags) {
    CHANGING("setxattr", path_of(fd), name, fd, 0, value, size, NEXT(fsetxattr)(fd, name, value, size, flags));
}

int fremovexattr(int fd, const char *name) {
    CHANGING("removexattr", path_of(fd), name, fd, 0, NULL, 0, NEXT(fremovexattr)(fd, name));
}
