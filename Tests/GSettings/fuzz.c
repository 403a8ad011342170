// Feeds changed documents to the readers, and changed messages to a client's state: fuzz VECTORS SECONDS [SEED].
//
// Build it with the address and the undefined behavior sanitizer. A failure prints the seed with which it comes again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "mapping.h"
#include "plist.h"
#include "state.h"

static GRand *randomness;

static guint below(guint limit) {
    return (guint)g_rand_int_range(randomness, 0, (gint32)limit);
}

static const char *const types[] = {
    "b", "i", "t", "d", "s", "o", "ay", "as", "a(ss)", "a{ss}", "a{ui}", "mas", "v", "av", "a{sv}", "(sib)",
};

// Changes some bytes; moves, repeats or removes others.
static void mutate(GByteArray *bytes) {
    for (guint change = below(8) + 1; change > 0 && bytes->len > 1; change--) {
        guint at = below(bytes->len), other = below(bytes->len), most = below(16) + 1;
        guint count = MIN(most, bytes->len - at);
        switch (below(6)) {
        case 0:
            bytes->data[at] = (guint8)below(256);
            break;
        case 1:
            bytes->data[at] ^= (guint8)(1u << below(8));
            break;
        case 2:
            memmove(bytes->data + at, bytes->data + other, MIN(count, bytes->len - other));
            break;
        case 3:
            g_byte_array_remove_range(bytes, at, count);
            break;
        case 4: {
            g_autofree guint8 *part = g_memdup2(bytes->data + at, count);
            g_byte_array_append(bytes, part, count);
            break;
        }
        default:
            // The trailer of a binary document, which says where everything is.
            bytes->data[bytes->len - 1 - below(MIN(32, bytes->len))] = (guint8)below(4);
        }
    }
}

// Reads a value as each type, and writes what it is.
static void use(GVariant *plist) {
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
        g_autoptr(GVariant) value = mapping_from_plist(plist, G_VARIANT_TYPE(types[i]));
        if (!value) continue;
        g_autoptr(GVariant) back = mapping_to_plist(value);
        g_autoptr(GVariant) again = back ? mapping_from_plist(back, G_VARIANT_TYPE(types[i])) : NULL;
        g_autofree char *first = g_variant_print(value, TRUE), *second = again ? g_variant_print(again, TRUE) : NULL;
        // Only dictionaries are sorted, and lose what is there twice; then the next round changes nothing.
        if (second && strcmp(first, second) != 0) {
            g_autoptr(GVariant) twice = mapping_to_plist(again);
            g_autoptr(GVariant) third = mapping_from_plist(twice, G_VARIANT_TYPE(types[i]));
            g_autofree char *last = g_variant_print(third, TRUE);
            g_assert_cmpstr(last, ==, second);
        }
    }
}

static void feed(GByteArray *bytes) {
    g_autoptr(GVariant) value = plist_decode(bytes->data, bytes->len);
    g_autofree char *problem = NULL;
    g_autoptr(GVariant) file = plist_decode_file(bytes->data, bytes->len);
    g_autoptr(GVariant) text = files_decode_xml((const char *)bytes->data, bytes->len, &problem);
    if (text) use(text);
    if (!value) return;
    use(value);
    g_autoptr(GByteArray) out = g_byte_array_new();
    if (plist_encode(value, out)) {
        g_autoptr(GVariant) again = plist_decode(out->data, out->len);
        g_autofree char *first = g_variant_print(value, TRUE), *second = g_variant_print(again, TRUE);
        g_assert_cmpstr(first, ==, second);
    }
}

// Sends a frame as an agent does, perhaps with another size.
static void send_frame(State *state, GByteArray *bytes) {
    g_autoptr(GPtrArray) changes = state_changes(), problems = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GByteArray) frame = g_byte_array_new();
    guint32 size = g_htonl(below(20) ? bytes->len : below(2 * bytes->len + 1));
    g_byte_array_append(frame, (const guint8 *)&size, sizeof(size));
    g_byte_array_append(frame, bytes->data, bytes->len);
    gsize position = 0;
    Outcome outcome;
    do {
        outcome = state_receive_frame(state, frame, &position, changes, problems);
        g_assert_cmpuint(position, <=, frame->len);
        if (outcome == OUTCOME_WELCOME) state->is_greeted = TRUE;
    } while (outcome != OUTCOME_LOST && outcome != OUTCOME_INCOMPLETE);
    if (outcome == OUTCOME_LOST && below(4) == 0) state_disconnect(state);
}

// Does what a client may do at any time.
static void act(State *state) {
    const char *key;
    g_autofree char *name = g_strdup_printf("/org/test/%u/count", below(3));
    Domain *domain = state_domain(state, name, &key);
    g_autoptr(GVariant) request = NULL, value = g_variant_ref_sink(g_variant_new_int64(below(3)));
    g_autoptr(GPtrArray) changes = state_changes();
    g_autoptr(GHashTable) values = g_hash_table_new(g_str_hash, g_str_equal);
    switch (below(6)) {
    case 0:
        g_hash_table_insert(values, (char *)key, below(2) ? value : NULL);
        if (!domain->layers) domain->layers = state_layers(state);
        state_edit(state, domain, values, 1, changes);
        break;
    case 1:
        request = state_next_edit(state, 1, "fuzz");
        break;
    case 2:
        request = state_next_subscription(state);
        break;
    case 3:
        if (below(50) == 0) state_disconnect(state);
        break;
    default:
        state_value(state, domain, key, READ_IN_EFFECT);
    }
}

