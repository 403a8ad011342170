// The values of domains in their layers, and the edits that the agent hasn't answered: what a client knows.
//
// Without I/O, without a clock, and without a lock; agent.c adds these.
#pragma once

#include <glib.h>

// The layers of a domain, from the one that wins; after them, one for each system directory.
enum { LAYER_MANAGED, LAYER_HOST, LAYER_ANY, LAYER_SYSTEM };

typedef enum {
    // Its values must be requested.
    DOMAIN_UNASKED,
    // The request has been sent; events before the answer are older than the answer.
    DOMAIN_ASKED,
    // The answer has come, and its values follow.
    DOMAIN_ARRIVING,
    // The values follow each change.
    DOMAIN_FOLLOWED,
    // The agent follows no more domains.
    DOMAIN_REFUSED,
} DomainStatus;

typedef struct {
    char *name;
    // The path in names of keys, which ends in a slash.
    char *path;
    DomainStatus status;
    // The number of the request for its values.
    guint request;
    // Tables of keys and values; NULL as long as neither the agent nor the files have been read.
    GPtrArray *layers;
    // The values that are arriving.
    GPtrArray *incoming;
    // Whether the values are the agent's, not only those in the files.
    gboolean is_known;
    // The files' attributes when they were read; one `struct stat` for each layer.
    GArray *stamps;
} Domain;

// An edit of one layer of a domain that the agent hasn't answered.
typedef struct {
    Domain *domain;
    int layer;
    // Keys and their new values; NULL removes a key.
    GHashTable *values;
    // The values that the keys had.
    GHashTable *replaced;
    // The time when it was made, in nanoseconds since 1970.
    gint64 time;
    // Its position in the order in which edits were made.
    guint64 position;
    // The number in the session; 0 before it is first sent.
    guint64 number;
    // The number of its request on this connection; 0 if it hasn't been sent on it.
    guint request;
} Edit;

typedef struct {
    // This host's identifier; NULL if it has none.
    char *host;
    char **systems;
    GHashTable *domains;
    // The directory that the agent serves, by its welcome; and whether the client has accepted this agent.
    char *directory;
    gboolean is_greeted;
    // Those that were sent, in the order of their numbers; then the others, in the order in which they were made.
    GQueue edits;
    // The number of edits at the head that have been sent on this connection.
    guint sent;
    guint64 last_position, last_number;
    // The subscription on this connection, and the number of its last request.
    guint subscription, last_request;
} State;

// Keys of one path that changed: their values, or whether they can be written.
typedef struct {
    char *path;
    // Ends with NULL.
    GPtrArray *keys;
    gboolean is_writability;
} Change;

typedef enum { READ_IN_EFFECT, READ_USER, READ_DEFAULT } Reading;

typedef enum {
    OUTCOME_HANDLED,
    // The agent does what it is asked: it has answered an edit or, if there is none, has sent all values.
    OUTCOME_PROGRESS,
    // A welcome has come, whose agent the client must accept or refuse.
    OUTCOME_WELCOME,
    // The rest of a message hasn't arrived.
    OUTCOME_INCOMPLETE,
    // The conversation can't go on.
    OUTCOME_LOST,
} Outcome;

void state_init(State *self, const char *host, char **systems);
void state_clear(State *self);

// Creates an array for changes.
GPtrArray *state_changes(void);

// Returns a key's domain, and the key in `key`; NULL if no domain can have its name.
Domain *state_domain(State *self, const char *name, const char **key);

// Creates the tables of a domain's layers.
GPtrArray *state_layers(const State *self);

// Sets a layer's table to the entries of a dictionary; NULL stands for an empty one.
void state_set_layer(GPtrArray *layers, guint layer, GVariant *values);

// Returns a key's value, without a reference; NULL if it has none.
GVariant *state_value(const State *self, const Domain *domain, const char *key, Reading reading);

// Returns whether the managed layer has the key.
gboolean state_is_forced(const Domain *domain, const char *key);

// Makes an edit of a domain that has layers: keys and values, where NULL resets a key. Adds what changed in effect.
void state_edit(State *self, Domain *domain, GHashTable *values, gint64 time, GPtrArray *changes);

// Returns whether an edit up to a position hasn't been answered.
gboolean state_has_edits(const State *self, guint64 position);

// Returns the request of the next edit to send, and marks it as sent; NULL if there is none to send now.
GVariant *state_next_edit(State *self, guint64 session, const char *program);

// Returns the request for the values of all domains that must be requested; NULL if there is none.
GVariant *state_next_subscription(State *self);

// Applies a message. Adds what changed in effect, and the reason of a refusal to `problems`.
Outcome state_receive(State *self, GVariant *message, GPtrArray *changes, GPtrArray *problems);

// Applies the message of the frame at a position of the bytes, if it is complete, and advances the position.
Outcome state_receive_frame(
    State *self, const GByteArray *bytes, gsize *position, GPtrArray *changes, GPtrArray *problems);

// Takes back the last edit of `state_next_edit`, which can't be sent.
void state_refuse(State *self, const char *reason, GPtrArray *changes, GPtrArray *problems);

// Forgets what was sent on a connection that is lost.
void state_disconnect(State *self);
