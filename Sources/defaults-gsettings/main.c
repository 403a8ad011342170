// The program that converts dconf's values to property lists and back, by the mapping of GSettings' backend; `defaults
// gsettings` runs it. It keeps nothing, writes no file, and uses no backend.
//
//     defaults-gsettings backends                prints the backends that GIO finds, one a line
//     defaults-gsettings decode <DUMP            prints the property list of a dump of dconf
//     defaults-gsettings encode DUMP … <PLIST    prints the dump of a property list: of each domain, its values
//
// A dump is what `dconf dump /` prints. Those of `encode` say which types keys without a schema have, the last one first
// of all. Both conversions print a binary property list with these entries:
//
//     domains     of each domain, its `path` and its `values`, in the only form that the mapping has for them
//     dump        the values as a dump
//     unfit       the full names of the keys whose values can't be converted, or that GSettings ignores, since they
//                 aren't of their schema's type
//     guessed     the full names of the keys of which nothing shows the type
#define G_SETTINGS_ENABLE_BACKEND
#include <gio/gio.h>
#include <gio/gsettingsbackend.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mapping.h"
#include "plist.h"

#define USAGE 64
#define INVALID 65

static void unref(gpointer value) {
    g_variant_unref(value);
}

static GHashTable *table(GDestroyNotify free_value) {
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_value);
}

// MARK: Paths

// Returns the path of a group of a dump, with a slash at both ends.
static char *path_of_group(const char *group) {
    return g_str_equal(group, "/") ? g_strdup("/") : g_strconcat("/", group, "/", NULL);
}

static char *group_of_path(const char *path) {
    gsize size = strlen(path);
    return size < 2 ? g_strdup("/") : g_strndup(path + 1, size - 2);
}

static char *domain_of_path(const char *path) {
    const char *key;
    return mapping_domain(path, &key);
}

// Returns the path whose domain has a name; NULL if the name doesn't say it.
static char *path_of_domain(const char *domain) {
    GString *path = g_string_new("/");
    for (const char *at = g_str_equal(domain, "%") ? "" : domain; *at; at++) {
        if (at[0] == '%' && g_ascii_isxdigit(at[1]) && g_ascii_isxdigit(at[2])) {
            g_string_append_c(path, (char)(g_ascii_xdigit_value(at[1]) << 4 | g_ascii_xdigit_value(at[2])));
            at += 2;
        } else {
            g_string_append_c(path, at[0] == '.' ? '/' : at[0]);
        }
    }
    if (path->len > 1) g_string_append_c(path, '/');
    g_autofree char *back = domain_of_path(path->str);
    gboolean is_same = g_strcmp0(back, domain) == 0;
    return g_string_free(path, !is_same);
}

// MARK: What is known about keys

typedef struct {
    GSettingsSchemaSource *source;
    // The arrays of schemas with one path, by it.
    GHashTable *schemas;
    // The schemas without one, which have no keys of their own. They only show which types such keys have.
    GPtrArray *relocatable;
    // The paths of schemas and dumps, by their domains.
    GHashTable *paths;
    // The types of the keys in dumps, by the keys' full names.
    GHashTable *types;
} Knowledge;

static void learn_path(Knowledge *self, const char *path) {
    char *domain = domain_of_path(path);
    if (domain) g_hash_table_replace(self->paths, domain, g_strdup(path));
}

static void learn_source(Knowledge *self, GSettingsSchemaSource *source, gboolean has_parents) {
    g_auto(GStrv) fixed = NULL, relocatable = NULL;
    g_settings_schema_source_list_schemas(source, has_parents, &fixed, &relocatable);
    for (gsize i = 0; fixed[i]; i++) {
        GSettingsSchema *schema = g_settings_schema_source_lookup(source, fixed[i], has_parents);
        if (!schema) continue;
        const char *path = g_settings_schema_get_path(schema);
        learn_path(self, path);
        GPtrArray *same = g_hash_table_lookup(self->schemas, path);
        if (!same) {
            same = g_ptr_array_new_with_free_func((GDestroyNotify)g_settings_schema_unref);
            g_hash_table_insert(self->schemas, g_strdup(path), same);
        }
        g_ptr_array_add(same, schema);
    }
    for (gsize i = 0; relocatable[i]; i++) {
        GSettingsSchema *schema = g_settings_schema_source_lookup(source, relocatable[i], has_parents);
        if (schema) g_ptr_array_add(self->relocatable, schema);
    }
}

