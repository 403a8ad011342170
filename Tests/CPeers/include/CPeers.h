/// Libraries of peers, loaded when the benchmarks run: each `open` says whether its library is installed.
#ifndef CPEERS_H
#define CPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// GNOME's dconf, in which GSettings keeps its values. Keys are paths.
bool peer_dconf_open(void);
int64_t peer_dconf_integer(const char *key);
size_t peer_dconf_string(const char *key);
bool peer_dconf_boolean(const char *key);
/// Returns at once; the service writes when it comes to it.
bool peer_dconf_set(const char *key, int64_t value);
bool peer_dconf_set_string(const char *key, const char *value);
bool peer_dconf_set_boolean(const char *key, bool value);
/// Waits until the service has written all.
void peer_dconf_synchronize(void);
/// Calls back at each change of a key, on this thread, for ever.
void peer_dconf_follow(const char *key, void (*changed)(int64_t value));

// GNUstep's NSUserDefaults, the standard ones of a program of this name.
bool peer_gnustep_open(void);
long peer_gnustep_integer(const char *key);
size_t peer_gnustep_string(const char *key);
bool peer_gnustep_boolean(const char *key);
void peer_gnustep_set(const char *key, long value);
void peer_gnustep_set_string(const char *key, const char *value);
bool peer_gnustep_synchronize(void);

// libplist, of the libimobiledevice project.
bool peer_libplist_open(void);
/// A document; `NULL` when it can't be read.
void *peer_libplist_read(const uint8_t *bytes, size_t count);
/// Writes a document, and gives its size.
size_t peer_libplist_write(void *document, bool binary);
void peer_libplist_free(void *document);

#endif
