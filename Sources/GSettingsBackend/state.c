#include "state.h"

#include <string.h>

#include "mapping.h"
#include "plist.h"

// An edit of one key waits if so many unanswered ones set it, and the next one replaces it. So a slider makes no
// history of hundreds of values, and any other edit is in the socket when the call returns.
#define WINDOW 32

// The size of a message before the welcome, which another program than an agent may have sent.
#define GREETING_LIMIT (1u << 20)

#define MANAGED_USER "managed"

// MARK: Life

static void unref_value(gpointer value) {
    if (value) g_variant_unref(value);
}

static GHashTable *table_new(void) {
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, unref_value);
}

static void unref_table(gpointer table) {
    if (table) g_hash_table_unref(table);
}

static void free_domain(gpointer data) {
    Domain *self = data;
    g_free(self->name);
    g_free(self->path);
    g_clear_pointer(&self->layers, g_ptr_array_unref);
    g_clear_pointer(&self->incoming, g_ptr_array_unref);
    g_clear_pointer(&self->stamps, g_array_unref);
    g_free(self);
}

static void free_edit(gpointer data) {
    Edit *self = data;
    g_hash_table_unref(self->values);
    g_hash_table_unref(self->replaced);
    g_free(self);
}

static void free_change(gpointer data) {
    Change *self = data;
    g_free(self->path);
    g_ptr_array_unref(self->keys);
    g_free(self);
}

void state_init(State *self, const char *host, char **systems) {
    *self = (State){.host = g_strdup(host), .systems = g_strdupv(systems)};
    self->domains = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_domain);
    g_queue_init(&self->edits);
}

void state_clear(State *self) {
    g_queue_clear_full(&self->edits, free_edit);
    g_hash_table_unref(self->domains);
    g_free(self->host);
    g_free(self->directory);
    g_strfreev(self->systems);
}

GPtrArray *state_changes(void) {
    return g_ptr_array_new_with_free_func(free_change);
}

Domain *state_domain(State *self, const char *name, const char **key) {
    g_autofree char *domain = mapping_domain(name, key);
    if (!domain) return NULL;
    Domain *known = g_hash_table_lookup(self->domains, domain);
    if (known) return known;
    Domain *created = g_new0(Domain, 1);
    created->name = g_steal_pointer(&domain);
    created->path = g_strndup(name, (gsize)(*key - name));
    g_hash_table_insert(self->domains, created->name, created);
    return created;
}

// MARK: Layers

GPtrArray *state_layers(const State *self) {
    guint count = LAYER_SYSTEM + g_strv_length(self->systems);
    GPtrArray *layers = g_ptr_array_new_full(count, unref_table);
    for (guint i = 0; i < count; i++) g_ptr_array_add(layers, NULL);
    return layers;
}

static void set_value(GPtrArray *layers, guint layer, const char *key, GVariant *value) {
    if (layer >= layers->len || (!value && !layers->pdata[layer])) return;
    if (!layers->pdata[layer]) layers->pdata[layer] = table_new();
    if (value) {
        g_hash_table_replace(layers->pdata[layer], g_strdup(key), g_variant_ref(value));
    } else {
        g_hash_table_remove(layers->pdata[layer], key);
    }
}

void state_set_layer(GPtrArray *layers, guint layer, GVariant *values) {
    if (layer >= layers->len) return;
    g_clear_pointer(&layers->pdata[layer], unref_table);
    if (!values) return;
    GVariantIter iterator;
    const char *key;
    GVariant *value;
    g_variant_iter_init(&iterator, values);
    while (g_variant_iter_loop(&iterator, "{&sv}", &key, &value)) set_value(layers, layer, key, value);
}

static GVariant *stored(GPtrArray *layers, guint layer, const char *key) {
    GHashTable *table = layers && layer < layers->len ? layers->pdata[layer] : NULL;
    return table ? g_hash_table_lookup(table, key) : NULL;
}

// Returns the layer of a message's domain; -1 if it is another host's, or one that isn't searched.
static int layer_of(const State *self, GVariant *message) {
    const char *user = NULL, *host = NULL;
    g_variant_lookup(message, "user", "&s", &user);
    g_variant_lookup(message, "host", "&s", &host);
    if (!user) return !host ? LAYER_ANY : g_strcmp0(host, self->host) == 0 ? LAYER_HOST : -1;
    if (host) return -1;
    if (g_str_equal(user, MANAGED_USER)) return LAYER_MANAGED;
    for (int i = 0; self->systems[i]; i++) {
        if (g_str_equal(self->systems[i], user)) return LAYER_SYSTEM + i;
    }
    return -1;
}