// Learns the schemas that the extensions of GNOME Shell in a data directory bring with them.
static void learn_extensions(Knowledge *self, const char *data) {
    g_autofree char *extensions = g_build_filename(data, "gnome-shell", "extensions", NULL);
    GDir *directory = g_dir_open(extensions, 0, NULL);
    const char *name;
    while (directory && (name = g_dir_read_name(directory))) {
        g_autofree char *path = g_build_filename(extensions, name, "schemas", NULL);
        g_autoptr(GSettingsSchemaSource) source =
            g_settings_schema_source_new_from_directory(path, self->source, FALSE, NULL);
        if (source) learn_source(self, source, FALSE);
    }
    g_clear_pointer(&directory, g_dir_close);
}

static void learn_schemas(Knowledge *self) {
    self->schemas = table((GDestroyNotify)g_ptr_array_unref);
    self->relocatable = g_ptr_array_new_with_free_func((GDestroyNotify)g_settings_schema_unref);
    self->paths = table(g_free);
    self->types = table(g_free);
    self->source = g_settings_schema_source_get_default();
    if (self->source) learn_source(self, self->source, TRUE);
    learn_extensions(self, g_get_user_data_dir());
    for (const char *const *each = g_get_system_data_dirs(); *each; each++) learn_extensions(self, *each);
}

// Returns the type of a key in schemas; NULL if they have none, or several. The caller owns it.
static GVariantType *type_in(const GPtrArray *schemas, const char *name) {
    GVariantType *type = NULL;
    for (guint i = 0; schemas && i < schemas->len; i++) {
        if (!g_settings_schema_has_key(schemas->pdata[i], name)) continue;
        g_autoptr(GSettingsSchemaKey) key = g_settings_schema_get_key(schemas->pdata[i], name);
        const GVariantType *found = g_settings_schema_key_get_value_type(key);
        if (!type) {
            type = g_variant_type_copy(found);
        } else if (!g_variant_type_equal(type, found)) {
            g_variant_type_free(type);
            return NULL;
        }
    }
    return type;
}

// Returns whether a path is below one that a schema or a dump has. One that has a single part is above too many.
static gboolean is_below_known(const Knowledge *self, const char *path) {
    GHashTableIter each;
    gpointer known;
    g_hash_table_iter_init(&each, self->paths);
    while (g_hash_table_iter_next(&each, NULL, &known)) {
        const char *second = strchr((const char *)known + 1, '/');
        if (second && second[1] && g_str_has_prefix(path, known)) return TRUE;
    }
    return FALSE;
}

// Returns the value of a key: of the type of its schema, or else of the one that it has in a dump or in relocatable
// schemas, if it fits, or else of the type that its property list alone suggests, which is a guess.
static GVariant *value_of(
    const Knowledge *self, const char *path, const char *key, GVariant *plist, gboolean *is_guessed
) {
    GVariantType *type = type_in(g_hash_table_lookup(self->schemas, path), key);
    if (type) {
        GVariant *value = mapping_from_plist(plist, type);
        g_variant_type_free(type);
        return value;
    }
    g_autofree char *name = g_strconcat(path, key, NULL);
    const char *signature = g_hash_table_lookup(self->types, name);
    GVariant *value = signature ? mapping_from_plist(plist, G_VARIANT_TYPE(signature)) : NULL;
    if (value) return value;
    type = type_in(self->relocatable, key);
    value = type ? mapping_from_plist(plist, type) : NULL;
    g_clear_pointer(&type, g_variant_type_free);
    if (value) return value;
    g_autoptr(GVariant) box = mapping_from_plist(plist, G_VARIANT_TYPE_VARIANT);
    value = box ? g_variant_get_variant(box) : NULL;
    // A Boolean, a real or a string is one.
    *is_guessed = value && !strchr("bds", g_variant_get_type_string(value)[0]);
    return value;
}

// MARK: The result

typedef struct {
    // Of each domain, its path and a table of its values.
    GHashTable *paths, *domains;
    GKeyFile *dump;
    GPtrArray *unfit, *guessed;
} Result;

static Result result_new(void) {
    return (Result){
        table(g_free), table((GDestroyNotify)g_hash_table_unref), g_key_file_new(),
        g_ptr_array_new_with_free_func(g_free), g_ptr_array_new_with_free_func(g_free),
    };
}

// Returns whether a dump, which is a key file, can have a name. A line that begins with # would be a comment.
static gboolean is_for_dump(const char *name) {
    gsize size = strlen(name);
    return size > 0 && name[0] != '#' && name[0] != ' ' && name[size - 1] != ' ' && !strpbrk(name, "=[]\n\r\t");
}

