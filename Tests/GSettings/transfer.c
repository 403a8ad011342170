// Carries dconf's values to the backend, and back: transfer in DUMP; transfer out DUMP. A dump is the output of
// `dconf dump /`. The first sets all its keys as one tree, and the second prints it with the values that are read now.
#define G_SETTINGS_ENABLE_BACKEND
#include <gio/gio.h>
#include <gio/gsettingsbackend.h>
#include <stdio.h>

static void unref(gpointer value) {
    g_variant_unref(value);
}

static int compare(gconstpointer first, gconstpointer second, gpointer data) {
    (void)data;
    return g_strcmp0(first, second);
}

int main(int argc, char **argv) {
    g_autoptr(GKeyFile) dump = g_key_file_new();
    g_autoptr(GError) error = NULL;
    if (argc != 3 || !g_key_file_load_from_file(dump, argv[2], G_KEY_FILE_NONE, &error)) {
        fprintf(stderr, "%s\n", error ? error->message : "usage: transfer in|out DUMP");
        return 64;
    }
    GSettingsBackend *backend = g_settings_backend_get_default();
    GSettingsBackendClass *class = G_SETTINGS_BACKEND_GET_CLASS(backend);
    GTree *tree = g_tree_new_full(compare, NULL, g_free, unref);
    g_auto(GStrv) groups = g_key_file_get_groups(dump, NULL);
    for (gsize i = 0; groups[i]; i++) {
        g_auto(GStrv) keys = g_key_file_get_keys(dump, groups[i], NULL, NULL);
        for (gsize j = 0; keys[j]; j++) {
            g_autofree char *text = g_key_file_get_value(dump, groups[i], keys[j], NULL);
            GVariant *value = g_variant_parse(NULL, text, NULL, NULL, &error);
            char *name = g_str_equal(groups[i], "/") ? g_strconcat("/", keys[j], NULL)
                : g_strconcat("/", groups[i], "/", keys[j], NULL);
            if (!value) {
                fprintf(stderr, "%s: %s\n", name, error->message);
                return 1;
            }
            if (g_str_equal(argv[1], "out")) {
                GVariant *found = class->read(backend, name, g_variant_get_type(value), FALSE);
                if (!found) {
                    fprintf(stderr, "%s has no value.\n", name);
                    return 1;
                }
                g_autofree char *printed = g_variant_print(found, TRUE);
                g_key_file_set_value(dump, groups[i], keys[j], printed);
                g_variant_unref(found);
            }
            g_tree_insert(tree, name, value);
        }
    }
    if (g_str_equal(argv[1], "out")) {
        g_autofree char *text = g_key_file_to_data(dump, NULL, NULL);
        fputs(text, stdout);
    } else if (!class->write_tree(backend, tree, NULL)) {
        fprintf(stderr, "The values can't be written.\n");
        return 1;
    }
    g_tree_unref(tree);
    g_settings_sync();
    g_object_unref(backend);
    return 0;
}
