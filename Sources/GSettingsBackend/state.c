#include "state.h"

#include <sys/stat.h>

#include "mapping.h"

// After this number of unanswered edits, those of one layer that follow become one, until all are answered. So a slider
// makes no history of hundreds of values, and an ordinary edit is in the socket when the call returns.
#define WINDOW 32

// The time in nanoseconds within which edits of one layer may become one, which has one time for all of its keys.
#define JOINING_TIME (1000 * (gint64)G_USEC_PER_SEC)

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
    g_clear_pointer(&self->replaced, g_hash_table_unref);
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
    if (!value && !layers->pdata[layer]) return;
    if (!layers->pdata[layer]) layers->pdata[layer] = table_new();
    if (value) {
        g_hash_table_replace(layers->pdata[layer], g_strdup(key), g_variant_ref(value));
    } else {
        g_hash_table_remove(layers->pdata[layer], key);
    }
}

void state_set_layer(GPtrArray *layers, guint layer, GVariant *values) {
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

static gboolean are_equal(GVariant *first, GVariant *second) {
    return first == second || (first && second && g_variant_equal(first, second));
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
        if (!are_equal(old, new)) g_ptr_array_add(keys, g_strdup(key));
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

static void before_add_edit(Before *self, const State *state, const Edit *edit) {
    GHashTableIter iterator;
    gpointer key;
    g_hash_table_iter_init(&iterator, edit->values);
    while (g_hash_table_iter_next(&iterator, &key, NULL)) before_add(self, state, key);
}

// Returns the last edit of a layer if it hasn't been sent yet and is recent.
static Edit *unsent_edit(State *self, const Domain *domain, int layer, gint64 time) {
    for (GList *link = self->edits.tail; link; link = link->prev) {
        Edit *edit = link->data;
        if (edit->request || edit->is_again) return NULL;
        if (edit->domain != domain || edit->layer != layer) continue;
        return time - edit->begin < JOINING_TIME ? edit : NULL;
    }
    return NULL;
}

static void set_edited(State *self, Domain *domain, int layer, const char *key, GVariant *value, gint64 time) {
    Edit *edit = unsent_edit(self, domain, layer, time);
    if (!edit) {
        edit = g_new0(Edit, 1);
        *edit = (Edit){.domain = domain, .layer = layer, .values = table_new(), .begin = time};
        if (domain->is_known) edit->replaced = table_new();
        g_queue_push_tail(&self->edits, edit);
    }
    if (!domain->is_known) g_clear_pointer(&edit->replaced, g_hash_table_unref);
    if (edit->replaced && !g_hash_table_contains(edit->values, key)) {
        GVariant *old = edited(self, domain, layer, key);
        if (old) g_hash_table_replace(edit->replaced, g_strdup(key), g_variant_ref(old));
    }
    g_hash_table_replace(edit->values, g_strdup(key), value ? g_variant_ref(value) : NULL);
    edit->time = time;
    edit->is_delayed = edit->is_delayed || !self->is_connected;
}

void state_edit(State *self, Domain *domain, GHashTable *values, gint64 time, GPtrArray *changes) {
    Before old = before(domain);
    GHashTableIter iterator;
    gpointer key, value;
    g_hash_table_iter_init(&iterator, values);
    while (g_hash_table_iter_next(&iterator, &key, &value)) {
        before_add(&old, self, key);
        // A value of this host alone would hide one of any host, so it is the one to set. A reset removes both.
        gboolean is_of_host = edited(self, domain, LAYER_HOST, key) != NULL;
        if (is_of_host) set_edited(self, domain, LAYER_HOST, key, value, time);
        if (!is_of_host || !value) set_edited(self, domain, LAYER_ANY, key, value, time);
    }
    after(&old, self, changes);
}

static GVariant *string(const char *text) {
    return g_variant_new_string(text);
}

static GVariant *dictionary_of(GHashTable *table) {
    GVariantBuilder builder;
    GHashTableIter iterator;
    gpointer key, value;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    g_hash_table_iter_init(&iterator, table);
    while (g_hash_table_iter_next(&iterator, &key, &value)) {
        if (value) g_variant_builder_add(&builder, "{sv}", key, value);
    }
    return g_variant_builder_end(&builder);
}

static GVariant *removed_keys(GHashTable *table) {
    GVariantBuilder builder;
    GHashTableIter iterator;
    gpointer key, value;
    g_variant_builder_init(&builder, G_VARIANT_TYPE("av"));
    g_hash_table_iter_init(&iterator, table);
    while (g_hash_table_iter_next(&iterator, &key, &value)) {
        if (!value) g_variant_builder_add(&builder, "v", string(key));
    }
    return g_variant_builder_end(&builder);
}

GVariant *state_next_edit(State *self, guint64 session, const char *program) {
    self->is_full = self->sent >= WINDOW || (self->is_full && self->sent > 0);
    if (self->is_full || self->sent >= self->edits.length) return NULL;
    Edit *edit = g_queue_peek_nth(&self->edits, self->sent++);
    edit->request = ++self->last_request;
    if (!edit->number) edit->number = ++self->last_number;
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&builder, "{sv}", "type", string("edit"));
    g_variant_builder_add(&builder, "{sv}", "request", g_variant_new_int64(edit->request));
    g_variant_builder_add(&builder, "{sv}", "domain", string(edit->domain->name));
    if (edit->layer == LAYER_HOST) g_variant_builder_add(&builder, "{sv}", "host", string(self->host));
    g_variant_builder_add(&builder, "{sv}", "set", dictionary_of(edit->values));
    g_variant_builder_add(&builder, "{sv}", "remove", removed_keys(edit->values));
    g_variant_builder_add(&builder, "{sv}", "session", g_variant_new_int64((gint64)session));
    g_variant_builder_add(&builder, "{sv}", "edit", g_variant_new_int64((gint64)edit->number));
    // With the replaced values, an edit that comes late or again yields to what others have done since. Without a time,
    // it can't be late.
    if (!edit->is_again || edit->replaced) {
        g_variant_builder_add(&builder, "{sv}", "time", g_variant_new_int64(edit->time));
    }
    if ((edit->is_again || edit->is_delayed) && edit->replaced) {
        g_variant_builder_add(&builder, "{sv}", "replacing", dictionary_of(edit->replaced));
    }
    if (program) {
        GVariantDict origin;
        g_variant_dict_init(&origin, NULL);
        g_variant_dict_insert(&origin, "program", "s", program);
        g_variant_builder_add(&builder, "{sv}", "origin", g_variant_dict_end(&origin));
    }
    return g_variant_ref_sink(g_variant_builder_end(&builder));
}

// Returns the edit of a request; NULL if the request was another one.
static Edit *edit_of(State *self, guint request, GList **link) {
    for (*link = self->edits.head; *link; *link = (*link)->next) {
        Edit *edit = (*link)->data;
        if (edit->request == request && request) return edit;
    }
    return NULL;
}

// Removes an edit, made or not, and adds what this changes in effect.
static void end_edit(State *self, GList *link, gboolean is_made, GPtrArray *changes) {
    Edit *edit = link->data;
    Domain *domain = edit->domain;
    Before old = before(domain);
    before_add_edit(&old, self, edit);
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

// Makes an edit the last one, to be sent under another number, but only for the keys that no later one sets.
static void postpone_edit(State *self, GList *link, GPtrArray *changes) {
    Edit *edit = link->data;
    for (GList *later = link->next; later; later = later->next) {
        Edit *other = later->data;
        GHashTableIter iterator;
        gpointer key;
        if (other->domain != edit->domain || other->layer != edit->layer) continue;
        g_hash_table_iter_init(&iterator, edit->values);
        while (g_hash_table_iter_next(&iterator, &key, NULL)) {
            if (g_hash_table_contains(other->values, key)) g_hash_table_iter_remove(&iterator);
        }
    }
    if (g_hash_table_size(edit->values) == 0) return end_edit(self, link, FALSE, changes);
    g_queue_unlink(&self->edits, link);
    g_queue_push_tail_link(&self->edits, link);
    self->sent--;
    edit->number = 0;
    edit->request = 0;
    edit->is_again = TRUE;
}

// MARK: Messages

// Returns a name as a pattern. The names of domains that `mapping_domain` makes have no wildcards.
static void add_name(GVariantBuilder *builder, Domain *domain, guint request) {
    g_variant_builder_add(builder, "v", string(domain->name));
    domain->status = DOMAIN_ASKED;
    domain->request = request;
}

GVariant *state_next_subscription(State *self) {
    GVariantBuilder names;
    GHashTableIter iterator;
    gpointer domain;
    guint count = 0, request = self->last_request + 1;
    g_variant_builder_init(&names, G_VARIANT_TYPE("av"));
    g_hash_table_iter_init(&iterator, self->domains);
    while (g_hash_table_iter_next(&iterator, NULL, &domain)) {
        if (((Domain *)domain)->status != DOMAIN_UNASKED) continue;
        add_name(&names, domain, request);
        count++;
    }
    if (count == 0) {
        g_variant_builder_clear(&names);
        return NULL;
    }
    self->last_request = request;
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&builder, "{sv}", "request", g_variant_new_int64(request));
    g_variant_builder_add(&builder, "{sv}", "domains", g_variant_builder_end(&names));
    if (self->subscription) {
        g_variant_builder_add(&builder, "{sv}", "type", string("widen"));
        g_variant_builder_add(&builder, "{sv}", "subscription", g_variant_new_int64(self->subscription));
    } else {
        g_variant_builder_add(&builder, "{sv}", "type", string("subscribe"));
        g_variant_builder_add(&builder, "{sv}", "from", string("snapshot"));
        g_variant_builder_add(&builder, "{sv}", "mode", string("latest"));
        self->subscription = request;
    }
    return g_variant_ref_sink(g_variant_builder_end(&builder));
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
    for (guint i = 0; layers && i < layers->len; i++) {
        GHashTableIter iterator;
        gpointer key;
        if (!layers->pdata[i]) continue;
        g_hash_table_iter_init(&iterator, layers->pdata[i]);
        while (g_hash_table_iter_next(&iterator, &key, NULL)) before_add(self, state, key);
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
        // No program has seen a value of a domain without layers.
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

static void apply_changes(GVariant *list, GPtrArray *layers, guint layer) {
    for (gsize i = 0; i < g_variant_n_children(list); i++) {
        g_autoptr(GVariant) box = g_variant_get_child_value(list, i);
        g_autoptr(GVariant) change = g_variant_get_variant(box);
        const char *key;
        if (!g_variant_is_of_type(change, G_VARIANT_TYPE_VARDICT)
            || !g_variant_lookup(change, "key", "&s", &key)) continue;
        g_autoptr(GVariant) value = g_variant_lookup_value(change, "new", NULL);
        set_value(layers, layer, key, value);
    }
}

static void receive_change(State *self, Domain *domain, guint layer, GVariant *message, GPtrArray *changes) {
    g_autoptr(GVariant) list = g_variant_lookup_value(message, "changes", G_VARIANT_TYPE("av"));
    if (!list) return;
    if (domain->status == DOMAIN_ARRIVING) return apply_changes(list, domain->incoming, layer);
    if (domain->status != DOMAIN_FOLLOWED || layer >= domain->layers->len) return;
    Before old = before(domain);
    for (gsize i = 0; i < g_variant_n_children(list); i++) {
        g_autoptr(GVariant) box = g_variant_get_child_value(list, i);
        g_autoptr(GVariant) change = g_variant_get_variant(box);
        const char *key;
        if (g_variant_is_of_type(change, G_VARIANT_TYPE_VARDICT) && g_variant_lookup(change, "key", "&s", &key)) {
            before_add(&old, self, key);
        }
    }
    apply_changes(list, domain->layers, layer);
    after(&old, self, changes);
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

void state_refuse(State *self, GVariant *request, const char *reason, GPtrArray *changes, GPtrArray *problems) {
    gint64 number = 0;
    GList *link;
    g_variant_lookup(request, "request", "x", &number);
    if (edit_of(self, (guint)number, &link)) refuse_edit(self, link, reason, changes, problems);
}

static Outcome receive_failure(
    State *self, guint request, GVariant *message, GPtrArray *changes, GPtrArray *problems
) {
    const char *code = "", *reason = "The agent gave no reason.";
    g_variant_lookup(message, "code", "&s", &code);
    g_variant_lookup(message, "message", "&s", &reason);
    GList *link;
    Edit *edit = edit_of(self, request, &link);
    if (edit && g_str_equal(code, "late")) {
        postpone_edit(self, link, changes);
        return OUTCOME_HANDLED;
    }
    if (edit) {
        refuse_edit(self, link, reason, changes, problems);
        return OUTCOME_HANDLED;
    }
    g_ptr_array_add(problems, g_strdup(reason));
    // The number 0 is that of a refused connection, and 1 that of the greeting.
    if (request <= 1) return OUTCOME_LOST;
    if (request == self->subscription) self->subscription = 0;
    begin_values(self, request, TRUE);
    return OUTCOME_HANDLED;
}

Outcome state_receive(State *self, GVariant *message, GPtrArray *changes, GPtrArray *problems) {
    const char *type = NULL;
    gint64 number = -1;
    GList *link;
    if (!g_variant_lookup(message, "type", "&s", &type) || !g_variant_lookup(message, "request", "x", &number)
        || number < 0 || number > G_MAXUINT) return OUTCOME_LOST;
    guint request = (guint)number;
    if (g_str_equal(type, "failure")) return receive_failure(self, request, message, changes, problems);
    if (g_str_equal(type, "subscribed") || g_str_equal(type, "widened")) {
        begin_values(self, request, FALSE);
    } else if (g_str_equal(type, "edited")) {
        if (edit_of(self, request, &link)) end_edit(self, link, TRUE, changes);
    } else if (request == self->subscription && request) {
        return receive_event(self, type, message, changes);
    }
    return OUTCOME_HANDLED;
}

void state_disconnect(State *self) {
    start_over(self);
    self->is_connected = FALSE;
    self->subscription = 0;
    self->sent = 0;
    for (GList *link = self->edits.head; link; link = link->next) {
        Edit *edit = link->data;
        edit->is_again = edit->is_again || edit->request != 0;
        edit->request = 0;
    }
}