// Adds a key's value, or its name if it has none.
static void result_add(Result *self, const char *path, const char *key, GVariant *value) {
    g_autofree char *domain = domain_of_path(path), *group = group_of_path(path);
    GVariant *plist = domain && value ? mapping_to_plist(value) : NULL;
    if (!plist || !is_for_dump(group) || !is_for_dump(key)) {
        g_clear_pointer(&plist, g_variant_unref);
        g_ptr_array_add(self->unfit, g_strconcat(path, key, NULL));
        return;
    }
    g_autofree char *text = g_variant_print(value, TRUE);
    g_key_file_set_value(self->dump, group, key, text);
    GHashTable *values = g_hash_table_lookup(self->domains, domain);
    if (!values) {
        values = table(unref);
        g_hash_table_insert(self->domains, g_strdup(domain), values);
        g_hash_table_insert(self->paths, g_strdup(domain), g_strdup(path));
    }
    g_hash_table_replace(values, g_strdup(key), plist);
}

static GVariant *entry(const char *key, GVariant *value) {
    return g_variant_new_dict_entry(g_variant_new_string(key), g_variant_new_variant(value));
}

static GVariant *dictionary_of(GHashTable *values) {
    GPtrArray *entries = g_ptr_array_new();
    GHashTableIter each;
    gpointer key, value;
    g_hash_table_iter_init(&each, values);
    while (g_hash_table_iter_next(&each, &key, &value)) g_ptr_array_add(entries, entry(key, value));
    return plist_dictionary(entries);
}

static GVariant *array_of(const GPtrArray *names) {
    GPtrArray *boxes = g_ptr_array_new();
    for (guint i = 0; i < names->len; i++) {
        g_ptr_array_add(boxes, g_variant_new_variant(g_variant_new_string(names->pdata[i])));
    }
    GVariant *array = g_variant_new_array(G_VARIANT_TYPE_VARIANT, (GVariant *const *)boxes->pdata, boxes->len);
    g_ptr_array_unref(boxes);
    return array;
}

// Prints the result; returns the program's status.
static int result_print(Result *self) {
    GPtrArray *domains = g_ptr_array_new(), *entries = g_ptr_array_new();
    GHashTableIter each;
    gpointer domain, values;
    g_hash_table_iter_init(&each, self->domains);
    while (g_hash_table_iter_next(&each, &domain, &values)) {
        GPtrArray *parts = g_ptr_array_new();
        g_ptr_array_add(parts, entry("path", g_variant_new_string(g_hash_table_lookup(self->paths, domain))));
        g_ptr_array_add(parts, entry("values", dictionary_of(values)));
        g_ptr_array_add(domains, entry(domain, plist_dictionary(parts)));
    }
    g_autofree char *text = g_key_file_to_data(self->dump, NULL, NULL);
    g_ptr_array_add(entries, entry("domains", plist_dictionary(domains)));
    g_ptr_array_add(entries, entry("dump", g_variant_new_string(text)));
    g_ptr_array_add(entries, entry("unfit", array_of(self->unfit)));
    g_ptr_array_add(entries, entry("guessed", array_of(self->guessed)));
    g_autoptr(GVariant) plist = g_variant_ref_sink(plist_dictionary(entries));
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    if (!plist_encode(plist, bytes)) return INVALID;
    gboolean is_written = fwrite(bytes->data, 1, bytes->len, stdout) == bytes->len && fflush(stdout) == 0;
    return is_written ? 0 : 1;
}

// MARK: Dumps

typedef void (*Visit)(gpointer data, const char *path, const char *key, GVariant *value);