// MARK: Values

// Returns a key's value in a layer of the user's after all edits.
static GVariant *edited(const State *self, const Domain *domain, int layer, const char *key) {
    for (GList *link = self->edits.tail; link; link = link->prev) {
        Edit *edit = link->data;
        gpointer value;
        if (edit->domain == domain && edit->layer == layer
            && g_hash_table_lookup_extended(edit->values, key, NULL, &value)) return value;
    }
    return stored(domain->layers, (guint)layer, key);
}

gboolean state_is_forced(const Domain *domain, const char *key) {
    return stored(domain->layers, LAYER_MANAGED, key) != NULL;
}

GVariant *state_value(const State *self, const Domain *domain, const char *key, Reading reading) {
    if (reading != READ_USER && state_is_forced(domain, key)) return stored(domain->layers, LAYER_MANAGED, key);
    GVariant *value = NULL;
    if (reading != READ_DEFAULT) value = edited(self, domain, LAYER_HOST, key);
    if (!value && reading != READ_DEFAULT) value = edited(self, domain, LAYER_ANY, key);
    for (guint i = LAYER_SYSTEM; !value && reading != READ_USER && domain->layers && i < domain->layers->len; i++) {
        value = stored(domain->layers, i, key);
    }
    return value;
}

// The values in effect before a change of the state, to be compared with those after it.
typedef struct {
    Domain *domain;
    GHashTable *values, *forced;
} Before;

static Before before(Domain *domain) {
    return (Before){domain, table_new(), g_hash_table_new(g_str_hash, g_str_equal)};
}

static void before_add(Before *self, const State *state, const char *key) {
    if (g_hash_table_contains(self->values, key)) return;
    GVariant *value = state_value(state, self->domain, key, READ_IN_EFFECT);
    char *own = g_strdup(key);
    g_hash_table_insert(self->values, own, value ? g_variant_ref(value) : NULL);
    if (state_is_forced(self->domain, key)) g_hash_table_add(self->forced, own);
}

static void add_change(GPtrArray *changes, const char *path, GPtrArray *keys, gboolean is_writability) {
    if (keys->len > 0) {
        Change *change = g_new0(Change, 1);
        g_ptr_array_add(keys, NULL);
        *change = (Change){.path = g_strdup(path), .keys = g_ptr_array_ref(keys), .is_writability = is_writability};
        g_ptr_array_add(changes, change);
    }
    g_ptr_array_unref(keys);
}

// Adds the differences since `before`, and frees it.
static void after(Before *self, const State *state, GPtrArray *changes) {
    GPtrArray *keys = g_ptr_array_new_with_free_func(g_free), *writable = g_ptr_array_new_with_free_func(g_free);
    GHashTableIter iterator;
    gpointer key, old;
    g_hash_table_iter_init(&iterator, self->values);
    while (g_hash_table_iter_next(&iterator, &key, &old)) {
        GVariant *new = state_value(state, self->domain, key, READ_IN_EFFECT);
        gboolean is_equal = old == new || (old && new && g_variant_equal(old, new));
        if (!is_equal) g_ptr_array_add(keys, g_strdup(key));
        if (g_hash_table_contains(self->forced, key) != state_is_forced(self->domain, key)) {
            g_ptr_array_add(writable, g_strdup(key));
        }
    }
    add_change(changes, self->domain->path, writable, TRUE);
    add_change(changes, self->domain->path, keys, FALSE);
    g_hash_table_unref(self->forced);
    g_hash_table_unref(self->values);
}

// MARK: Edits

static void before_add_keys(Before *self, const State *state, GHashTable *table) {
    GHashTableIter iterator;
    gpointer key;
    g_hash_table_iter_init(&iterator, table);
    while (g_hash_table_iter_next(&iterator, &key, NULL)) before_add(self, state, key);
}

static gboolean is_of(const Edit *self, const Domain *domain, int layer) {
    return self->domain == domain && self->layer == layer;
}

// Removes a key from the edit that sets it and was never sent, and returns the value that it replaces in `old`; returns
// FALSE if there is none.
static gboolean withdraw(State *self, const Domain *domain, int layer, const char *key, GVariant **old) {
    for (GList *link = self->edits.tail; link; link = link->prev) {
        Edit *edit = link->data;
        if (edit->number) break;
        if (!is_of(edit, domain, layer) || !g_hash_table_remove(edit->values, key)) continue;
        *old = g_hash_table_lookup(edit->replaced, key);
        if (*old) g_variant_ref(*old);
        g_hash_table_remove(edit->replaced, key);
        if (g_hash_table_size(edit->values) == 0) {
            g_queue_delete_link(&self->edits, link);
            free_edit(edit);
        }
        return TRUE;
    }
    return FALSE;
}

