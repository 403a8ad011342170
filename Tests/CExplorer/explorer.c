#include "explorer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct explorer_page *explorer_map(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return NULL;
    void *page = ftruncate(file, sizeof(struct explorer_page)) == 0
        ? mmap(NULL, sizeof(struct explorer_page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    return page == MAP_FAILED ? NULL : page;
}

void explorer_unmap(struct explorer_page *page) { munmap(page, sizeof(struct explorer_page)); }

void explorer_arm(
    struct explorer_page *page, uint32_t mode, uint32_t target, int32_t error, const char *call, const char *path
) {
    atomic_store(&page->mode, explorer_off);
    snprintf(page->target_call, sizeof(page->target_call), "%s", call);
    snprintf(page->target_path, sizeof(page->target_path), "%s", path);
    page->target = target;
    page->error = error;
    page->call[0] = page->path[0] = 0;
    atomic_store(&page->has_happened, 0);
    atomic_store(&page->count, 0);
    atomic_store(&page->mode, mode);
}

void explorer_disarm(struct explorer_page *page) { atomic_store(&page->mode, explorer_off); }
uint32_t explorer_count(struct explorer_page *page) { return atomic_load(&page->count); }
bool explorer_has_happened(struct explorer_page *page) { return atomic_load(&page->has_happened) != 0; }
int32_t explorer_process(struct explorer_page *page) { return page->process; }
const char *explorer_call(struct explorer_page *page) { return page->call; }
const char *explorer_path(struct explorer_page *page) { return page->path; }
