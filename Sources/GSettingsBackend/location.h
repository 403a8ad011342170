// The places of preferences, by the rules of all programs of defaultsd: the directories, and the agent's socket.
#pragma once

#include <glib.h>

typedef struct {
    char *directory;
    // Whether the directory isn't the default one, so that an agent must be told.
    gboolean is_named;
    char *socket;
    // Whether the user named the socket; then no other is tried.
    gboolean is_explicit;
    // The directory above the socket's own that exists before any agent runs, and that is trusted.
    char *root;
    char **systems;
    char *managed;
    // This host's identifier; NULL on a machine without one.
    char *host;
    // Whether an agent may be asked, and whether this process may start one.
    gboolean uses_agent, may_start_agent;
} Location;

// A connection to the program at an agent's socket.
typedef struct {
    int socket;
    // Whether the agent of the directory holds its lock, which names this socket: it can't be another one.
    gboolean is_certain;
    // The time in milliseconds within which another program must prove to be the agent; -1 without a limit.
    int timeout;
    // Whether an agent has claimed the directory; it may still be starting. This is known without a connection, too.
    gboolean is_claimed;
} Connection;

// Finds the location of this process; returns NULL with the reason in `problem`. For `wait`, see `files_read`.
Location *location_find(gint64 *wait, char **problem);

void location_free(Location *self);

// Connects to the agent; returns FALSE if none is there.
gboolean location_connect(const Location *self, Connection *connection);

// Returns whether a path leads to the location's directory.
gboolean location_is_directory(const Location *self, const char *path);

// Returns the default directory; NULL if no home directory is known.
char *location_default_directory(void);

// XXH64 with the seed 0.
guint64 location_hash(const char *bytes, gsize size);
