// The module of GIO: a backend of GSettings named "defaultsd".
//
// GIO loads every module of this kind into every program that uses GSettings, whichever it chooses. So nothing happens
// here before the first use: no thread, no connection, and no file but the switch.
#define G_SETTINGS_ENABLE_BACKEND
#include <gio/gio.h>
#include <gio/gsettingsbackend.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "agent.h"
#include "location.h"
#include "mapping.h"

// The file in the default directory whose existence selects this backend.
#define SWITCH ".defaultsd.gsettings"
// dconf has 100, and GLib's keyfile backend 110 in a sandbox. The lowest, GLib's "null", has 10.
#define SELECTED_PRIORITY 200
#define UNSELECTED_PRIORITY (-10)

#define EXPORTED __attribute__((visibility("default")))

typedef struct {
    GSettingsBackend parent;
    // The client, and the generation of the process that has created it.
    Agent *agent;
    guint generation;
} DefaultsdBackend;

typedef GSettingsBackendClass DefaultsdBackendClass;

GType defaultsd_backend_get_type(void);
G_DEFINE_DYNAMIC_TYPE(DefaultsdBackend, defaultsd_backend, G_TYPE_SETTINGS_BACKEND)

// MARK: The client

// Protects the clients of all backends; nothing but the creation of a client is done under it.
static GMutex lock;
// The number of forks that led to this process.
static guint generation;

// Begins a child of `fork`, in which another thread may have had the lock.
static void handle_fork(void) {
    g_mutex_init(&lock);
    generation++;
    agent_close_inherited();
}

static void emit(GSettingsBackend *self, const Change *change, gpointer origin) {
    const char *const *keys = (const char *const *)change->keys->pdata;
    if (!change->is_writability) return g_settings_backend_keys_changed(self, change->path, keys, origin);
    for (gsize i = 0; keys[i]; i++) {
        g_autofree char *name = g_strconcat(change->path, keys[i], NULL);
        g_settings_backend_writable_changed(self, name);
    }
}

static void emit_weakly(const Change *change, gpointer reference) {
    g_autoptr(GObject) self = g_weak_ref_get(reference);
    if (self) emit((GSettingsBackend *)self, change, NULL);
}

static void free_reference(gpointer reference) {
    g_weak_ref_clear(reference);
    g_free(reference);
}

// Returns the client. A child of `fork` gets its own; another thread may have been changing the parent's.
static Agent *agent_of(GSettingsBackend *backend) {
    static gsize is_counting;
    DefaultsdBackend *self = (DefaultsdBackend *)backend;
    if (g_once_init_enter(&is_counting)) {
        pthread_atfork(NULL, NULL, handle_fork);
        g_once_init_leave(&is_counting, 1);
    }
    g_mutex_lock(&lock);
    if (!self->agent || self->generation != generation) {
        GWeakRef *reference = g_new0(GWeakRef, 1);
        g_weak_ref_init(reference, self);
        self->agent = agent_new(emit_weakly, reference, free_reference);
        self->generation = generation;
    }
    Agent *agent = self->agent;
    g_mutex_unlock(&lock);
    return agent;
}

// MARK: The backend's functions

static GVariant *read_as(GSettingsBackend *self, const char *name, const GVariantType *type, Reading reading) {
    g_autoptr(GVariant) plist = agent_read(agent_of(self), name, reading);
    return plist ? mapping_from_plist(plist, type) : NULL;
}

static GVariant *read_value(GSettingsBackend *self, const char *name, const GVariantType *type, gboolean is_default) {
    return read_as(self, name, type, is_default ? READ_DEFAULT : READ_IN_EFFECT);
}

static GVariant *read_user_value(GSettingsBackend *self, const char *name, const GVariantType *type) {
    return read_as(self, name, type, READ_USER);
}

static gboolean get_writable(GSettingsBackend *self, const char *name) {
    return agent_is_writable(agent_of(self), name);
}