// Calls a function for each key of a dump, with NULL for a value that can't be read; returns FALSE if the text isn't a
// dump.
static gboolean visit(const char *text, gsize size, Visit function, gpointer data) {
    g_autoptr(GKeyFile) dump = g_key_file_new();
    g_autoptr(GError) error = NULL;
    if (size > 0 && !g_key_file_load_from_data(dump, text, size, G_KEY_FILE_NONE, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return FALSE;
    }
    g_auto(GStrv) groups = g_key_file_get_groups(dump, NULL);
    for (gsize i = 0; groups[i]; i++) {
        g_autofree char *path = path_of_group(groups[i]);
        g_auto(GStrv) keys = g_key_file_get_keys(dump, groups[i], NULL, NULL);
        for (gsize j = 0; keys && keys[j]; j++) {
            g_autofree char *value = g_key_file_get_value(dump, groups[i], keys[j], NULL);
            g_autoptr(GVariant) parsed = g_variant_parse(NULL, value, NULL, NULL, NULL);
            function(data, path, keys[j], parsed);
        }
    }
    return TRUE;
}

typedef struct {
    Knowledge knowledge;
    Result result;
} Decoding;

static void add_to_result(gpointer data, const char *path, const char *key, GVariant *value) {
    Decoding *self = data;
    GVariantType *type = type_in(g_hash_table_lookup(self->knowledge.schemas, path), key);
    // GSettings ignores a value of another type, as an older schema may have had.
    if (type && value && !g_variant_is_of_type(value, type)) value = NULL;
    g_clear_pointer(&type, g_variant_type_free);
    result_add(&self->result, path, key, value);
}

static void learn_key(gpointer knowledge, const char *path, const char *key, GVariant *value) {
    Knowledge *self = knowledge;
    learn_path(self, path);
    if (!value) return;
    g_hash_table_replace(
        self->types, g_strconcat(path, key, NULL), g_strdup(g_variant_get_type_string(value)));
}

// Reads standard input to its end.
static GByteArray *read_input(void) {
    GByteArray *bytes = g_byte_array_new();
    guint8 buffer[1 << 16];
    gsize count;
    while ((count = fread(buffer, 1, sizeof(buffer), stdin)) > 0) g_byte_array_append(bytes, buffer, (guint)count);
    return bytes;
}

// MARK: The actions

static int print_backends(void) {
    // Makes GIO load its modules, but use none of them.
    g_setenv("GSETTINGS_BACKEND", "memory", TRUE);
    g_autoptr(GSettingsBackend) memory = g_settings_backend_get_default();
    GIOExtensionPoint *point = g_io_extension_point_lookup(G_SETTINGS_BACKEND_EXTENSION_POINT_NAME);
    for (GList *each = point ? g_io_extension_point_get_extensions(point) : NULL; each; each = each->next) {
        printf("%s\n", g_io_extension_get_name(each->data));
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

static int decode(void) {
    g_autoptr(GByteArray) input = read_input();
    Decoding decoding = {.result = result_new()};
    learn_schemas(&decoding.knowledge);
    if (!visit((const char *)input->data, input->len, add_to_result, &decoding)) return INVALID;
    return result_print(&decoding.result);
}

static int encode(char *const *dumps) {
    Knowledge knowledge;
    learn_schemas(&knowledge);
    for (gsize i = 0; dumps[i]; i++) {
        g_autofree char *text = NULL;
        gsize size;
        g_autoptr(GError) error = NULL;
        if (!g_file_get_contents(dumps[i], &text, &size, &error)) {
            fprintf(stderr, "%s\n", error->message);
            return INVALID;
        }
        if (!visit(text, size, learn_key, &knowledge)) return INVALID;
    }
    g_autoptr(GByteArray) input = read_input();
    GVariant *decoded = plist_decode(input->data, input->len);
    g_autoptr(GVariant) domains = decoded ? g_variant_take_ref(decoded) : NULL;
    if (!domains || !g_variant_is_of_type(domains, G_VARIANT_TYPE_VARDICT)) {
        fprintf(stderr, "The input isn't a property list of domains.\n");
        return INVALID;
    }
    Result result = result_new();
    GVariantIter each;
    const char *domain;
    GVariant *values;
    g_variant_iter_init(&each, domains);
    while (g_variant_iter_loop(&each, "{&sv}", &domain, &values)) {
        if (!g_variant_is_of_type(values, G_VARIANT_TYPE_VARDICT)) continue;
        const char *known = g_hash_table_lookup(knowledge.paths, domain);
        g_autofree char *path = known ? g_strdup(known) : path_of_domain(domain);
        if (!path) {
            // The hash of a long path doesn't say which path it is.
            if (strstr(domain, "%-")) g_ptr_array_add(result.unfit, g_strconcat(domain, ".plist", NULL));
            continue;
        }
        // Other domains aren't those of GSettings.
        if (!known && !is_below_known(&knowledge, path)) continue;
        GVariantIter keys;
        const char *key;
        GVariant *plist;
        g_variant_iter_init(&keys, values);
        while (g_variant_iter_loop(&keys, "{&sv}", &key, &plist)) {
            gboolean is_guessed = FALSE;
            g_autoptr(GVariant) value = value_of(&knowledge, path, key, plist, &is_guessed);
            if (is_guessed) g_ptr_array_add(result.guessed, g_strconcat(path, key, NULL));
            // Neither GSettings nor dconf has such a key.
            if (key[0] == 0 || strchr(key, '/')) g_clear_pointer(&value, g_variant_unref);
            result_add(&result, path, key, value);
        }
    }
    return result_print(&result);
}

int main(int argc, char **argv) {
    if (argc == 2 && g_str_equal(argv[1], "backends")) return print_backends();
    if (argc == 2 && g_str_equal(argv[1], "decode")) return decode();
    if (argc >= 2 && g_str_equal(argv[1], "encode")) return encode(argv + 2);
    fprintf(stderr, "usage: defaults-gsettings backends | decode <DUMP | encode DUMP ... <PLIST\n");
    return USAGE;
}
