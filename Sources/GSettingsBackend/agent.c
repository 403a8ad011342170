#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "location.h"
#include "plist.h"

// Times are in microseconds, as GLib's.
#define MILLISECONDS 1000ll
#define SECONDS (1000 * MILLISECONDS)

// The time that all calls of a process together wait for an agent that doesn't answer, and for one that is started: a
// change that the program doesn't wait for is lost if it ends before.
#define TOTAL_WAIT (500 * MILLISECONDS)
#define TOTAL_START_WAIT (3 * SECONDS)
// A wait up to this time is an ordinary one, and isn't counted.
#define ORDINARY_WAIT (20 * MILLISECONDS)
// The silence after which `agent_synchronize` gives up, as other clients do.
#define SILENCE (5 * SECONDS)
// The time for which an agent that was there, or was started, is expected.
#define EXPECTATION (10 * SECONDS)
// The time for which an agent that was there may return by itself before another one is started.
#define RETURN (1 * SECONDS)
// The delays between agents that are started: one that is ending may still hold the directory, so that the next exits.
#define FIRST_START_DELAY (100 * MILLISECONDS)
#define LONGEST_START_DELAY (5 * SECONDS)
#define FIRST_DELAY (10 * MILLISECONDS)
#define LONGEST_DELAY (500 * MILLISECONDS)
// The delay after a program has accepted a connection and closed it.
#define REFUSED_DELAY (30 * SECONDS)
#define UNWATCHED_DELAY (5 * SECONDS)

#define FRAME_LIMIT (64u << 20)
#define GREETING_LIMIT (1u << 20)
#define CLAIM ".defaultsd.agent"
#define ORIGIN_SIZE 1024

#ifndef DEFAULTSD_PROGRAM
#define DEFAULTSD_PROGRAM "/usr/bin/defaultsd"
#endif

struct Agent {
    int references;
    AgentChanged changed;
    gpointer data;
    GDestroyNotify free_data;
    // NULL if it can't be found; then there are no values, and no key can be set.
    Location *location;
    guint64 session;

    // Protects all that follows. Nothing that may call this client is called under it.
    GMutex lock;
    // Signaled after messages, and when a connection begins or ends.
    GCond news;
    State state;
    GThread *thread;
    gboolean is_closed;
    // Makes the thread look at the state again.
    int wake;
    // The connection; -1 without one.
    int socket;
    gboolean is_certain, is_greeted;
    GByteArray *incoming, *outgoing;
    // The end of the time for the greeting; G_MAXINT64 without one.
    gint64 greeting_end;
    // The file descriptor that reports the start of an agent; -1 if none is needed.
    int watch;
    // The times of the next attempt to connect, and of the last reason to expect an agent.
    gint64 next_attempt, expected_since;
    gint64 delay;
    gint64 last_news;
    // The time before which no agent is started, and the delay after one is.
    gint64 next_start, start_delay;
    // The rest of TOTAL_WAIT and of TOTAL_START_WAIT.
    gint64 wait, start_wait;
    // The changes that the thread must report next.
    GPtrArray *changes;
    // The last problem that was reported, and those that the next `unlock` reports.
    char *problem;
    GPtrArray *problems;
};

// MARK: Life

static void release(Agent *self) {
    if (!g_atomic_int_dec_and_test(&self->references)) return;
    if (self->free_data) self->free_data(self->data);
    if (self->socket >= 0) close(self->socket);
    if (self->watch >= 0) close(self->watch);
    if (self->wake >= 0) close(self->wake);
    if (self->thread) g_thread_unref(self->thread);
    if (self->location) location_free(self->location);
    g_byte_array_unref(self->incoming);
    g_byte_array_unref(self->outgoing);
    state_clear(&self->state);
    g_mutex_clear(&self->lock);
    g_cond_clear(&self->news);
    g_ptr_array_unref(self->changes);
    g_ptr_array_unref(self->problems);
    g_free(self->problem);
    g_free(self);
}

static GPtrArray *texts(void) {
    return g_ptr_array_new_with_free_func(g_free);
}

// Reports a problem at the next `unlock`, but not the same one again and again.
static void report(Agent *self, const char *problem) {
    if (g_strcmp0(self->problem, problem) == 0) return;
    g_free(self->problem);
    self->problem = g_strdup(problem);
    g_ptr_array_add(self->problems, g_strdup(problem));
}

