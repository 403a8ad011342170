// Loads the modules in a directory as GIO does: secure DIRECTORY. Prints whether the process has more rights than its
// user, and whether the backend exists.
#define G_SETTINGS_ENABLE_BACKEND
#include <gio/gio.h>
#include <gio/gsettingsbackend.h>
#include <stdio.h>
#include <sys/auxv.h>

int main(int argc, char **argv) {
    if (argc != 2) return 64;
    g_type_ensure(G_TYPE_SETTINGS_BACKEND);
    g_io_extension_point_register(G_SETTINGS_BACKEND_EXTENSION_POINT_NAME);
    g_io_modules_load_all_in_directory(argv[1]);
    GIOExtensionPoint *point = g_io_extension_point_lookup(G_SETTINGS_BACKEND_EXTENSION_POINT_NAME);
    printf("%lu %d\n", getauxval(AT_SECURE), g_io_extension_point_get_extension_by_name(point, "defaultsd") != NULL);
    return 0;
}
