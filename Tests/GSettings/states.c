// Checks what a client knows after messages in orders that a real agent sends rarely.
#include <stdio.h>
#include <string.h>

#include "state.h"

static State state;
static GPtrArray *changes, *problems;

// Returns the domain of a key's name, with its key.
static Domain *domain_of(const char *name, const char **key) {
    return state_domain(&state, name, key);
}

static Outcome receive(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) message = g_variant_parse(G_VARIANT_TYPE_VARDICT, text, NULL, NULL, &error);
    g_assert_no_error(error);
    return state_receive(&state, message, changes, problems);
}

// Sets or, with -1, resets a key, and returns nothing; `time` is in seconds.
static void edit(const char *name, int value, gint64 time) {
    const char *key;
    Domain *domain = domain_of(name, &key);
    if (!domain->layers) domain->layers = state_layers(&state);
    g_autoptr(GHashTable) values = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GVariant) plist = value < 0 ? NULL : g_variant_ref_sink(g_variant_new_int64(value));
    g_hash_table_insert(values, (char *)key, plist);
    state_edit(&state, domain, values, time * 1000000000, changes);
}

// Returns a key's value in effect; -1 if it has none.
static int value_of(const char *name) {
    const char *key;
    Domain *domain = domain_of(name, &key);
    GVariant *value = state_value(&state, domain, key, READ_IN_EFFECT);
    return value ? (int)g_variant_get_int64(value) : -1;
}

// Returns the next edit to send as text; "" if there is none.
static char *next_edit(void) {
    g_autoptr(GVariant) request = state_next_edit(&state, 1, NULL);
    return request ? g_variant_print(request, FALSE) : g_strdup("");
}

static guint subscribe(void) {
    g_autoptr(GVariant) request = state_next_subscription(&state);
    return request ? state.last_request : 0;
}

// Follows two domains, of which one has a value.
static void begin(void) {
    const char *key;
    static const char *const systems[] = {"/etc/xdg", NULL};
    state_init(&state, "HOST", (char **)systems);
    changes = state_changes();
    problems = g_ptr_array_new_with_free_func(g_free);
    state.is_greeted = TRUE;
    domain_of("/a/count", &key);
    domain_of("/b/count", &key);
    guint request = subscribe();
    receive("{'type': <'subscribed'>, 'request': <int64 %u>}", request);
    receive("{'type': <'initial'>, 'request': <int64 %u>, 'domain': <'a'>, 'values': <{'count': <int64 1>}>}", request);
    receive("{'type': <'bookmark'>, 'request': <int64 %u>}", request);
    g_assert_cmpint(value_of("/a/count"), ==, 1);
    g_assert_cmpint(value_of("/b/count"), ==, -1);
    g_assert_cmpuint(changes->len, ==, 0);
}

static void end(void) {
    g_ptr_array_unref(changes);
    g_ptr_array_unref(problems);
    state_clear(&state);
}

static void test_an_edit_has_its_time_and_what_it_replaces_also_when_sent_again(void) {
    begin();
    edit("/a/count", 2, 1);
    g_autofree char *first = next_edit();
    g_assert_nonnull(strstr(first, "'edit': <int64 1>"));
    g_assert_nonnull(strstr(first, "'time': <int64 1000000000>"));
    g_assert_nonnull(strstr(first, "'replacing': <{'count': <int64 1>}>"));
    // The values of this domain are those in its files.
    const char *key;
    Domain *domain = domain_of("/c/count", &key);
    g_autoptr(GVariant) values = g_variant_ref_sink(g_variant_new_parsed("{'count': <int64 4>}"));
    domain->layers = state_layers(&state);
    state_set_layer(domain->layers, LAYER_ANY, values);
    edit("/c/count", 5, 2);
    g_autofree char *second = next_edit();
    g_assert_nonnull(strstr(second, "'replacing': <{'count': <int64 4>}>"));
    state_disconnect(&state);
    g_autofree char *again = next_edit(), *other = next_edit();
    g_assert_nonnull(strstr(again, "'edit': <int64 1>"));
    g_assert_nonnull(strstr(again, "'time': <int64 1000000000>"));
    g_assert_nonnull(strstr(again, "'replacing': <{'count': <int64 1>}>"));
    g_assert_nonnull(strstr(other, "'edit': <int64 2>"));
    end();
}

