#define _GNU_SOURCE
#include "agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
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

// The time that all calls of a process together wait for an agent that doesn't answer. It grows again with each answer.
#define TOTAL_WAIT (500 * MILLISECONDS)
#define WAIT_PER_ANSWER (5 * MILLISECONDS)
// The time that all sets together wait for an agent that is starting. A program that ends before loses them.
#define TOTAL_START_WAIT (3 * SECONDS)
// The silence after which `agent_synchronize` gives up; some edits wait for the agent's disk.
#define SILENCE (30 * SECONDS)
// The time in which an agent that is ending answers what it has received.
#define ENDING_TIME (5 * SECONDS)
// The delays between attempts to connect, which double. With the longest one, no agent is expected.
#define FIRST_DELAY (10 * MILLISECONDS)
#define LONGEST_DELAY (5 * SECONDS)
// The most that is left of the delay when a conversation ends: an agent that was killed soon returns.
#define RETURN_DELAY (160 * MILLISECONDS)
// The delay from which on an agent is started, which doubles with each: one that was there may return by itself.
#define START_DELAY (500 * MILLISECONDS)
// The delay after a program that isn't the agent has accepted a connection.
#define REFUSED_DELAY (30 * SECONDS)

#define FRAME_LIMIT (64u << 20)
#define ORIGIN_SIZE 1024

#ifndef DEFAULTSD_PROGRAM
#define DEFAULTSD_PROGRAM "/usr/bin/defaultsd"
#endif

struct Agent {
    int references;
    AgentChanged changed;
    gpointer data;
    GDestroyNotify free_data;
    guint64 session;

    // Protects all that follows. Nothing that may call this client is called under it.
    GMutex lock;
    // Signaled after messages and attempts to connect, and when a connection ends.
    GCond news;
    // NULL as long as it can't be found; then there are no values, and no key can be set.
    Location *location;
    State state;
    GThread *thread;
    gboolean is_closed;
    // Makes the thread look at the state again.
    int wake;
    // The connection; -1 without one.
    int socket;
    gboolean is_certain;
    // Whether the agent still receives. One that is ending doesn't, but answers what it has received.
    gboolean is_receiving;
    GByteArray *incoming, *outgoing;
    // The time at which the connection counts as lost: without a greeting, or while the agent is ending.
    gint64 connection_end;
    // The time of the next attempt to connect, and the delay before it; 0 if the next one is the first.
    gint64 next_attempt, delay;
    // Whether an agent had claimed the directory at the last attempt.
    gboolean is_claimed;
    // The number of agents that were started since one last answered.
    guint starts;
    gint64 last_answer;
    // The rest of TOTAL_WAIT and of TOTAL_START_WAIT.
    gint64 wait, start_wait;
    // The changes that the thread must report next.
    GPtrArray *changes;
    // The last problem that was reported, and those that the next `unlock` reports.
    char *problem;
    GPtrArray *problems;
};

// MARK: Life

// The open files of all clients, each plus one, which a child of `fork` must not have; 0 is a free place.
static int open_files[32];

static void replace_open(int old, int new) {
    for (gsize i = 0; i < G_N_ELEMENTS(open_files); i++) {
        if (g_atomic_int_compare_and_exchange(&open_files[i], old, new)) return;
    }
}

static int opened(int file) {
    if (file >= 0) replace_open(0, file + 1);
    return file;
}

static void close_file(int *file) {
    if (*file < 0) return;
    replace_open(*file + 1, 0);
    close(*file);
    *file = -1;
}

void agent_close_inherited(void) {
    for (gsize i = 0; i < G_N_ELEMENTS(open_files); i++) {
        if (open_files[i]) close(open_files[i] - 1);
        open_files[i] = 0;
    }
}

