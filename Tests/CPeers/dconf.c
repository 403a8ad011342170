#include "CPeers.h"

#include <dlfcn.h>
#include <string.h>

typedef void *pointer;

static pointer client;
static pointer (*read_value)(pointer, const char *);
static int (*write_fast)(pointer, const char *, pointer, pointer);
static void (*wait_for_writes)(pointer);
static void (*watch)(pointer, const char *, pointer);
static pointer (*new_integer)(int64_t);
static pointer (*new_string)(const char *);
static pointer (*new_boolean)(int);
static int64_t (*get_integer)(pointer);
static const char *(*get_string)(pointer, size_t *);
static int (*get_boolean)(pointer);
static void (*unref)(pointer);
static unsigned long (*connect_signal)(pointer, const char *, void (*)(void), pointer, pointer, int);
static pointer (*new_loop)(pointer, int);
static void (*run_loop)(pointer);

bool peer_dconf_open(void) {
    if (client) return true;
    pointer glib = dlopen("libglib-2.0.so.0", RTLD_NOW | RTLD_GLOBAL);
    pointer objects = dlopen("libgobject-2.0.so.0", RTLD_NOW | RTLD_GLOBAL);
    pointer dconf = dlopen("libdconf.so.1", RTLD_NOW);
    if (!glib || !objects || !dconf) return false;
    pointer (*new_client)(void) = (pointer(*)(void))dlsym(dconf, "dconf_client_new");
    read_value = (pointer(*)(pointer, const char *))dlsym(dconf, "dconf_client_read");
    write_fast = (int (*)(pointer, const char *, pointer, pointer))dlsym(dconf, "dconf_client_write_fast");
    wait_for_writes = (void (*)(pointer))dlsym(dconf, "dconf_client_sync");
    watch = (void (*)(pointer, const char *, pointer))dlsym(dconf, "dconf_client_watch_sync");
    new_integer = (pointer(*)(int64_t))dlsym(glib, "g_variant_new_int64");
    new_string = (pointer(*)(const char *))dlsym(glib, "g_variant_new_string");
    new_boolean = (pointer(*)(int))dlsym(glib, "g_variant_new_boolean");
    get_integer = (int64_t(*)(pointer))dlsym(glib, "g_variant_get_int64");
    get_string = (const char *(*)(pointer, size_t *))dlsym(glib, "g_variant_get_string");
    get_boolean = (int (*)(pointer))dlsym(glib, "g_variant_get_boolean");
    unref = (void (*)(pointer))dlsym(glib, "g_variant_unref");
    connect_signal = (unsigned long (*)(pointer, const char *, void (*)(void), pointer, pointer, int))dlsym(
        objects, "g_signal_connect_data");
    new_loop = (pointer(*)(pointer, int))dlsym(glib, "g_main_loop_new");
    run_loop = (void (*)(pointer))dlsym(glib, "g_main_loop_run");
    if (!new_client || !read_value || !write_fast || !wait_for_writes || !watch || !new_integer || !new_string
        || !new_boolean || !get_integer || !get_string || !get_boolean || !unref || !connect_signal || !new_loop
        || !run_loop)
        return false;
    // The connection that it shares would end this process when the benchmark ends its bus.
    pointer gio = dlopen("libgio-2.0.so.0", RTLD_NOW);
    if (!gio) return false;
    pointer (*get_bus)(int, pointer, pointer) = (pointer(*)(int, pointer, pointer))dlsym(gio, "g_bus_get_sync");
    void (*set_exit)(pointer, int) = (void (*)(pointer, int))dlsym(gio, "g_dbus_connection_set_exit_on_close");
    if (!get_bus || !set_exit) return false;
    const int session = 2;
    pointer bus = get_bus(session, NULL, NULL);
    if (bus) set_exit(bus, 0);
    client = new_client();
    return client != NULL;
}

int64_t peer_dconf_integer(const char *key) {
    pointer value = read_value(client, key);
    if (!value) return 0;
    int64_t integer = get_integer(value);
    unref(value);
    return integer;
}

size_t peer_dconf_string(const char *key) {
    pointer value = read_value(client, key);
    if (!value) return 0;
    size_t length = strlen(get_string(value, NULL));
    unref(value);
    return length;
}

bool peer_dconf_boolean(const char *key) {
    pointer value = read_value(client, key);
    if (!value) return false;
    bool boolean = get_boolean(value);
    unref(value);
    return boolean;
}

bool peer_dconf_set(const char *key, int64_t value) { return write_fast(client, key, new_integer(value), NULL); }
bool peer_dconf_set_string(const char *key, const char *value) {
    return write_fast(client, key, new_string(value), NULL);
}
bool peer_dconf_set_boolean(const char *key, bool value) { return write_fast(client, key, new_boolean(value), NULL); }

void peer_dconf_synchronize(void) { wait_for_writes(client); }

static void (*callback)(int64_t);
static const char *followed;

static void on_change(void) { callback(peer_dconf_integer(followed)); }

void peer_dconf_follow(const char *key, void (*changed)(int64_t)) {
    followed = strdup(key);
    callback = changed;
    connect_signal(client, "changed", on_change, NULL, NULL, 0);
    watch(client, key, NULL);
    changed(0);
    run_loop(new_loop(NULL, 0));
}