static void test_only_edits_of_a_key_with_many_unanswered_ones_wait(void) {
    begin();
    for (int i = 0; i < 40; i++) {
        edit("/a/count", 100 + i, 1 + i);
        g_autofree char *request = next_edit();
        g_assert_cmpint(request[0] != 0, ==, i < 32);
    }
    g_assert_cmpuint(state.edits.length, ==, 33);
    edit("/a/name", 5, 50);
    g_autofree char *same_path = next_edit();
    g_assert_nonnull(strstr(same_path, "'edit': <int64 33>"));
    g_assert_nonnull(strstr(same_path, "'set': <{'name': <int64 5>}>"));
    edit("/b/count", 6, 51);
    g_autofree char *other_path = next_edit();
    g_assert_nonnull(strstr(other_path, "'edit': <int64 34>"));
    g_assert_cmpint(value_of("/a/count"), ==, 139);
    // The second request is the first edit.
    receive("{'type': <'edited'>, 'request': <int64 2>}");
    g_autofree char *last = next_edit();
    g_assert_nonnull(strstr(last, "'edit': <int64 35>"));
    g_assert_nonnull(strstr(last, "'set': <{'count': <int64 139>}>"));
    g_assert_nonnull(strstr(last, "'replacing': <{'count': <int64 131>}>"));
    end();
}

static void test_edits_without_an_agent_do_not_pile_up(void) {
    begin();
    state_disconnect(&state);
    for (int i = 1; i < 1000; i++) {
        edit("/a/count", i + 1, 2 * i);
        edit("/a/name", i + 1, 2 * i + 1);
    }
    g_assert_cmpuint(state.edits.length, ==, 2);
    state.is_greeted = TRUE;
    g_autofree char *request = next_edit();
    g_assert_nonnull(strstr(request, "'edit': <int64 1>"));
    g_assert_nonnull(strstr(request, "'set': <{'count': <int64 1000>}>"));
    g_assert_nonnull(strstr(request, "'replacing': <{'count': <int64 1>}>"));
    g_assert_nonnull(strstr(request, "'time': <int64 1998000000000>"));
    end();
}

static void test_a_second_welcome_changes_no_layers(void) {
    static const char welcome[] = "{'type': <'welcome'>, 'request': <int64 1>, 'directory': <'/d'>,"
        " 'system': <[<'/x'>, <'/y'>, <'/z'>]>}";
    begin();
    const char *key;
    domain_of("/c/count", &key);
    guint request = subscribe();
    receive("{'type': <'widened'>, 'request': <int64 %u>}", request);
    g_assert_cmpint(receive("%s", welcome), ==, OUTCOME_HANDLED);
    g_assert_cmpstr(state.systems[0], ==, "/etc/xdg");
    // Even if it comes in the middle of values, they have places.
    state.is_greeted = FALSE;
    g_assert_cmpint(receive("%s", welcome), ==, OUTCOME_WELCOME);
    state.is_greeted = TRUE;
    receive("{'type': <'initial'>, 'request': <int64 1>, 'domain': <'c'>, 'user': <'/z'>,"
        " 'values': <{'count': <int64 1>}>}");
    receive("{'type': <'change'>, 'request': <int64 1>, 'domain': <'c'>, 'user': <'/z'>, 'changes': <[<{'key':"
        " <'count'>, 'new': <int64 7>}>]>}");
    end();
}

static void test_edits_of_domains_that_are_not_followed(void) {
    begin();
    g_autofree char *nothing = next_edit();
    receive("{'type': <'unknown'>, 'request': <int64 1>, 'domain': <'a'>}");
    edit("/a/count", 2, 1);
    g_autofree char *request = next_edit();
    guint changed = changes->len;
    // The event of the edit is ignored, since a snapshot will come. The value must not go back in the meantime.
    receive("{'type': <'edited'>, 'request': <int64 2>}");
    g_assert_cmpint(value_of("/a/count"), ==, 2);
    guint widen = subscribe();
    receive("{'type': <'widened'>, 'request': <int64 %u>}", widen);
    receive("{'type': <'initial'>, 'request': <int64 1>, 'domain': <'a'>, 'values': <{'count': <int64 2>}>}");
    receive("{'type': <'bookmark'>, 'request': <int64 1>}");
    g_assert_cmpint(value_of("/a/count"), ==, 2);
    g_assert_cmpuint(changes->len, ==, changed);
    end();
}

