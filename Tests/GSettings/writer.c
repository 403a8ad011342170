// Sets the keys of a relocatable path as fast as it can: writer PATH COUNT, or, in a process of its own for each value,
// which ends at once: writer PATH COUNT exit.
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static GSettings *open_settings(const char *path) {
    return g_settings_new_with_path("org.defaultsd.test.item", path);
}

int main(int argc, char **argv) {
    if (argc < 3) return 64;
    int count = atoi(argv[2]);
    g_autoptr(GSettings) settings = argc == 3 ? open_settings(argv[1]) : NULL;
    for (int i = 1; i <= count; i++) {
        if (settings) {
            g_settings_set_int(settings, "count", i);
            if (g_settings_get_int(settings, "count") != i) {
                fprintf(stderr, "%d reads as %d\n", i, g_settings_get_int(settings, "count"));
                return 1;
            }
            // Bursts with pauses, in which the agent answers some, all or none.
            if (i % 25 == 0) g_usleep((gulong)(i % 7) * 1000);
            continue;
        }
        pid_t child = fork();
        if (child == 0) {
            g_settings_set_int(open_settings(argv[1]), "count", i);
            _exit(0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || status != 0) return 1;
    }
    g_settings_sync();
    return 0;
}