// Releases the lock. A program's handler of log messages may use settings, so none is called under the lock.
static void unlock(Agent *self) {
    g_autoptr(GPtrArray) problems = NULL;
    if (self->problems->len > 0) {
        problems = self->problems;
        self->problems = texts();
    }
    g_mutex_unlock(&self->lock);
    for (guint i = 0; problems && i < problems->len; i++) g_warning("%s", (const char *)problems->pdata[i]);
}

Agent *agent_new(AgentChanged changed, gpointer data, GDestroyNotify free_data) {
    Agent *self = g_new0(Agent, 1);
    *self = (Agent){
        .references = 1, .changed = changed, .data = data, .free_data = free_data, .socket = -1, .watch = -1,
        .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .incoming = g_byte_array_new(),
        .outgoing = g_byte_array_new(), .greeting_end = G_MAXINT64, .next_attempt = G_MAXINT64,
        .expected_since = -EXPECTATION, .delay = FIRST_DELAY, .start_delay = FIRST_START_DELAY, .wait = TOTAL_WAIT,
        .start_wait = TOTAL_START_WAIT,
        .changes = state_changes(), .problems = texts(),
    };
    g_mutex_init(&self->lock);
    g_cond_init(&self->news);
    g_autofree char *problem = NULL;
    self->location = location_find(&problem);
    char *no_systems[] = {NULL};
    state_init(&self->state, self->location ? self->location->host : NULL,
        self->location ? self->location->systems : no_systems);
    if (problem) report(self, problem);
    // Two processes with one number would discard each other's edits. Without randomness, the clock differs.
    if (getrandom(&self->session, sizeof(self->session), GRND_NONBLOCK) != sizeof(self->session)) {
        self->session = (guint64)g_get_real_time() << 20 ^ (guint64)getpid();
    }
    self->session &= G_MAXINT64;
    return self;
}

static void wake(Agent *self) {
    (void)!eventfd_write(self->wake, 1);
}

void agent_close(Agent *self) {
    g_mutex_lock(&self->lock);
    self->is_closed = TRUE;
    wake(self);
    unlock(self);
    release(self);
}

void agent_abandon(Agent *self) {
    if (self->socket >= 0) close(self->socket);
    if (self->watch >= 0) close(self->watch);
    if (self->wake >= 0) close(self->wake);
}

// MARK: Sending

