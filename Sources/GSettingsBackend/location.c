#define _GNU_SOURCE
#include "location.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "files.h"

#define CLAIM ".defaultsd.agent"
// The longest path of a socket that the agent accepts.
#define SOCKET_PATH_SIZE 103

// MARK: XXH64

#define P1 0x9E3779B185EBCA87ull
#define P2 0xC2B2AE3D27D4EB4Full
#define P3 0x165667B19E3779F9ull
#define P4 0x85EBCA77C2B2AE63ull
#define P5 0x27D4EB2F165667C5ull

static guint64 rotated(guint64 value, int bits) {
    return value << bits | value >> (64 - bits);
}

static guint64 mixed(guint64 lane, guint64 word) {
    return rotated(lane + word * P2, 31) * P1;
}

static guint64 word_at(const guint8 *bytes, gsize size) {
    guint64 word = 0;
    for (gsize i = 0; i < size; i++) word |= (guint64)bytes[i] << 8 * i;
    return word;
}

// See https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
guint64 location_hash(const char *text, gsize size) {
    const guint8 *at = (const guint8 *)text, *end = at + size;
    guint64 result = P5;
    if (size >= 32) {
        guint64 lanes[4] = {P1 + P2, P2, 0, -P1};
        for (; end - at >= 32; at += 32) {
            for (int i = 0; i < 4; i++) lanes[i] = mixed(lanes[i], word_at(at + 8 * i, 8));
        }
        result = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
        for (int i = 0; i < 4; i++) result = (result ^ mixed(0, lanes[i])) * P1 + P4;
    }
    result += size;
    for (; end - at >= 8; at += 8) result = rotated(result ^ mixed(0, word_at(at, 8)), 27) * P1 + P4;
    for (; end - at >= 4; at += 4) result = rotated(result ^ word_at(at, 4) * P1, 23) * P2 + P3;
    for (; at < end; at++) result = rotated(result ^ *at * P5, 11) * P1;
    result = (result ^ result >> 33) * P2;
    result = (result ^ result >> 29) * P3;
    return result ^ result >> 32;
}

// MARK: Directories

// Returns a variable's value; NULL if it is empty.
static const char *variable(const char *name) {
    const char *value = g_getenv(name);
    return value && value[0] ? value : NULL;
}

// Removes slashes at the end of a path, and returns it.
static char *trimmed(char *path) {
    for (gsize size = strlen(path); size > 1 && path[size - 1] == '/'; size--) path[size - 1] = 0;
    return path;
}

static char *home(void) {
    const char *path = variable("HOME");
    if (!path || path[0] != '/') {
        // GLib looks into the user database, but also at HOME.
        path = g_get_home_dir();
    }
    return path && path[0] == '/' ? trimmed(g_strdup(path)) : NULL;
}

char *location_default_directory(void) {
    const char *path = variable("XDG_CONFIG_HOME");
    if (path && path[0] == '/') return trimmed(g_strdup(path));
    g_autofree char *user = home();
    return user ? g_build_filename(user, ".config", NULL) : NULL;
}

static char *resolved(const char *path) {
    char *real = realpath(path, NULL), *result = g_strdup(real ? real : path);
    free(real);
    return result;
}

// Returns the directory that the agent's settings name instead of the default one; NULL if they name none. Settings
// that can't be read are a problem if they may name one.
static char *directory_of_settings(const char *usual, gint64 *wait, char **problem) {
    static const char key[] = "Directory";
    g_autofree char *path = g_build_filename(usual, "org.defaultsd.agent.plist", NULL);
    g_autoptr(GVariant) values = NULL;
    FileOutcome outcome = files_read(path, NULL, wait, &values, problem);
    if (outcome == FILE_UNUSABLE && !files_may_contain(path, key)) g_clear_pointer(problem, g_free);
    if (outcome != FILE_READ) return NULL;
    g_autoptr(GVariant) value = g_variant_lookup_value(values, key, G_VARIANT_TYPE_STRING);
    const char *text = value ? g_variant_get_string(value, NULL) : "";
    if (text[0] == '/') return trimmed(g_strdup(text));
    g_autofree char *user = g_str_has_prefix(text, "~/") ? home() : NULL;
    return user ? trimmed(g_build_filename(user, text + 2, NULL)) : NULL;
}