static void test_a_gap_starts_over_with_all_domains(void) {
    begin();
    receive("{'type': <'gap'>, 'request': <int64 1>, 'from': <'1:1'>, 'to': <'1:9'>}");
    guint widen = subscribe();
    g_assert_cmpuint(widen, ==, 2);
    // These are of the gap, before the new values.
    receive("{'type': <'initial'>, 'request': <int64 1>, 'domain': <'a'>, 'values': <{'count': <int64 8>}>}");
    receive("{'type': <'bookmark'>, 'request': <int64 1>}");
    g_assert_cmpint(value_of("/a/count"), ==, 1);
    receive("{'type': <'widened'>, 'request': <int64 2>}");
    receive("{'type': <'initial'>, 'request': <int64 1>, 'domain': <'b'>, 'values': <{'count': <int64 9>}>}");
    receive("{'type': <'bookmark'>, 'request': <int64 1>}");
    g_assert_cmpint(value_of("/a/count"), ==, -1);
    g_assert_cmpint(value_of("/b/count"), ==, 9);
    g_assert_cmpuint(changes->len, ==, 2);
    end();
}

static void test_an_answer_in_another_order_ends_its_own_edit(void) {
    begin();
    edit("/a/count", 2, 1);
    g_autofree char *first = next_edit();
    edit("/b/count", 3, 1);
    g_autofree char *second = next_edit();
    receive("{'type': <'failure'>, 'request': <int64 3>, 'code': <'readOnly'>, 'message': <'No.'>}");
    g_assert_cmpint(value_of("/a/count"), ==, 2);
    g_assert_cmpint(value_of("/b/count"), ==, -1);
    g_assert_cmpstr(problems->pdata[0], ==, "count in b can't be set: No.");
    edit("/b/count", 4, 2);
    g_autofree char *third = next_edit();
    g_assert_nonnull(strstr(third, "'edit': <int64 3>"));
    end();
}

static void test_a_refused_domain_is_read_otherwise(void) {
    begin();
    const char *key;
    Domain *domain = domain_of("/c/count", &key);
    guint request = subscribe();
    receive("{'type': <'failure'>, 'request': <int64 %u>, 'code': <'agentRefused'>, 'message': <'Full.'>}", request);
    g_assert_cmpint(domain->status, ==, DOMAIN_REFUSED);
    g_assert_cmpint(value_of("/a/count"), ==, 1);
    g_assert_cmpuint(subscribe(), ==, 0);
    // The next agent may follow it.
    state_disconnect(&state);
    g_assert_cmpuint(subscribe(), !=, 0);
    end();
}

static void test_changes_of_others_are_hidden_until_an_edit_is_answered(void) {
    begin();
    edit("/a/count", 2, 1);
    g_autofree char *request = next_edit();
    guint changed = changes->len;
    receive("{'type': <'change'>, 'request': <int64 1>, 'domain': <'a'>, 'changes': <[<{'key': <'count'>,"
        " 'new': <int64 7>}>]>}");
    receive("{'type': <'change'>, 'request': <int64 1>, 'domain': <'a'>, 'changes': <[<{'key': <'count'>,"
        " 'new': <int64 2>}>]>}");
    receive("{'type': <'edited'>, 'request': <int64 2>}");
    g_assert_cmpuint(changes->len, ==, changed);
    g_assert_cmpint(value_of("/a/count"), ==, 2);
    // Another host's value isn't this one's.
    receive("{'type': <'change'>, 'request': <int64 1>, 'domain': <'a'>, 'host': <'OTHER'>, 'changes': <[<{'key':"
        " <'count'>, 'new': <int64 8>}>]>}");
    g_assert_cmpuint(changes->len, ==, changed);
    end();
}

int main(void) {
    test_an_edit_has_its_time_and_what_it_replaces_also_when_sent_again();
    test_only_edits_of_a_key_with_many_unanswered_ones_wait();
    test_edits_without_an_agent_do_not_pile_up();
    test_a_second_welcome_changes_no_layers();
    test_edits_of_domains_that_are_not_followed();
    test_a_gap_starts_over_with_all_domains();
    test_an_answer_in_another_order_ends_its_own_edit();
    test_a_refused_domain_is_read_otherwise();
    test_changes_of_others_are_hidden_until_an_edit_is_answered();
    puts("9 orders of messages");
    return 0;
}