static void set_edited(State *self, Edit *edit, const char *key, GVariant *value) {
    GVariant *old = NULL;
    if (!withdraw(self, edit->domain, edit->layer, key, &old)) {
        old = edited(self, edit->domain, edit->layer, key);
        if (old) g_variant_ref(old);
    }
    if (old) g_hash_table_insert(edit->replaced, g_strdup(key), old);
    g_hash_table_insert(edit->values, g_strdup(key), value ? g_variant_ref(value) : NULL);
}

static Edit *edit_new(Domain *domain, int layer, gint64 time) {
    Edit *self = g_new0(Edit, 1);
    *self = (Edit){
        .domain = domain, .layer = layer, .values = table_new(), .replaced = table_new(), .time = time};
    return self;
}

// Adds an edit, unless it is empty.
static void add_edit(State *self, Edit *edit) {
    edit->position = ++self->last_position;
    if (g_hash_table_size(edit->values) > 0) g_queue_push_tail(&self->edits, edit);
    else free_edit(edit);
}

void state_edit(State *self, Domain *domain, GHashTable *values, gint64 time, GPtrArray *changes) {
    Before old = before(domain);
    Edit *of_host = edit_new(domain, LAYER_HOST, time), *of_any = edit_new(domain, LAYER_ANY, time);
    GHashTableIter iterator;
    gpointer key, value;
    g_hash_table_iter_init(&iterator, values);
    while (g_hash_table_iter_next(&iterator, &key, &value)) {
        before_add(&old, self, key);
        // A value of this host alone would hide one of any host, so it is the one to set. A reset removes both.
        gboolean is_of_host = edited(self, domain, LAYER_HOST, key) != NULL;
        if (is_of_host) set_edited(self, of_host, key, value);
        if (!is_of_host || !value) set_edited(self, of_any, key, value);
    }
    add_edit(self, of_host);
    add_edit(self, of_any);
    after(&old, self, changes);
}

gboolean state_has_edits(const State *self, guint64 position) {
    for (GList *link = self->edits.head; link; link = link->next) {
        if (((Edit *)link->data)->position <= position) return TRUE;
    }
    return FALSE;
}

// Returns whether an edit must wait, since so many unanswered ones set its only key.
static gboolean is_held_back(const State *self, const Edit *edit) {
    guint unanswered = 0;
    if (edit->number || g_hash_table_size(edit->values) > 1) return FALSE;
    g_autofree gpointer *keys = g_hash_table_get_keys_as_array(edit->values, NULL);
    GList *link = self->edits.head;
    for (guint i = 0; i < self->sent; i++, link = link->next) {
        const Edit *sent = link->data;
        if (is_of(sent, edit->domain, edit->layer) && g_hash_table_contains(sent->values, keys[0])) unanswered++;
    }
    return unanswered >= WINDOW;
}

// Returns the entries of a table as a dictionary, and adds the keys without a value to `removed`.
static GVariant *dictionary_of(GHashTable *table, GVariantBuilder *removed) {
    GVariantBuilder builder;
    GHashTableIter iterator;
    gpointer key, value;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    g_hash_table_iter_init(&iterator, table);
    while (g_hash_table_iter_next(&iterator, &key, &value)) {
        if (value) g_variant_builder_add(&builder, "{sv}", key, value);
        else g_variant_builder_add(removed, "v", g_variant_new_string(key));
    }
    return g_variant_builder_end(&builder);
}