static void add_text(GPtrArray *documents, const char *format, const char *text) {
    g_autofree char *document = g_strdup_printf(format, text);
    GByteArray *bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)document, (guint)strlen(document));
    g_ptr_array_add(documents, bytes);
}

static void add_message(GPtrArray *documents, const char *text) {
    g_autoptr(GVariant) message = g_variant_parse(G_VARIANT_TYPE_VARDICT, text, NULL, NULL, NULL);
    g_assert_nonnull(message);
    GByteArray *bytes = g_byte_array_new();
    g_assert_true(plist_encode(message, bytes));
    g_ptr_array_add(documents, bytes);
}

static void add_messages(GPtrArray *documents) {
    static const char *const types[] = {"subscribed", "widened", "edited", "bookmark", "gap", "ended", "welcome"};
    static const char *const systems[] = {"", "<'/a'>", "<'/a'>, <'/b'>, <'/c'>"};
    for (gsize i = 0; i < G_N_ELEMENTS(systems); i++) {
        g_autofree char *welcome = g_strdup_printf(
            "{'type': <'welcome'>, 'request': <int64 1>, 'directory': <'/'>, 'system': <@av [%s]>}", systems[i]);
        add_message(documents, welcome);
    }
    for (int request = 0; request < 12; request++) {
        for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
            g_autofree char *text = g_strdup_printf("{'type': <'%s'>, 'request': <int64 %d>}", types[i], request);
            add_message(documents, text);
        }
        g_autofree char *late = g_strdup_printf(
            "{'type': <'failure'>, 'request': <int64 %d>, 'code': <'late'>, 'message': <'m'>}", request);
        add_message(documents, late);
        for (int domain = 0; domain < 3; domain++) {
            g_autofree char *initial = g_strdup_printf(
                "{'type': <'initial'>, 'request': <int64 %d>, 'domain': <'org.test.%d'>, 'user': <'managed'>,"
                " 'values': <{'count': <int64 5>}>}", request, domain);
            g_autofree char *change = g_strdup_printf(
                "{'type': <'change'>, 'request': <int64 %d>, 'domain': <'org.test.%d'>,"
                " 'changes': <[<{'key': <'count'>, 'new': <int64 2>}>]>}", request, domain);
            g_autofree char *unknown = g_strdup_printf(
                "{'type': <'unknown'>, 'request': <int64 %d>, 'domain': <'org.test.%d'>}", request, domain);
            add_message(documents, initial);
            add_message(documents, change);
            add_message(documents, unknown);
        }
    }
}

int main(int argc, char **argv) {
    g_autofree char *text = NULL;
    if (argc < 3 || !g_file_get_contents(argv[1], &text, NULL, NULL)) {
        fprintf(stderr, "usage: fuzz VECTORS SECONDS [SEED]\n");
        return 64;
    }
    g_log_set_always_fatal(G_LOG_LEVEL_WARNING | G_LOG_LEVEL_CRITICAL | G_LOG_FATAL_MASK);
    guint32 seed = argc > 3 ? (guint32)strtoul(argv[3], NULL, 10) : (guint32)g_get_real_time();
    randomness = g_rand_new_with_seed(seed);
    printf("seed %u\n", seed);
    fflush(stdout);
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i]; i++) {
        g_auto(GStrv) fields = g_strsplit(lines[i], "|", -1);
        if (g_strv_length(fields) < 3 || !strchr(fields[2], '<')) continue;
        add_text(documents, "<plist version=\"1.0\">%s</plist>", fields[2]);
        GByteArray *xml = documents->pdata[documents->len - 1];
        g_autofree char *problem = NULL;
        g_autoptr(GVariant) plist = files_decode_xml((const char *)xml->data, xml->len, &problem);
        GByteArray *binary = g_byte_array_new();
        if (plist && plist_encode(plist, binary)) g_ptr_array_add(documents, binary);
        else g_byte_array_unref(binary);
    }
    add_messages(documents);
    gint64 end = g_get_monotonic_time() + strtol(argv[2], NULL, 10) * G_USEC_PER_SEC;
    guint64 count = 0;
    while (g_get_monotonic_time() < end) {
        char *systems[] = {(char *)"/etc/xdg", NULL};
        State state;
        state_init(&state, "HOST", systems);
        for (int step = 0; step < 300; step++, count++) {
            act(&state);
            GByteArray *document = documents->pdata[below(documents->len)];
            g_autoptr(GByteArray) copy = g_byte_array_new();
            g_byte_array_append(copy, document->data, document->len);
            if (below(3) > 0) mutate(copy);
            feed(copy);
            send_frame(&state, copy);
        }
        state_clear(&state);
    }
    printf("%" G_GUINT64_FORMAT " documents\n", count);
    return 0;
}
