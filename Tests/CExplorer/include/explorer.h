// The page of memory, in a file, that the explorer shares with the library that it loads into a program.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// The intervention at a call. A call is counted if it concerns a file below the root, or inotify.
enum explorer_mode {
    /// Calls aren't counted.
    explorer_off = 0,
    /// Calls are counted and recorded, with their data.
    explorer_record = 1,
    /// The process stops before the call.
    explorer_stop = 2,
    /// The process is killed before the call.
    explorer_kill = 3,
    /// The call fails.
    explorer_fail = 4,
    /// This call and all later ones with the same name fail.
    explorer_fail_always = 5,
};

/// The shared page.
struct explorer_page {
    _Atomic uint32_t mode;
    /// The number of calls since the page was armed; only those with a name and a path, if they are given.
    _Atomic uint32_t count;
    /// The number of the call at which something happens; the first is 1.
    uint32_t target;
    /// The name and the path of the calls that count, or nothing. The path is the one that a call names, or with which
    /// its file was opened, below the root; each hash in it is "#".
    char target_call[32], target_path[256];
    /// The error number of a call that fails.
    int32_t error;
    /// Whether it has happened.
    _Atomic uint32_t has_happened;
    /// The process and the name of the call at which it happened.
    int32_t process;
    char call[32];
    /// Its path, like `target_path`.
    char path[256];
};

/// Maps the page in a file, which is created with a size if it doesn't exist. Returns null on failure.
struct explorer_page *explorer_map(const char *path);
void explorer_unmap(struct explorer_page *page);

/// Begins to count from 1, and sets what happens at a call: any, or one with a name and a path.
void explorer_arm(
    struct explorer_page *page, uint32_t mode, uint32_t target, int32_t error, const char *call, const char *path);
void explorer_disarm(struct explorer_page *page);
uint32_t explorer_count(struct explorer_page *page);
bool explorer_has_happened(struct explorer_page *page);
int32_t explorer_process(struct explorer_page *page);
const char *explorer_call(struct explorer_page *page);
const char *explorer_path(struct explorer_page *page);

/// A recorded call, followed by its first path, its second path and its data. Each call has a record before it is made,
/// without data; one that changes files has another one afterwards.
struct explorer_record {
    /// The sizes of what follows.
    uint32_t path_size, other_size, data_size;
    /// The result, or the negative error number; `explorer_before` before the call.
    int32_t result;
    /// The inode of the file that the descriptor has open, or of the one at the path after the call; 0 if there is none.
    uint64_t inode;
    /// The position of what is written; the new size of a file; the flags of an open or a rename.
    int64_t number;
    /// The times of the file's last modification and last change after the call, and of its creation, in nanoseconds
    /// since 1970.
    int64_t modified, changed, born;
    char call[16];
};

enum { explorer_before = INT32_MIN };

/// The status that a file had before a power failure, which `fstat` and its kind report.
struct explorer_restored {
    /// The file's inode and the time of its last change, when it was restored.
    uint64_t inode;
    int64_t restored;
    /// The inode and the time of its creation to report.
    uint64_t former;
    int64_t born;
    /// The times to report until the file changes.
    int64_t modified, changed;
};