static char *this_host(void) {
    static const char *const paths[] = {"/etc/machine-id", "/var/lib/dbus/machine-id"};
    for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
        g_autofree char *text = NULL;
        if (!g_file_get_contents(paths[i], &text, NULL, NULL)) continue;
        gsize digits = strspn(text, "0123456789abcdefABCDEF");
        if (digits != 32 || (text[32] && !g_ascii_isspace(text[32]))) continue;
        for (gsize digit = 0; digit < 32; digit++) text[digit] = g_ascii_toupper(text[digit]);
        return g_strdup_printf("%.8s-%.4s-%.4s-%.4s-%.12s", text, text + 8, text + 12, text + 16, text + 20);
    }
    return NULL;
}

static char **system_directories(void) {
    const char *given = variable("DEFAULTS_SYSTEM_DIRECTORIES"), *xdg = variable("XDG_CONFIG_DIRS");
    g_autofree char *text = given ? g_strdup(given) : g_strconcat(xdg ? xdg : "/etc/xdg", ":/usr/local/etc", NULL);
    g_auto(GStrv) paths = g_strsplit(text, ":", -1);
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    for (gsize i = 0; paths[i]; i++) {
        gboolean is_new = trimmed(paths[i])[0] == '/';
        for (gsize other = 0; other < i && is_new; other++) is_new = !g_str_equal(paths[other], paths[i]);
        if (is_new) g_strv_builder_add(builder, paths[i]);
    }
    return g_strv_builder_end(builder);
}

static void find_socket(Location *self, const char *usual) {
    const char *given = variable("DEFAULTSD_SOCKET"), *runtime = variable("XDG_RUNTIME_DIR");
    self->is_explicit = given != NULL;
    if (given) {
        self->socket = g_canonicalize_filename(given, NULL);
        return;
    }
    g_autofree char *user = g_strdup_printf("/run/user/%u", getuid());
    g_autofree char *name = g_strdup("defaultsd");
    if (runtime && runtime[0] == '/') {
        self->root = trimmed(g_strdup(runtime));
    } else if (access(user, W_OK) == 0) {
        self->root = g_steal_pointer(&user);
    } else {
        self->root = g_strdup("/tmp");
        g_free(name);
        name = g_strdup_printf("defaultsd-%u/defaultsd", getuid());
    }
    g_autofree char *own = resolved(self->directory), *other = resolved(usual);
    g_autofree char *hash = g_str_equal(own, other) ? g_strdup("")
        : g_strdup_printf("%016" G_GINT64_MODIFIER "x", location_hash(own, strlen(own)));
    self->socket = g_build_filename(self->root, name, hash, "socket", NULL);
}

Location *location_find(gint64 *wait, char **problem) {
    g_autofree char *usual = location_default_directory();
    if (!usual) {
        *problem = g_strdup("No home directory is known. Set HOME or DEFAULTS_DIRECTORY.");
        return NULL;
    }
    const char *given = variable("DEFAULTS_DIRECTORY"), *managed = g_getenv("DEFAULTS_MANAGED_DIRECTORY");
    g_autofree char *named = given ? trimmed(g_canonicalize_filename(given, NULL))
        : directory_of_settings(usual, wait, problem);
    if (*problem) return NULL;
    Location *self = g_new0(Location, 1);
    self->is_named = named != NULL;
    self->directory = g_strdup(named ? named : usual);
    find_socket(self, usual);
    self->systems = system_directories();
    managed = managed && managed[0] ? managed : "/etc/defaultsd/managed";
    self->managed = managed[0] == '/' ? trimmed(g_strdup(managed)) : NULL;
    self->host = this_host();
    self->uses_agent = variable("DEFAULTS_NO_AGENT") == NULL;
    struct stat status;
    // As root with a user's home, an agent would leave files that the user can't change.
    gboolean is_own = stat(self->directory, &status) == 0 ? status.st_uid == geteuid() : errno == ENOENT && !named;
    self->may_start_agent = self->uses_agent && is_own && !getauxval(AT_SECURE);
    return self;
}

void location_free(Location *self) {
    g_free(self->directory);
    g_free(self->socket);
    g_free(self->root);
    g_strfreev(self->systems);
    g_free(self->managed);
    g_free(self->host);
    g_free(self);
}