// Sets keys, or resets those whose value is NULL. The values' references are consumed.
static gboolean edit(
    GSettingsBackend *self, const char *const *names, GVariant **values, gsize count, gpointer origin
) {
    g_autoptr(GPtrArray) plists = g_ptr_array_new(), changes = state_changes();
    gboolean is_valid = TRUE;
    for (gsize i = 0; i < count; i++) {
        GVariant *plist = values[i] ? mapping_to_plist(values[i]) : NULL;
        is_valid = is_valid && (plist || !values[i]);
        g_ptr_array_add(plists, plist);
    }
    gboolean result = is_valid
        && agent_edit(agent_of(self), names, (GVariant *const *)plists->pdata, count, changes);
    for (guint i = 0; i < plists->len; i++) g_clear_pointer((GVariant **)&plists->pdata[i], g_variant_unref);
    for (guint i = 0; i < changes->len; i++) emit(self, changes->pdata[i], origin);
    return result;
}

static gboolean write_value(GSettingsBackend *self, const char *name, GVariant *value, gpointer origin) {
    g_autoptr(GVariant) owned = g_variant_ref_sink(value);
    return edit(self, &name, &value, 1, origin);
}

static void reset(GSettingsBackend *self, const char *name, gpointer origin) {
    GVariant *value = NULL;
    edit(self, &name, &value, 1, origin);
}

typedef struct {
    GPtrArray *names, *values;
} Tree;

static gboolean add_node(gpointer name, gpointer value, gpointer data) {
    Tree *tree = data;
    g_ptr_array_add(tree->names, name);
    g_ptr_array_add(tree->values, value);
    return FALSE;
}

static gboolean write_tree(GSettingsBackend *self, GTree *nodes, gpointer origin) {
    Tree tree = {g_ptr_array_new(), g_ptr_array_new()};
    g_tree_foreach(nodes, add_node, &tree);
    gboolean result = edit(
        self, (const char *const *)tree.names->pdata, (GVariant **)tree.values->pdata, tree.names->len, origin);
    g_ptr_array_unref(tree.names);
    g_ptr_array_unref(tree.values);
    return result;
}

static void follow(GSettingsBackend *self, const char *name) {
    agent_follow(agent_of(self), name);
}

static void synchronize(GSettingsBackend *self) {
    agent_synchronize(agent_of(self));
}

// MARK: The type

static void defaultsd_backend_init(DefaultsdBackend *self) {
    (void)self;
}

static void defaultsd_backend_finalize(GObject *object) {
    DefaultsdBackend *self = (DefaultsdBackend *)object;
    if (self->agent && self->generation == generation) agent_close(self->agent);
    G_OBJECT_CLASS(defaultsd_backend_parent_class)->finalize(object);
}

static void defaultsd_backend_class_init(DefaultsdBackendClass *class) {
    G_OBJECT_CLASS(class)->finalize = defaultsd_backend_finalize;
    class->read = read_value;
    class->read_user_value = read_user_value;
    class->get_writable = get_writable;
    class->write = write_value;
    class->write_tree = write_tree;
    class->reset = reset;
    class->subscribe = follow;
    class->sync = synchronize;
}

static void defaultsd_backend_class_finalize(DefaultsdBackendClass *class) {
    (void)class;
}

// MARK: The module

// Returns whether the user has selected this backend. A switch that can't be examined selects nothing: in a confined
// program, whose files it can't read either, another backend must do.
static gboolean is_selected(void) {
    g_autofree char *directory = location_default_directory();
    g_autofree char *path = directory ? g_build_filename(directory, SWITCH, NULL) : NULL;
    struct stat status;
    return path && stat(path, &status) == 0 && S_ISREG(status.st_mode)
        && (status.st_uid == geteuid() || geteuid() == 0);
}

EXPORTED void g_io_module_load(GIOModule *module);
EXPORTED void g_io_module_unload(GIOModule *module);
EXPORTED char **g_io_module_query(void);

void g_io_module_load(GIOModule *module) {
    // The environment and the home of a program with more rights than its user's can't be trusted.
    if (getauxval(AT_SECURE)) return;
    g_type_module_use(G_TYPE_MODULE(module));
    defaultsd_backend_register_type(G_TYPE_MODULE(module));
    g_io_extension_point_implement(
        G_SETTINGS_BACKEND_EXTENSION_POINT_NAME, defaultsd_backend_get_type(), "defaultsd",
        is_selected() ? SELECTED_PRIORITY : UNSELECTED_PRIORITY);
}

void g_io_module_unload(GIOModule *module) {
    (void)module;
}

char **g_io_module_query(void) {
    char *points[] = {(char *)G_SETTINGS_BACKEND_EXTENSION_POINT_NAME, NULL};
    return g_strdupv(points);
}
