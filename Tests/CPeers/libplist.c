#include "CPeers.h"

#include <dlfcn.h>
#include <stdlib.h>

// Their return types depend on the version; the results that they store tell as much.
static void (*read_memory)(const char *, uint32_t, void **);
static void (*write_xml)(void *, char **, uint32_t *);
static void (*write_binary)(void *, char **, uint32_t *);
static void (*free_document)(void *);

bool peer_libplist_open(void) {
    if (read_memory) return true;
    void *library = dlopen("libplist-2.0.so.3", RTLD_NOW);
    if (!library) library = dlopen("libplist-2.0.so.4", RTLD_NOW);
    if (!library) return false;
    write_xml = (void (*)(void *, char **, uint32_t *))dlsym(library, "plist_to_xml");
    write_binary = (void (*)(void *, char **, uint32_t *))dlsym(library, "plist_to_bin");
    free_document = (void (*)(void *))dlsym(library, "plist_free");
    if (!write_xml || !write_binary || !free_document) return false;
    read_memory = (void (*)(const char *, uint32_t, void **))dlsym(library, "plist_from_memory");
    return read_memory != NULL;
}

void *peer_libplist_read(const uint8_t *bytes, size_t count) {
    void *document = NULL;
    read_memory((const char *)bytes, (uint32_t)count, &document);
    return document;
}

size_t peer_libplist_write(void *document, bool binary) {
    char *bytes = NULL;
    uint32_t count = 0;
    (binary ? write_binary : write_xml)(document, &bytes, &count);
    free(bytes);
    return count;
}

void peer_libplist_free(void *document) { free_document(document); }