static void release(Agent *self) {
    if (!g_atomic_int_dec_and_test(&self->references)) return;
    if (self->free_data) self->free_data(self->data);
    close_file(&self->socket);
    close_file(&self->wake);
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

// Reports a problem at the next `unlock`.
static void report(Agent *self, const char *problem) {
    g_ptr_array_add(self->problems, g_strdup(problem));
}

// Releases the lock. A program's handler of log messages may use settings, so none is called under the lock.
static void unlock(Agent *self) {
    if (self->problems->len == 0) {
        g_mutex_unlock(&self->lock);
        return;
    }
    g_autoptr(GPtrArray) problems = texts();
    for (guint i = 0; i < self->problems->len; i++) {
        // Not the same one again and again.
        if (g_strcmp0(self->problem, self->problems->pdata[i]) == 0) continue;
        g_free(self->problem);
        self->problem = g_strdup(self->problems->pdata[i]);
        g_ptr_array_add(problems, g_strdup(self->problem));
    }
    g_ptr_array_set_size(self->problems, 0);
    g_mutex_unlock(&self->lock);
    for (guint i = 0; i < problems->len; i++) g_warning("%s", (const char *)problems->pdata[i]);
}

Agent *agent_new(AgentChanged changed, gpointer data, GDestroyNotify free_data) {
    Agent *self = g_new0(Agent, 1);
    *self = (Agent){
        .references = 1, .changed = changed, .data = data, .free_data = free_data, .socket = -1,
        .wake = opened(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), .incoming = g_byte_array_new(),
        .outgoing = g_byte_array_new(), .connection_end = G_MAXINT64, .next_attempt = G_MAXINT64,
        .wait = TOTAL_WAIT, .start_wait = TOTAL_START_WAIT, .changes = state_changes(), .problems = texts(),
    };
    g_mutex_init(&self->lock);
    g_cond_init(&self->news);
    char *no_systems[] = {NULL};
    state_init(&self->state, NULL, no_systems);
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

static void use_systems(Agent *self) {
    g_strfreev(self->state.systems);
    self->state.systems = g_strdupv(self->location->systems);
}

// Finds the location, unless it is known. The settings may have been damaged only for a moment.
static void find_location(Agent *self) {
    if (self->location) return;
    g_autofree char *problem = NULL;
    self->location = location_find(&self->wait, &problem);
    if (problem) report(self, problem);
    if (!self->location) return;
    self->state.host = g_strdup(self->location->host);
    use_systems(self);
}

// MARK: Sending

// Sends as much as possible without blocking.
static void flush(Agent *self) {
    gsize sent = 0;
    while (sent < self->outgoing->len) {
        ssize_t count = send(self->socket, self->outgoing->data + sent, self->outgoing->len - sent, MSG_NOSIGNAL);
        if (count >= 0) {
            sent += (gsize)count;
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            // The agent has ended, or is ending. The answers that still come say what the next one must not get again.
            self->is_receiving = FALSE;
            self->connection_end = g_get_monotonic_time() + ENDING_TIME;
            sent = self->outgoing->len;
        }
    }
    if (sent > 0) g_byte_array_remove_range(self->outgoing, 0, (guint)sent);
    // The thread itself is about to wait until it can send the rest.
    if ((self->outgoing->len > 0 || !self->is_receiving) && g_thread_self() != self->thread) wake(self);
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
    // The old values may be too large, or have no binary form, and the agent can do without them.
    GVariantDict reduced;
    g_variant_dict_init(&reduced, request);
    g_variant_dict_insert_value(&reduced, "replacing", g_variant_new_array(G_VARIANT_TYPE("{sv}"), NULL, 0));
    g_autoptr(GVariant) rest = g_variant_ref_sink(g_variant_dict_end(&reduced));
    if (put(self, rest)) return;
    state_refuse(&self->state, "The values are too large to set at once.", self->changes, self->problems);
    wake(self);
}

static void send_pending(Agent *self) {
    if (self->socket < 0 || !self->is_receiving) return;
    for (GVariant *request; (request = state_next_subscription(&self->state)); g_variant_unref(request)) {
        put(self, request);
    }
    const char *program = self->state.edits.length > self->state.sent ? origin() : NULL;
    // Another agent than the right one must not get an edit.
    while (self->state.is_greeted || self->is_certain) {
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

// Returns whether an agent is starting, was started, or was there a short time ago.
static gboolean is_expected(const Agent *self) {
    return self->is_claimed || self->delay < LONGEST_DELAY;
}

static void plan_attempt(Agent *self) {
    self->delay = CLAMP(2 * self->delay, FIRST_DELAY, LONGEST_DELAY);
    self->next_attempt = g_get_monotonic_time() + self->delay;
}

static void disconnect(Agent *self) {
    if (self->socket < 0) return;
    close_file(&self->socket);
    g_byte_array_set_size(self->incoming, 0);
    g_byte_array_set_size(self->outgoing, 0);
    if (self->state.is_greeted) self->delay = MIN(self->delay, RETURN_DELAY);
    plan_attempt(self);
    if (!self->state.is_greeted && !self->is_certain) self->next_attempt += REFUSED_DELAY;
    state_disconnect(&self->state);
    self->connection_end = G_MAXINT64;
    g_cond_broadcast(&self->news);
}

static void start_agent(Agent *self);

// Tries to connect, and sends all requests. If no agent is there, starts one for the edits that wait.
static void attempt(Agent *self) {
    if (self->socket >= 0) return;
    Connection connection;
    gboolean is_there = location_connect(self->location, &connection), was_claimed = self->is_claimed;
    self->is_claimed = connection.is_claimed;
    if (is_there) {
        self->socket = opened(connection.socket);
        self->is_certain = connection.is_certain;
        self->is_receiving = TRUE;
        self->connection_end = connection.timeout < 0 ? G_MAXINT64
            : g_get_monotonic_time() + connection.timeout * MILLISECONDS;
        // The number 1 is always the greeting's.
        self->state.last_request = 0;
        greet(self);
        send_pending(self);
    } else {
        // An agent that is starting listens once it has read all files.
        if (self->is_claimed && !was_claimed) self->delay = 0;
        gboolean is_wanted = self->state.edits.length > 0 && !self->is_claimed && self->location->may_start_agent;
        if (is_wanted && self->delay >= MIN(START_DELAY << MIN(self->starts, 8), LONGEST_DELAY)) start_agent(self);
        else plan_attempt(self);
    }
    g_cond_broadcast(&self->news);
    if (g_thread_self() != self->thread) wake(self);
}

// Returns whether the program that has sent a welcome is the right agent.
static gboolean accept_welcome(Agent *self) {
    self->state.is_greeted = location_is_directory(self->location, self->state.directory);
    if (self->is_receiving) self->connection_end = G_MAXINT64;
    if (self->state.is_greeted) return TRUE;
    use_systems(self);
    g_autofree char *problem = g_strdup_printf(
        "The agent at %s serves %s, not %s. Name another socket with DEFAULTSD_SOCKET, or another directory.",
        self->location->socket, self->state.directory, self->location->directory);
    if (self->location->is_explicit) report(self, problem);
    return FALSE;
}

// Handles the complete messages in the buffer; returns FALSE if the conversation can't go on.
static gboolean receive_messages(Agent *self) {
    gsize position = 0;
    Outcome outcome;
    do {
        outcome = state_receive_frame(&self->state, self->incoming, &position, self->changes, self->problems);
        if (outcome == OUTCOME_WELCOME && !accept_welcome(self)) outcome = OUTCOME_LOST;
        if (outcome == OUTCOME_PROGRESS) {
            self->last_answer = g_get_monotonic_time();
            self->wait = MIN(self->wait + WAIT_PER_ANSWER, TOTAL_WAIT);
            // Only now, since a conversation that breaks at the same message again and again must not go on at once.
            self->delay = 0;
            self->starts = 0;
        }
    } while (outcome != OUTCOME_LOST && outcome != OUTCOME_INCOMPLETE);
    if (position > 0) g_byte_array_remove_range(self->incoming, 0, (guint)position);
    return outcome != OUTCOME_LOST;
}

// Receives what has arrived.
static void receive(Agent *self) {
    gboolean is_lost = FALSE;
    guint8 bytes[1 << 16];
    ssize_t count;
    do {
        count = recv(self->socket, bytes, sizeof(bytes), 0);
        if (count <= 0) break;
        g_byte_array_append(self->incoming, bytes, (guint)count);
        is_lost = !receive_messages(self);
    } while (!is_lost && count == sizeof(bytes));
    if (is_lost || count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        disconnect(self);
    } else {
        send_pending(self);
    }
    g_cond_broadcast(&self->news);
}

// MARK: Starting an agent

// Prepares the process of an agent, which has the signal mask and the terminal of its parent.
static void prepare_agent(gpointer data) {
    (void)data;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // The terminal's signals are for the program that starts the agent.
    setsid();
}

// Starts an agent, without the lock: a program's own handler of `fork` may use settings.
static void start_agent(Agent *self) {
    g_autofree char *found = g_find_program_in_path("defaultsd");
    const char *arguments[8] = {found ? found : DEFAULTSD_PROGRAM, "--log-level", "warning"};
    gsize count = 3;
    // Only explicit paths are passed on. The agent finds the default ones itself, and creates them.
    if (self->location->is_named) {
        arguments[count++] = "--directory";
        arguments[count++] = self->location->directory;
    }
    if (self->location->is_explicit) {
        arguments[count++] = "--socket";
        arguments[count++] = self->location->socket;
    }
    g_autoptr(GError) error = NULL;
    GSpawnFlags flags = G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL;
    gint64 delay = self->delay;
    self->delay = 0;
    self->starts++;
    plan_attempt(self);
    unlock(self);
    gboolean is_started = g_spawn_async("/", (char **)arguments, NULL, flags, prepare_agent, NULL, NULL, &error);
    g_mutex_lock(&self->lock);
    if (is_started) return;
    // One that was there a short time ago may still return.
    self->delay = delay;
    plan_attempt(self);
    g_autofree char *problem = g_strdup_printf(
        "No agent is running, and none can be started: %s. Install defaultsd, and run `defaultsd`. Until then, changes "
        "of settings stay in this process.", error->message);
    report(self, problem);
}

// MARK: The thread

static gint64 next_time(const Agent *self) {
    return self->socket < 0 ? self->next_attempt : self->connection_end;
}

static void wait_for_events(Agent *self) {
    struct pollfd files[] = {
        {.fd = self->wake, .events = POLLIN},
        {.fd = self->socket, .events = (short)(POLLIN | (self->outgoing->len > 0 ? POLLOUT : 0))},
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
    if (self->socket >= 0) {
        flush(self);
        receive(self);
    }
    if (g_get_monotonic_time() < next_time(self)) return;
    if (self->socket >= 0) disconnect(self);
    else attempt(self);
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
    if (self->socket < 0 && !self->is_claimed) self->delay = LONGEST_DELAY;
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

// Waits until a condition holds, at most the time that is `left`, and subtracts the time that this took.
static void wait_until(Agent *self, Condition holds, const Domain *domain, gint64 *left) {
    // A handler of log messages may read settings on the thread that would have to receive them.
    if (g_thread_self() == self->thread) return;
    gint64 start = g_get_monotonic_time(), now = start, end = start + *left;
    for (; now < end && !holds(self, domain); now = g_get_monotonic_time()) {
        g_cond_wait_until(&self->news, &self->lock, end);
    }
    *left = MAX(*left - (now - start), 0);
}

static gboolean is_readable(const Agent *self, const Domain *domain) {
    return domain->is_known || domain->status == DOMAIN_REFUSED || self->socket < 0 || !self->is_receiving;
}

static gboolean is_reachable(const Agent *self, const Domain *domain) {
    (void)domain;
    return self->socket >= 0 ? self->state.is_greeted && self->is_receiving : !is_expected(self);
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
        // All zeros mean that there is no file.
        if (!path || (stat(path, &status) != 0 && (errno == ENOENT || errno == ENOTDIR))) {
            if (former->st_ino) state_set_layer(domain->layers, layer, NULL);
            *former = (struct stat){0};
            continue;
        }
        // Reading it changes nothing else.
        status.st_atim = former->st_atim;
        if (status.st_ino && memcmp(former, &status, sizeof(status)) == 0) continue;
        const char *managed = layer == LAYER_MANAGED ? self->location->managed : NULL;
        // A program may be writing it. Until it can be read, the former values stay in effect.
        gint64 *wait = former->st_ino || managed ? NULL : &self->wait;
        FileOutcome outcome = files_read(path, managed, wait, &values, &problem);
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
    find_location(self);
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
    if (self->socket < 0 && !is_expected(self) && !self->location->may_start_agent) {
        g_autofree char *problem = g_strdup_printf(
            "No agent is running, and none can be started, because %s isn't a directory of this user's, so settings "
            "can't be changed. Run this program as the directory's owner.", self->location->directory);
        report(self, problem);
        return FALSE;
    }
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
        if (self->socket < 0 && !is_expected(self) && self->starts == 0) attempt(self);
        send_pending(self);
        gboolean is_running = self->socket >= 0 && self->is_certain && self->is_receiving;
        wait_until(self, is_reachable, NULL, is_running ? &self->wait : &self->start_wait);
        send_pending(self);
    }
    unlock(self);
    return are_writable;
}

void agent_synchronize(Agent *self) {
    g_mutex_lock(&self->lock);
    gint64 begin = g_get_monotonic_time();
    guint64 last = self->state.last_position;
    while (g_thread_self() != self->thread && state_has_edits(&self->state, last)) {
        gint64 end = MAX(begin, self->last_answer) + SILENCE;
        if (g_get_monotonic_time() < end && (self->socket >= 0 || is_expected(self))) {
            g_cond_wait_until(&self->news, &self->lock, end);
            continue;
        }
        report(self, "No agent has confirmed recent changes of settings, so they may be lost when this program ends. "
            "To see why, run `defaults status`.");
        break;
    }
    unlock(self);
}