GVariant *state_next_edit(State *self, guint64 session, const char *program) {
    GList *link = g_queue_peek_nth_link(&self->edits, self->sent);
    while (link && is_held_back(self, link->data)) link = link->next;
    if (!link) return NULL;
    Edit *edit = link->data;
    g_queue_unlink(&self->edits, link);
    g_queue_push_nth_link(&self->edits, (gint)self->sent++, link);
    edit->request = ++self->last_request;
    if (!edit->number) edit->number = ++self->last_number;
    GVariantBuilder removed;
    GVariantDict message, origin;
    g_variant_builder_init(&removed, G_VARIANT_TYPE("av"));
    g_variant_dict_init(&message, NULL);
    g_variant_dict_insert(&message, "type", "s", "edit");
    g_variant_dict_insert(&message, "request", "x", (gint64)edit->request);
    g_variant_dict_insert(&message, "domain", "s", edit->domain->name);
    if (edit->layer == LAYER_HOST) g_variant_dict_insert(&message, "host", "s", self->host);
    g_variant_dict_insert_value(&message, "set", dictionary_of(edit->values, &removed));
    g_variant_dict_insert(&message, "session", "x", (gint64)session);
    g_variant_dict_insert(&message, "edit", "x", (gint64)edit->number);
    // With these, an edit that comes late, or again, yields to what other programs have done since.
    g_variant_dict_insert(&message, "time", "x", edit->time);
    g_variant_dict_insert_value(&message, "replacing", dictionary_of(edit->replaced, &removed));
    g_variant_dict_insert_value(&message, "remove", g_variant_builder_end(&removed));
    if (program) {
        g_variant_dict_init(&origin, NULL);
        g_variant_dict_insert(&origin, "program", "s", program);
        g_variant_dict_insert_value(&message, "origin", g_variant_dict_end(&origin));
    }
    return g_variant_ref_sink(g_variant_dict_end(&message));
}

// Returns the place of a request's edit; NULL if the request was another one.
static GList *link_of(State *self, guint request) {
    GList *link = self->edits.head;
    while (link && (!request || ((Edit *)link->data)->request != request)) link = link->next;
    return link;
}

// Removes an edit, made or not, and adds what this changes in effect.
static void end_edit(State *self, GList *link, gboolean is_made, GPtrArray *changes) {
    Edit *edit = link->data;
    Domain *domain = edit->domain;
    Before old = before(domain);
    before_add_keys(&old, self, edit->values);
    // The event of the edit has come before the answer, unless the domain isn't followed now.
    if (is_made && domain->status != DOMAIN_FOLLOWED && domain->layers) {
        GHashTableIter iterator;
        gpointer key, value;
        g_hash_table_iter_init(&iterator, edit->values);
        while (g_hash_table_iter_next(&iterator, &key, &value)) {
            set_value(domain->layers, (guint)edit->layer, key, value);
        }
    }
    g_queue_delete_link(&self->edits, link);
    self->sent--;
    after(&old, self, changes);
    free_edit(edit);
}

// MARK: Messages

GVariant *state_next_subscription(State *self) {
    GVariantBuilder names;
    GHashTableIter iterator;
    gpointer data;
    guint count = 0, request = self->last_request + 1;
    g_variant_builder_init(&names, G_VARIANT_TYPE("av"));
    g_hash_table_iter_init(&iterator, self->domains);
    while (g_hash_table_iter_next(&iterator, NULL, &data)) {
        Domain *domain = data;
        if (domain->status != DOMAIN_UNASKED) continue;
        // The names that `mapping_domain` makes have no wildcards.
        g_variant_builder_add(&names, "v", g_variant_new_string(domain->name));
        domain->status = DOMAIN_ASKED;
        domain->request = request;
        count++;
    }
    if (count == 0) {
        g_variant_builder_clear(&names);
        return NULL;
    }
    self->last_request = request;
    GVariantDict message;
    g_variant_dict_init(&message, NULL);
    g_variant_dict_insert(&message, "type", "s", self->subscription ? "widen" : "subscribe");
    g_variant_dict_insert(&message, "request", "x", (gint64)request);
    g_variant_dict_insert_value(&message, "domains", g_variant_builder_end(&names));
    if (self->subscription) {
        g_variant_dict_insert(&message, "subscription", "x", (gint64)self->subscription);
    } else {
        g_variant_dict_insert(&message, "from", "s", "snapshot");
        g_variant_dict_insert(&message, "mode", "s", "latest");
        self->subscription = request;
    }
    return g_variant_ref_sink(g_variant_dict_end(&message));
}

// Begins to receive the values of the domains of a request; or, if the agent refused it, gives up on them.
static void begin_values(State *self, guint request, gboolean is_refused) {
    GHashTableIter iterator;
    gpointer data;
    g_hash_table_iter_init(&iterator, self->domains);
    while (g_hash_table_iter_next(&iterator, NULL, &data)) {
        Domain *domain = data;
        if (domain->status != DOMAIN_ASKED || domain->request != request) continue;
        domain->status = is_refused ? DOMAIN_REFUSED : DOMAIN_ARRIVING;
        domain->is_known = domain->is_known && !is_refused;
        g_clear_pointer(&domain->incoming, g_ptr_array_unref);
        if (!is_refused) domain->incoming = state_layers(self);
    }
}