// Sends as much as possible without blocking. If the connection is lost, the thread notices.
static void flush(Agent *self) {
    gsize sent = 0;
    while (sent < self->outgoing->len) {
        ssize_t count = send(self->socket, self->outgoing->data + sent, self->outgoing->len - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        sent += (gsize)count;
    }
    if (sent > 0) g_byte_array_remove_range(self->outgoing, 0, (guint)sent);
    if (self->outgoing->len > 0) wake(self);
}

// Puts a message into the buffer; returns FALSE if it can't be a frame.
static gboolean put(Agent *self, GVariant *message) {
    guint start = self->outgoing->len;
    g_byte_array_set_size(self->outgoing, start + 4);
    if (!plist_encode(message, self->outgoing) || self->outgoing->len - start - 4 > FRAME_LIMIT) {
        g_byte_array_set_size(self->outgoing, start);
        return FALSE;
    }
    guint32 size = g_htonl(self->outgoing->len - start - 4);
    memcpy(self->outgoing->data + start, &size, sizeof(size));
    return TRUE;
}

// Returns the name of the program on whose behalf this process makes edits; NULL if it is the executable's.
static const char *origin(void) {
    const char *program = g_get_prgname();
    g_autofree char *executable = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *name = executable ? g_path_get_basename(executable) : NULL;
    gboolean is_valid = program && strlen(program) <= ORIGIN_SIZE && g_utf8_validate(program, -1, NULL);
    return is_valid && g_strcmp0(program, name) != 0 ? program : NULL;
}

static void put_edit(Agent *self, GVariant *request) {
    if (put(self, request)) return;
    // The replaced values, which may be what can't be sent, are only needed for agreement with others.
    GVariantDict reduced;
    g_variant_dict_init(&reduced, request);
    g_variant_dict_remove(&reduced, "replacing");
    g_variant_dict_remove(&reduced, "time");
    g_autoptr(GVariant) rest = g_variant_ref_sink(g_variant_dict_end(&reduced));
    if (put(self, rest)) return;
    g_autoptr(GPtrArray) problems = texts();
    state_refuse(&self->state, request, "The values are too large to set at once.", self->changes, problems);
    for (guint i = 0; i < problems->len; i++) report(self, problems->pdata[i]);
    wake(self);
}

static void send_pending(Agent *self) {
    if (self->socket < 0) return;
    for (GVariant *request; (request = state_next_subscription(&self->state)); g_variant_unref(request)) {
        put(self, request);
    }
    const char *program = self->state.edits.length > self->state.sent ? origin() : NULL;
    // Another agent than the right one must not get an edit.
    while (self->is_greeted || self->is_certain) {
        g_autoptr(GVariant) request = state_next_edit(&self->state, self->session, program);
        if (!request) break;
        put_edit(self, request);
    }
    flush(self);
}

// MARK: The connection

static void greet(Agent *self) {
    const char *program = g_get_prgname();
    g_autofree char *name = g_utf8_make_valid(program ? program : program_invocation_short_name, -1);
    GVariantDict hello;
    g_variant_dict_init(&hello, NULL);
    g_variant_dict_insert(&hello, "type", "s", "hello");
    g_variant_dict_insert(&hello, "request", "x", (gint64)++self->state.last_request);
    g_variant_dict_insert(&hello, "protocol", "x", (gint64)1);
    g_variant_dict_insert(&hello, "newest", "x", (gint64)2);
    g_variant_dict_insert(&hello, "client", "s", name);
    g_autoptr(GVariant) message = g_variant_ref_sink(g_variant_dict_end(&hello));
    put(self, message);
}

static void stop_watching(Agent *self) {
    if (self->watch >= 0) close(self->watch);
    self->watch = -1;
}

// Returns whether an agent was there, or was started, a short time ago.
static gboolean is_expected(const Agent *self) {
    return g_get_monotonic_time() - self->expected_since < EXPECTATION;
}

// Plans the next attempt to connect. An agent that was there, or was started, is expected for a while. Without one, the
// directory reports its start.
static void plan_attempt(Agent *self, gboolean was_refused) {
    gint64 now = g_get_monotonic_time();
    if (is_expected(self)) {
        self->next_attempt = now + self->delay;
        self->delay = MIN(2 * self->delay, LONGEST_DELAY);
        return;
    }
    if (self->watch < 0) {
        self->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        int watch = self->watch < 0 ? -1 : inotify_add_watch(
            self->watch, self->location->directory, IN_CREATE | IN_MODIFY | IN_MOVED_TO);
        // An agent may have started since the last attempt.
        self->next_attempt = now;
        if (watch >= 0 && !was_refused) return;
        if (watch < 0) stop_watching(self);
    }
    self->next_attempt = was_refused ? now + REFUSED_DELAY : self->watch < 0 ? now + UNWATCHED_DELAY : G_MAXINT64;
}

static void expect_agent(Agent *self) {
    self->expected_since = g_get_monotonic_time();
    self->delay = FIRST_DELAY;
    self->next_attempt = self->expected_since;
}

static void disconnect(Agent *self) {
    if (self->socket < 0) return;
    close(self->socket);
    self->socket = -1;
    g_byte_array_set_size(self->incoming, 0);
    g_byte_array_set_size(self->outgoing, 0);
    state_disconnect(&self->state);
    if (self->is_greeted) {
        expect_agent(self);
        self->next_start = self->expected_since + RETURN;
    } else {
        plan_attempt(self, TRUE);
    }
    self->is_greeted = FALSE;
    self->greeting_end = G_MAXINT64;
    g_cond_broadcast(&self->news);
}

// Tries to connect, and sends all requests.
static void attempt(Agent *self) {
    Connection connection;
    if (!location_connect(self->location, &connection)) return plan_attempt(self, FALSE);
    stop_watching(self);
    self->socket = connection.socket;
    self->is_certain = connection.is_certain;
    self->next_attempt = G_MAXINT64;
    self->greeting_end = connection.timeout < 0 ? G_MAXINT64
        : g_get_monotonic_time() + connection.timeout * MILLISECONDS;
    self->last_news = g_get_monotonic_time();
    // The number 1 is always the greeting's.
    self->state.last_request = 0;
    greet(self);
    send_pending(self);
    g_cond_broadcast(&self->news);
}

static Outcome receive_welcome(Agent *self, GVariant *message) {
    const char *directory = NULL;
    g_autoptr(GVariant) systems = g_variant_lookup_value(message, "system", G_VARIANT_TYPE("av"));
    if (!systems || !g_variant_lookup(message, "directory", "&s", &directory)) return OUTCOME_LOST;
    if (!location_is_directory(self->location, directory)) {
        g_autofree char *problem = g_strdup_printf(
            "The agent at %s serves %s, not %s. Name another socket with DEFAULTSD_SOCKET, or another directory.",
            self->location->socket, directory, self->location->directory);
        if (self->location->is_explicit) report(self, problem);
        return OUTCOME_LOST;
    }
    g_autoptr(GStrvBuilder) paths = g_strv_builder_new();
    for (gsize i = 0; i < g_variant_n_children(systems); i++) {
        g_autoptr(GVariant) box = g_variant_get_child_value(systems, i);
        g_autoptr(GVariant) path = g_variant_get_variant(box);
        if (g_variant_is_of_type(path, G_VARIANT_TYPE_STRING)) {
            g_strv_builder_add(paths, g_variant_get_string(path, NULL));
        }
    }
    g_strfreev(self->state.systems);
    self->state.systems = g_strv_builder_end(paths);
    self->is_greeted = TRUE;
    self->state.is_connected = TRUE;
    self->greeting_end = G_MAXINT64;
    self->delay = FIRST_DELAY;
    self->start_delay = FIRST_START_DELAY;
    return OUTCOME_HANDLED;
}

static Outcome receive_message(Agent *self, const guint8 *bytes, gsize size, GPtrArray *problems) {
    g_autoptr(GVariant) message = plist_decode(bytes, size);
    const char *type = NULL;
    if (!message || !g_variant_is_of_type(message, G_VARIANT_TYPE_VARDICT)) return OUTCOME_LOST;
    g_variant_lookup(message, "type", "&s", &type);
    if (g_strcmp0(type, "welcome") == 0) return receive_welcome(self, message);
    return state_receive(&self->state, message, self->changes, problems);
}

// Handles the complete messages in the buffer.
static Outcome receive_messages(Agent *self, GPtrArray *problems) {
    Outcome outcome = OUTCOME_HANDLED;
    gsize start = 0;
    while (outcome == OUTCOME_HANDLED && self->incoming->len - start >= 4) {
        guint32 size;
        memcpy(&size, self->incoming->data + start, sizeof(size));
        size = g_ntohl(size);
        // Another program than an agent may send anything.
        if (size > (self->is_greeted ? G_MAXINT32 : GREETING_LIMIT)) return OUTCOME_LOST;
        if (self->incoming->len - start - 4 < size) break;
        outcome = receive_message(self, self->incoming->data + start + 4, size, problems);
        start += 4 + size;
    }
    if (start > 0) g_byte_array_remove_range(self->incoming, 0, (guint)start);
    return outcome;
}

// Receives what has arrived.
static void receive(Agent *self) {
    g_autoptr(GPtrArray) problems = texts();
    Outcome outcome = OUTCOME_HANDLED;
    guint8 bytes[1 << 16];
    ssize_t count;
    do {
        count = recv(self->socket, bytes, sizeof(bytes), 0);
        if (count <= 0) break;
        g_byte_array_append(self->incoming, bytes, (guint)count);
        outcome = receive_messages(self, problems);
        self->last_news = g_get_monotonic_time();
    } while (outcome == OUTCOME_HANDLED && count == sizeof(bytes));
    for (guint i = 0; i < problems->len; i++) report(self, problems->pdata[i]);
    if (outcome == OUTCOME_LOST || count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        disconnect(self);
    } else {
        send_pending(self);
    }
    g_cond_broadcast(&self->news);
}

// Returns whether the claim of the directory has changed: an agent is starting.
static gboolean has_claim_changed(Agent *self) {
    guint8 events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    gboolean result = FALSE;
    ssize_t count;
    while ((count = read(self->watch, events, sizeof(events))) > 0) {
        const struct inotify_event *event;
        for (const guint8 *at = events; at < events + count; at += sizeof(*event) + event->len) {
            event = (const struct inotify_event *)at;
            // IN_Q_OVERFLOW has no name, nor has IN_IGNORED, after which nothing is watched.
            result = result || event->len == 0 || g_str_equal(event->name, CLAIM);
        }
    }
    return result;
}

// MARK: Starting an agent

static void lead_session(gpointer data) {
    (void)data;
    // The terminal's signals are for the program that starts the agent.
    setsid();
}

static void start_agent(Agent *self) {
    gint64 now = g_get_monotonic_time();
    if (now < self->next_start) return;
    self->next_start = now + self->start_delay;
    self->start_delay = MIN(2 * self->start_delay, LONGEST_START_DELAY);
    if (!self->location->may_start_agent) {
        g_autofree char *problem = g_strdup_printf(
            "No agent is running, and none is started, because %s isn't a directory of this user's. Run `defaultsd` as "
            "its owner. Until then, changes of settings stay in this process.", self->location->directory);
        return report(self, problem);
    }
    g_autofree char *found = g_find_program_in_path("defaultsd");
    g_autoptr(GPtrArray) arguments = g_ptr_array_new();
    g_ptr_array_add(arguments, found ? found : (char *)DEFAULTSD_PROGRAM);
    g_ptr_array_add(arguments, (char *)"--log-level");
    g_ptr_array_add(arguments, (char *)"warning");
    // Only explicit paths are passed on. The agent finds the default ones itself, and creates them.
    if (self->location->is_named) {
        g_ptr_array_add(arguments, (char *)"--directory");
        g_ptr_array_add(arguments, self->location->directory);
    }
    if (self->location->is_explicit) {
        g_ptr_array_add(arguments, (char *)"--socket");
        g_ptr_array_add(arguments, self->location->socket);
    }
    g_ptr_array_add(arguments, NULL);
    g_autoptr(GError) error = NULL;
    GSpawnFlags flags = G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL;
    if (g_spawn_async("/", (char **)arguments->pdata, NULL, flags, lead_session, NULL, NULL, &error)) {
        stop_watching(self);
        expect_agent(self);
        wake(self);
    } else {
        g_autofree char *problem = g_strdup_printf(
            "No agent is running, and none can be started: %s. Install defaultsd, and run `defaultsd`. Until then, "
            "changes of settings stay in this process.", error->message);
        report(self, problem);
    }
}

// MARK: The thread

static gint64 next_time(const Agent *self) {
    return self->socket < 0 ? self->next_attempt : self->greeting_end;
}

static void wait_for_events(Agent *self) {
    struct pollfd files[] = {
        {.fd = self->wake, .events = POLLIN},
        {.fd = self->socket, .events = (short)(POLLIN | (self->outgoing->len > 0 ? POLLOUT : 0))},
        {.fd = self->watch, .events = POLLIN},
    };
    gint64 end = next_time(self), now = g_get_monotonic_time();
    int timeout = end == G_MAXINT64 ? -1 : end <= now ? 0 : (int)MIN((end - now) / MILLISECONDS + 1, 60000);
    unlock(self);
    poll(files, G_N_ELEMENTS(files), timeout);
    g_mutex_lock(&self->lock);
    eventfd_t count;
    (void)!eventfd_read(self->wake, &count);
}

static void step(Agent *self) {
    wait_for_events(self);
    if (self->watch >= 0 && has_claim_changed(self)) {
        stop_watching(self);
        expect_agent(self);
    }
    if (self->socket >= 0) {
        flush(self);
        receive(self);
    }
    if (g_get_monotonic_time() < next_time(self)) return;
    if (self->socket >= 0) {
        // The program that listens isn't an agent.
        disconnect(self);
    } else {
        attempt(self);
        if (self->socket < 0 && self->state.edits.length > 0) start_agent(self);
    }
}

static gpointer run(gpointer data) {
    Agent *self = data;
    // Without a main context of its own, GLib would call the handlers of the main thread's objects here whenever that
    // thread isn't waiting for events.
    GMainContext *context = g_main_context_new();
    g_main_context_push_thread_default(context);
    g_mutex_lock(&self->lock);
    while (!self->is_closed || (self->state.edits.length > 0 && self->socket >= 0)) {
        step(self);
        if (self->changes->len == 0) continue;
        g_autoptr(GPtrArray) changes = g_steal_pointer(&self->changes);
        self->changes = state_changes();
        unlock(self);
        for (guint i = 0; i < changes->len; i++) self->changed(changes->pdata[i], self->data);
        g_mutex_lock(&self->lock);
    }
    unlock(self);
    g_main_context_pop_thread_default(context);
    g_main_context_unref(context);
    release(self);
    return NULL;
}

// Connects, and starts the thread, if this is the first call.
static void start(Agent *self) {
    if (self->thread || !self->location || !self->location->uses_agent) return;
    attempt(self);
    // The program's signals are for its own threads.
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    g_atomic_int_inc(&self->references);
    self->thread = g_thread_try_new("defaultsd", run, self, NULL);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (self->thread) return;
    // Without a thread, the values are those in the files, and no key can be set.
    g_atomic_int_add(&self->references, -1);
    disconnect(self);
    self->location->uses_agent = FALSE;
    report(self, "Settings are only read, and changes aren't noticed: the process can't have another thread.");
}

// MARK: Waiting and reading

typedef gboolean (*Condition)(const Agent *self, const Domain *domain);

// Waits until a condition holds. What all calls together wait beyond ordinary times is limited to what is `left`.
static void wait_until(Agent *self, Condition holds, const Domain *domain, gint64 *left) {
    gint64 start = g_get_monotonic_time(), end = start + *left;
    while (g_get_monotonic_time() < end && !holds(self, domain)) g_cond_wait_until(&self->news, &self->lock, end);
    gint64 spent = g_get_monotonic_time() - start;
    if (spent > ORDINARY_WAIT) *left = MAX(*left - spent, 0);
}

static gboolean is_readable(const Agent *self, const Domain *domain) {
    return domain->is_known || domain->status == DOMAIN_REFUSED || self->socket < 0;
}

static gboolean is_reachable(const Agent *self, const Domain *domain) {
    (void)domain;
    return self->is_greeted || (self->socket < 0 && !is_expected(self));
}

static gboolean is_same_file(const struct stat *first, const struct stat *second) {
    return first->st_ino == second->st_ino && first->st_dev == second->st_dev && first->st_size == second->st_size
        && first->st_mtim.tv_sec == second->st_mtim.tv_sec && first->st_mtim.tv_nsec == second->st_mtim.tv_nsec
        && first->st_ctim.tv_sec == second->st_ctim.tv_sec && first->st_ctim.tv_nsec == second->st_ctim.tv_nsec;
}

static char *path_of(const Agent *self, const Domain *domain, guint layer) {
    const Location *location = self->location;
    const char *directory = layer == LAYER_MANAGED ? location->managed
        : layer < LAYER_SYSTEM ? location->directory : self->state.systems[layer - LAYER_SYSTEM];
    if (!directory || (layer == LAYER_HOST && !location->host)) return NULL;
    if (layer == LAYER_HOST) return g_strdup_printf("%s/ByHost/%s.%s.plist", directory, domain->name, location->host);
    return g_strdup_printf("%s/%s.plist", directory, domain->name);
}

// Reads the files of a domain that have changed since they were read last.
static void read_files(Agent *self, Domain *domain) {
    guint count = LAYER_SYSTEM + g_strv_length(self->state.systems);
    if (domain->layers && domain->layers->len != count) g_clear_pointer(&domain->layers, g_ptr_array_unref);
    if (!domain->layers) {
        g_clear_pointer(&domain->stamps, g_array_unref);
        domain->layers = state_layers(&self->state);
    }
    if (!domain->stamps) {
        domain->stamps = g_array_new(FALSE, TRUE, sizeof(struct stat));
        g_array_set_size(domain->stamps, count);
    }
    for (guint layer = 0; layer < count; layer++) {
        struct stat *former = &g_array_index(domain->stamps, struct stat, layer), status = {0};
        g_autofree char *path = path_of(self, domain, layer), *problem = NULL;
        g_autoptr(GVariant) values = NULL;
        // Attributes of nothing are those of no file.
        if (!path || (stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR))) {
            if (former->st_ino) state_set_layer(domain->layers, layer, NULL);
            *former = (struct stat){0};
            continue;
        }
        if (status.st_ino && is_same_file(former, &status)) continue;
        const char *managed = layer == LAYER_MANAGED ? self->location->managed : NULL;
        FileOutcome outcome = files_read(path, managed, &values, &problem);
        // A program may be writing it. Until it can be read, the former values stay in effect.
        for (int i = 0; i < 5 && outcome == FILE_UNUSABLE && !former->st_ino && !managed && self->wait > 0; i++) {
            g_usleep(20 * MILLISECONDS);
            self->wait = MAX(self->wait - 20 * MILLISECONDS, 0);
            g_clear_pointer(&problem, g_free);
            outcome = files_read(path, NULL, &values, &problem);
        }
        *former = status;
        if (outcome != FILE_UNUSABLE) state_set_layer(domain->layers, layer, values);
        if (problem) report(self, problem);
    }
}