gboolean location_is_directory(const Location *self, const char *path) {
    g_autofree char *own = resolved(self->directory), *other = resolved(path);
    struct stat first, second;
    return g_str_equal(own, other)
        || (stat(own, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
            && first.st_ino == second.st_ino);
}

// MARK: The agent's socket

// Opens one of the user's files; returns -1 if it isn't there, or isn't the user's.
static int open_own(const char *path) {
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return -1;
    struct stat status;
    if (fstat(file, &status) == 0 && status.st_uid == geteuid()) return file;
    close(file);
    return -1;
}

// Returns whether a process holds the lock on an open file. This one must not hold it: no agent could start, even after
// the file is closed if another thread has forked meanwhile.
static gboolean is_locked(int file) {
    if (flock(file, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    flock(file, LOCK_UN);
    return FALSE;
}

static gboolean is_path_locked(const char *path) {
    int file = open_own(path);
    gboolean result = file >= 0 && is_locked(file);
    if (file >= 0) close(file);
    return result;
}

// Returns the socket of the agent that has claimed the directory; NULL if none is known.
static char *claimed_socket(const Location *self, gboolean *is_claimed) {
    g_autofree char *path = g_build_filename(self->directory, CLAIM, NULL);
    char text[4097];
    int file = open_own(path);
    *is_claimed = file >= 0 && is_locked(file);
    if (file < 0) return NULL;
    ssize_t size = *is_claimed ? read(file, text, sizeof(text) - 1) : 0;
    close(file);
    if (size <= 0) return NULL;
    text[size] = 0;
    g_auto(GStrv) lines = g_strsplit(text, "\n", 3);
    // The path is the third line.
    if (g_strv_length(lines) < 3 || lines[2][0] != '/' || !g_str_has_suffix(lines[2], "\n")) return NULL;
    lines[2][strlen(lines[2]) - 1] = 0;
    return g_strdup(lines[2]);
}

// Returns whether only the user or root can put something into a directory.
static gboolean is_trusted(int directory) {
    struct stat status;
    return fstat(directory, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0)
        && (!(status.st_mode & 022) || status.st_mode & S_ISVTX);
}

// Checks the directories from the one below the root to the socket's own, without following links; without a root,
// only the socket's own.
static gboolean may_connect(const char *socket, const char *root) {
    if (strlen(socket) > SOCKET_PATH_SIZE) return FALSE;
    g_autofree char *own = g_path_get_dirname(socket);
    int current = open(root ? root : own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (current < 0) return FALSE;
    g_auto(GStrv) names = g_strsplit(root ? own + strlen(root) : "", "/", -1);
    gboolean result = root != NULL || is_trusted(current);
    for (gsize i = 0; names[i] && result; i++) {
        if (names[i][0] == 0) continue;
        int next = openat(current, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(current);
        current = next;
        result = current >= 0 && is_trusted(current);
    }
    if (current >= 0) close(current);
    return result;
}

// Connects to a program of the user's or root's; returns -1 if none listens there.
static int connect_to(const char *path, const char *root, struct ucred *peer) {
    if (!may_connect(path, root)) return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int result = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof(*peer);
    if (result >= 0 && connect(result, (struct sockaddr *)&address, sizeof(address)) == 0
        && getsockopt(result, SOL_SOCKET, SO_PEERCRED, peer, &size) == 0
        && (peer->uid == geteuid() || peer->uid == 0)) return result;
    if (result >= 0) close(result);
    return -1;
}

// Returns whether the listening process starts the agent when a client connects. A program that inherits the socket
// and listens becomes the peer, even after its end.
static gboolean is_service_manager(pid_t pid) {
    if (pid <= 0) return FALSE;
    g_autofree char *path = g_strdup_printf("/proc/%d/comm", pid);
    g_autofree char *name = NULL;
    g_autoptr(GError) error = NULL;
    if (g_file_get_contents(path, &name, NULL, &error)) {
        return g_str_has_prefix(name, "systemd") || g_str_has_prefix(name, "dinit");
    }
    return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
}

gboolean location_connect(const Location *self, Connection *connection) {
    struct ucred peer;
    g_autofree char *claimed = claimed_socket(self, &connection->is_claimed);
    gboolean is_own = g_strcmp0(claimed, self->socket) == 0;
    if (claimed && (is_own || !self->is_explicit)) {
        connection->socket = connect_to(claimed, is_own ? self->root : NULL, &peer);
        connection->is_certain = TRUE;
        connection->timeout = -1;
        if (connection->socket >= 0) return TRUE;
    }
    if (is_own) return FALSE;
    connection->socket = connect_to(self->socket, self->root, &peer);
    if (connection->socket < 0) return FALSE;
    g_autofree char *lock = g_strconcat(self->socket, ".lock", NULL);
    connection->is_certain = FALSE;
    connection->timeout = self->is_explicit || is_path_locked(lock) ? -1 : is_service_manager(peer.pid) ? 10000 : 250;
    return TRUE;
}