static void before_add_layers(Before *self, const State *state, GPtrArray *layers) {
    for (guint i = 0; i < layers->len; i++) {
        if (layers->pdata[i]) before_add_keys(self, state, layers->pdata[i]);
    }
}

// Puts the values that have arrived into effect.
static void end_values(State *self, GPtrArray *changes) {
    GHashTableIter iterator;
    gpointer data;
    g_hash_table_iter_init(&iterator, self->domains);
    while (g_hash_table_iter_next(&iterator, NULL, &data)) {
        Domain *domain = data;
        if (domain->status != DOMAIN_ARRIVING) continue;
        Before old = before(domain);
        // A domain without layers hasn't been read yet, so nothing changed.
        if (domain->layers) {
            before_add_layers(&old, self, domain->layers);
            before_add_layers(&old, self, domain->incoming);
        }
        g_clear_pointer(&domain->layers, g_ptr_array_unref);
        g_clear_pointer(&domain->stamps, g_array_unref);
        domain->layers = g_steal_pointer(&domain->incoming);
        domain->status = DOMAIN_FOLLOWED;
        domain->is_known = TRUE;
        after(&old, self, changes);
    }
}

static void apply_changes(GVariant *list, GPtrArray *layers, guint layer, const State *state, Before *old) {
    for (gsize i = 0; i < g_variant_n_children(list); i++) {
        g_autoptr(GVariant) change = plist_item(list, i);
        const char *key;
        if (!g_variant_is_of_type(change, G_VARIANT_TYPE_VARDICT)
            || !g_variant_lookup(change, "key", "&s", &key)) continue;
        g_autoptr(GVariant) value = g_variant_lookup_value(change, "new", NULL);
        if (old) before_add(old, state, key);
        set_value(layers, layer, key, value);
    }
}

static void receive_change(State *self, Domain *domain, guint layer, GVariant *message, GPtrArray *changes) {
    g_autoptr(GVariant) list = g_variant_lookup_value(message, "changes", G_VARIANT_TYPE("av"));
    if (list && domain->status == DOMAIN_ARRIVING) {
        apply_changes(list, domain->incoming, layer, self, NULL);
    } else if (list && domain->status == DOMAIN_FOLLOWED) {
        Before old = before(domain);
        apply_changes(list, domain->layers, layer, self, &old);
        after(&old, self, changes);
    }
}

// Requests all values again.
static void start_over(State *self) {
    GHashTableIter iterator;
    gpointer data;
    g_hash_table_iter_init(&iterator, self->domains);
    while (g_hash_table_iter_next(&iterator, NULL, &data)) ((Domain *)data)->status = DOMAIN_UNASKED;
}

static Outcome receive_event(State *self, const char *type, GVariant *message, GPtrArray *changes) {
    const char *name = NULL;
    int layer = layer_of(self, message);
    g_variant_lookup(message, "domain", "&s", &name);
    Domain *domain = name ? g_hash_table_lookup(self->domains, name) : NULL;
    if (g_str_equal(type, "bookmark")) {
        end_values(self, changes);
        return self->edits.length == 0 ? OUTCOME_PROGRESS : OUTCOME_HANDLED;
    } else if (g_str_equal(type, "gap")) {
        start_over(self);
    } else if (g_str_equal(type, "ended")) {
        return OUTCOME_LOST;
    } else if (domain && layer >= 0 && g_str_equal(type, "change")) {
        receive_change(self, domain, (guint)layer, message, changes);
    } else if (domain && domain->status == DOMAIN_ARRIVING && layer >= 0 && g_str_equal(type, "initial")) {
        g_autoptr(GVariant) values = g_variant_lookup_value(message, "values", G_VARIANT_TYPE_VARDICT);
        state_set_layer(domain->incoming, (guint)layer, values);
    } else if (domain && layer >= 0 && g_str_equal(type, "unknown") && domain->status != DOMAIN_ASKED) {
        // Only a new snapshot has the values of keys that the history excludes.
        domain->status = DOMAIN_UNASKED;
    }
    return OUTCOME_HANDLED;
}

// Ends an edit that can't be made.
static void refuse_edit(State *self, GList *link, const char *reason, GPtrArray *changes, GPtrArray *problems) {
    Edit *edit = link->data;
    g_autofree char **keys = (char **)g_hash_table_get_keys_as_array(edit->values, NULL);
    g_autofree char *list = g_strjoinv(", ", keys);
    g_ptr_array_add(problems, g_strdup_printf("%s in %s can't be set: %s", list, edit->domain->name, reason));
    end_edit(self, link, FALSE, changes);
}