// Makes a domain's values available: the agent's or, if it doesn't answer in time, those in the files.
static void load(Agent *self, Domain *domain) {
    if (domain->is_known || !self->location) return;
    send_pending(self);
    wait_until(self, is_readable, domain, &self->wait);
    if (!domain->is_known) read_files(self, domain);
}

// Returns a key's domain, which is followed from now on; NULL if there is none.
static Domain *domain_of(Agent *self, const char *name, const char **key) {
    Domain *domain = state_domain(&self->state, name, key);
    start(self);
    return domain;
}

void agent_follow(Agent *self, const char *name) {
    const char *key;
    g_mutex_lock(&self->lock);
    if (domain_of(self, name, &key)) send_pending(self);
    unlock(self);
}

GVariant *agent_read(Agent *self, const char *name, Reading reading) {
    const char *key;
    g_mutex_lock(&self->lock);
    Domain *domain = domain_of(self, name, &key);
    if (domain) load(self, domain);
    GVariant *value = domain ? state_value(&self->state, domain, key, reading) : NULL;
    if (value) g_variant_ref(value);
    unlock(self);
    return value;
}

// Returns whether a key can be set, under the lock.
static gboolean is_writable(Agent *self, const char *name) {
    const char *key;
    Domain *domain = domain_of(self, name, &key);
    if (!domain || !self->location || !self->location->uses_agent) return FALSE;
    load(self, domain);
    return !state_is_forced(domain, key);
}

