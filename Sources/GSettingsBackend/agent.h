// A client of the agent: values that follow every change, and edits that aren't lost.
//
// A thread of its own receives messages, and connects again when the agent is restarted. Any thread may call these
// functions; a child of `fork` must create an `Agent` of its own.
#pragma once

#include <glib.h>

#include "state.h"

typedef struct Agent Agent;

// Called without a lock, on the client's own thread, whose default main context belongs to no other thread.
typedef void (*AgentChanged)(const Change *change, gpointer data);

// Creates a client for the location that the environment names. Nothing is connected before the first other call.
// `data` is freed once no further change will be reported.
Agent *agent_new(AgentChanged changed, gpointer data, GDestroyNotify free_data);

// Ends a client. Its thread ends once the agent has answered the edits.
void agent_close(Agent *self);

// Closes the files of all clients in a child of `fork`, whose threads and clients are gone. Async-signal-safe.
void agent_close_inherited(void);

// Requests the values of a key's domain.
void agent_follow(Agent *self, const char *name);

// Returns a key's value as a natural value (see plist.h); NULL if it has none.
GVariant *agent_read(Agent *self, const char *name, Reading reading);

// Returns whether a key can be set.
gboolean agent_is_writable(Agent *self, const char *name);

// Sets keys to natural values, or resets those whose value is NULL: all of them, or none if one isn't writable. The
// keys of one path change at once. Adds what changed in effect.
gboolean agent_edit(Agent *self, const char *const *names, GVariant *const *values, gsize count, GPtrArray *changes);

// Waits until the agent has answered all edits that were made before, or has been silent for seconds.
void agent_synchronize(Agent *self);