void state_refuse(State *self, const char *reason, GPtrArray *changes, GPtrArray *problems) {
    refuse_edit(self, g_queue_peek_nth_link(&self->edits, self->sent - 1), reason, changes, problems);
}

static Outcome receive_failure(
    State *self, guint request, GVariant *message, GPtrArray *changes, GPtrArray *problems
) {
    const char *reason = "The agent gave no reason.";
    g_variant_lookup(message, "message", "&s", &reason);
    GList *link = link_of(self, request);
    if (link) {
        refuse_edit(self, link, reason, changes, problems);
        return OUTCOME_PROGRESS;
    }
    g_ptr_array_add(problems, g_strdup(reason));
    // The number 0 is that of a refused connection, and 1 that of the greeting.
    if (request <= 1) return OUTCOME_LOST;
    if (request == self->subscription) self->subscription = 0;
    begin_values(self, request, TRUE);
    return OUTCOME_HANDLED;
}

static Outcome receive_welcome(State *self, GVariant *message) {
    g_autoptr(GVariant) systems = g_variant_lookup_value(message, "system", G_VARIANT_TYPE("av"));
    const char *directory = NULL;
    // Layers have been counted since the first one.
    if (self->is_greeted) return OUTCOME_HANDLED;
    if (!systems || !g_variant_lookup(message, "directory", "&s", &directory)) return OUTCOME_LOST;
    g_autoptr(GStrvBuilder) paths = g_strv_builder_new();
    for (gsize i = 0; i < g_variant_n_children(systems); i++) {
        g_autoptr(GVariant) path = plist_item(systems, i);
        if (g_variant_is_of_type(path, G_VARIANT_TYPE_STRING)) {
            g_strv_builder_add(paths, g_variant_get_string(path, NULL));
        }
    }
    g_strfreev(self->systems);
    self->systems = g_strv_builder_end(paths);
    g_free(self->directory);
    self->directory = g_strdup(directory);
    return OUTCOME_WELCOME;
}

Outcome state_receive(State *self, GVariant *message, GPtrArray *changes, GPtrArray *problems) {
    const char *type = NULL;
    gint64 number = -1;
    if (!g_variant_lookup(message, "type", "&s", &type) || !g_variant_lookup(message, "request", "x", &number)
        || number < 0 || number > G_MAXUINT) return OUTCOME_LOST;
    guint request = (guint)number;
    if (g_str_equal(type, "failure")) return receive_failure(self, request, message, changes, problems);
    if (g_str_equal(type, "welcome")) return receive_welcome(self, message);
    if (!self->is_greeted) return OUTCOME_LOST;
    if (g_str_equal(type, "subscribed") || g_str_equal(type, "widened")) {
        begin_values(self, request, FALSE);
    } else if (g_str_equal(type, "edited")) {
        GList *link = link_of(self, request);
        if (!link) return OUTCOME_HANDLED;
        end_edit(self, link, TRUE, changes);
        return OUTCOME_PROGRESS;
    } else if (request == self->subscription && request) {
        return receive_event(self, type, message, changes);
    }
    return OUTCOME_HANDLED;
}

Outcome state_receive_frame(
    State *self, const GByteArray *bytes, gsize *position, GPtrArray *changes, GPtrArray *problems
) {
    guint32 size;
    gsize left = bytes->len - *position;
    if (left < sizeof(size)) return OUTCOME_INCOMPLETE;
    memcpy(&size, bytes->data + *position, sizeof(size));
    size = g_ntohl(size);
    if (size > (self->is_greeted ? G_MAXINT32 : GREETING_LIMIT)) return OUTCOME_LOST;
    if (left - sizeof(size) < size) return OUTCOME_INCOMPLETE;
    g_autoptr(GVariant) message = plist_decode(bytes->data + *position + sizeof(size), size);
    *position += sizeof(size) + size;
    return message && g_variant_is_of_type(message, G_VARIANT_TYPE_VARDICT)
        ? state_receive(self, message, changes, problems) : OUTCOME_LOST;
}

void state_disconnect(State *self) {
    start_over(self);
    self->is_greeted = FALSE;
    self->subscription = 0;
    self->sent = 0;
    for (GList *link = self->edits.head; link; link = link->next) ((Edit *)link->data)->request = 0;
}