gboolean agent_is_writable(Agent *self, const char *name) {
    g_mutex_lock(&self->lock);
    gboolean result = is_writable(self, name);
    unlock(self);
    return result;
}

// MARK: Editing

gboolean agent_edit(Agent *self, const char *const *names, GVariant *const *values, gsize count, GPtrArray *changes) {
    g_autoptr(GHashTable) edits = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
    gboolean are_writable = TRUE;
    g_mutex_lock(&self->lock);
    for (gsize i = 0; i < count && are_writable; i++) {
        const char *key;
        are_writable = is_writable(self, names[i]);
        Domain *domain = are_writable ? state_domain(&self->state, names[i], &key) : NULL;
        if (!domain) break;
        GHashTable *edit = g_hash_table_lookup(edits, domain);
        if (!edit) {
            edit = g_hash_table_new(g_str_hash, g_str_equal);
            g_hash_table_insert(edits, domain, edit);
        }
        g_hash_table_insert(edit, (char *)key, values[i]);
    }
    if (are_writable) {
        GHashTableIter iterator;
        gpointer domain, edit;
        gint64 time = g_get_real_time() * 1000;
        g_hash_table_iter_init(&iterator, edits);
        while (g_hash_table_iter_next(&iterator, &domain, &edit)) {
            state_edit(&self->state, domain, edit, time, changes);
        }
        // The bytes are in the socket when this returns, so that the program may end at once. An agent that hasn't
        // answered the greeting may still be ending, or end while it starts, and drop them.
        if (self->socket < 0) start_agent(self);
        gboolean is_running = self->socket >= 0 && self->is_certain;
        wait_until(self, is_reachable, NULL, is_running ? &self->wait : &self->start_wait);
        send_pending(self);
    }
    unlock(self);
    return are_writable;
}

void agent_synchronize(Agent *self) {
    g_mutex_lock(&self->lock);
    gint64 begin = g_get_monotonic_time();
    while (self->state.edits.length > 0) {
        gint64 end = MAX(MAX(begin, self->last_news), self->socket < 0 ? self->expected_since : 0) + SILENCE;
        if (g_get_monotonic_time() < end && (self->socket >= 0 || is_expected(self))) {
            g_cond_wait_until(&self->news, &self->lock, end);
            continue;
        }
        report(self, "No agent has confirmed recent changes of settings, so they may be lost when this program ends. To "
            "see why, run `defaults status`.");
        break;
    }
    unlock(self);
}
