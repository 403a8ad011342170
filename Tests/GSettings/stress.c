// Uses one client in four threads, to be built with the thread sanitizer: stress COUNT.
#include <stdio.h>
#include <stdlib.h>

#include "agent.h"

static Agent *agent;
static int count;

static void read_key(const char *name, Reading reading) {
    GVariant *value = agent_read(agent, name, reading);
    if (value) g_variant_unref(value);
}

static void handle(const Change *change, gpointer data) {
    (void)change, (void)data;
    read_key("/org/test/0/count", READ_IN_EFFECT);
}

static gpointer work(gpointer data) {
    int number = GPOINTER_TO_INT(data);
    g_autofree char *own = g_strdup_printf("/org/test/%d/count", number);
    for (int i = 1; i <= count; i++) {
        g_autofree char *shared = g_strdup_printf("/org/test/shared/key%d", i % 5);
        g_autofree char *other = g_strdup_printf("/org/test/other%d/count", i % 300);
        g_autoptr(GVariant) value = g_variant_ref_sink(g_variant_new_int64(i));
        g_autoptr(GPtrArray) changes = state_changes();
        const char *names[] = {own, shared};
        GVariant *values[] = {value, i % 3 ? value : NULL};
        if (!agent_edit(agent, names, values, 2, changes)) abort();
        g_autoptr(GVariant) found = agent_read(agent, own, READ_IN_EFFECT);
        if (!found || !g_variant_equal(found, value)) abort();
        read_key(other, READ_DEFAULT);
        if (i % 100 == 0) agent_synchronize(agent);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 2) return 64;
    count = atoi(argv[1]);
    agent = agent_new(handle, NULL, NULL);
    GThread *threads[4];
    for (int i = 0; i < 4; i++) threads[i] = g_thread_new(NULL, work, GINT_TO_POINTER(i));
    for (int i = 0; i < 4; i++) g_thread_join(threads[i]);
    agent_synchronize(agent);
    agent_close(agent);
    return 0;
}
