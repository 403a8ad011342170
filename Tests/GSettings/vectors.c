// Checks the mapping and the codecs against the shared vectors: vectors FILE. Prints the number of checks.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "mapping.h"
#include "plist.h"

static int failures, checks;

static void check(gboolean is_right, int line, const char *what, const char *found) {
    checks++;
    if (is_right) return;
    failures++;
    fprintf(stderr, "line %d: %s: %s\n", line, what, found ? found : "nothing");
}

static GVariant *parse_plist(const char *xml, int line) {
    g_autofree char *text = g_strdup_printf("<plist version=\"1.0\">%s</plist>", xml), *problem = NULL;
    GVariant *plist = files_decode_xml(text, strlen(text), &problem);
    if (!plist) {
        fprintf(stderr, "line %d: %s\n", line, problem);
        exit(1);
    }
    return plist;
}

static GVariant *parse_value(const char *text, const char *type, int line) {
    g_autoptr(GError) error = NULL;
    GVariant *value = g_variant_parse(G_VARIANT_TYPE(type), text, NULL, NULL, &error);
    if (!value) {
        fprintf(stderr, "line %d: %s\n", line, error->message);
        exit(1);
    }
    return value;
}

static char *print(GVariant *value) {
    return value ? g_variant_print(value, TRUE) : NULL;
}

static void check_value(char **fields, int line) {
    const char *type = fields[0];
    g_autoptr(GVariant) value = parse_value(fields[1], type, line), expected = parse_plist(fields[2], line);
    g_autoptr(GVariant) back = parse_value(fields[3] ? fields[3] : fields[1], type, line);
    g_autoptr(GVariant) plist = mapping_to_plist(value);
    g_autofree char *plist_text = print(plist), *back_text = print(back), *expected_text = print(expected);
    // As text, since NaN isn't equal to itself.
    check(g_strcmp0(plist_text, expected_text) == 0, line, "written as", plist_text);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    check(plist && plist_encode(plist, bytes), line, "can't be encoded", plist_text);
    g_autoptr(GVariant) decoded = plist_decode(bytes->data, bytes->len);
    g_autofree char *decoded_text = print(decoded);
    check(g_strcmp0(decoded_text, plist_text) == 0, line, "decoded as", decoded_text);
    g_autoptr(GVariant) read = decoded ? mapping_from_plist(decoded, G_VARIANT_TYPE(type)) : NULL;
    g_autofree char *read_text = print(read);
    check(g_strcmp0(read_text, back_text) == 0, line, "read as", read_text);
    check(read && !g_variant_is_floating(read), line, "floating", read_text);
}

static void check_reading(char **fields, int line) {
    g_autoptr(GVariant) plist = parse_plist(fields[1], line);
    g_autoptr(GVariant) read = mapping_from_plist(plist, G_VARIANT_TYPE(fields[0]));
    g_autofree char *text = print(read);
    if (g_str_equal(fields[2], "-")) {
        check(!read, line, "read as", text);
    } else {
        g_autoptr(GVariant) expected = parse_value(fields[2], fields[0], line);
        check(read && g_variant_equal(read, expected), line, "read as", text);
    }
}

static void check_path(char **fields, int line) {
    const char *key = NULL;
    g_autofree char *domain = mapping_domain(fields[0], &key);
    check(g_strcmp0(domain, fields[1]) == 0, line, "domain", domain);
    check(g_strcmp0(key, fields[2]) == 0, line, "key", key);
}

// Long paths, which the file would only make hard to read.
static void check_long_paths(void) {
    g_autofree char *part = g_strnfill(150, 'a'), *first = g_strdup_printf("/%s/%s/b/key", part, part);
    g_autofree char *second = g_strdup_printf("/%s/%s/c/key", part, part);
    const char *key = NULL;
    g_autofree char *one = mapping_domain(first, &key), *other = mapping_domain(second, &key);
    check(strlen(one) == 200 && strlen(other) == 200 && strcmp(one, other) != 0, 0, "a long path", one);
    check(strstr(one, "%-") != NULL, 0, "a long path", one);
    GString *wide = g_string_new("/");
    for (int i = 0; i < 90; i++) g_string_append(wide, "ü€");
    g_string_append(wide, "/key");
    g_autofree char *domain = mapping_domain(wide->str, &key);
    check(g_utf8_validate(domain, -1, NULL) && strlen(domain) <= 200, 0, "a long path of many bytes", domain);
    g_string_free(wide, TRUE);
    check(!mapping_domain("/a\xff/key", &key) && !mapping_domain("key", &key), 0, "a name that isn't a path", NULL);
    check(!mapping_domain("//key", &key) && !mapping_domain("/a//key", &key), 0, "a path with an empty part", NULL);
}

// Values nested ever deeper are written until there are too many levels, and are always read as they were written.
static void check_levels(void) {
    GVariant *value = g_variant_ref_sink(g_variant_new_uint32(5));
    int written = 0;
    for (int i = 0; i < 50; i++) {
        GVariant *boxed = g_variant_ref_sink(g_variant_new_variant(value));
        g_variant_unref(value);
        value = boxed;
        g_autoptr(GVariant) plist = mapping_to_plist(value);
        if (!plist) continue;
        written++;
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        plist_encode(plist, bytes);
        g_autoptr(GVariant) decoded = plist_decode(bytes->data, bytes->len);
        g_autoptr(GVariant) read = mapping_from_plist(decoded, G_VARIANT_TYPE_VARIANT);
        check(read && g_variant_equal(read, value), i, "nested", NULL);
    }
    g_variant_unref(value);
    check(written >= 15 && written < 50, written, "levels", NULL);
}

static void put(GByteArray *out, guint64 number, guint size) {
    for (guint i = 0; i < size; i++) g_byte_array_append(out, &(guint8){(guint8)(number >> 8 * (size - 1 - i))}, 1);
}

// Returns a document of arrays, the outermost one first, each with `count` references to the next one. Those of the
// innermost one are to a string of a size.
static GByteArray *shared_document(guint levels, guint count, guint size) {
    GByteArray *out = g_byte_array_new();
    guint offsets[8];
    g_byte_array_append(out, (const guint8 *)"bplist00", 8);
    for (guint level = 0; level < levels; level++) {
        offsets[level] = out->len;
        put(out, 0xAF12, 2);
        put(out, count, 4);
        for (guint i = 0; i < count; i++) put(out, level + 1, 1);
    }
    offsets[levels] = out->len;
    put(out, 0x5F12, 2);
    put(out, size, 4);
    for (guint i = 0; i < size; i++) put(out, 'a', 1);
    guint table = out->len;
    for (guint level = 0; level <= levels; level++) put(out, offsets[level], 4);
    put(out, 0x0401, 8);
    put(out, levels + 1, 8);
    put(out, 0, 8);
    put(out, table, 8);
    return out;
}

static void check_sharing(guint levels, guint count, guint size, gboolean is_message, gboolean is_file) {
    g_autoptr(GByteArray) bytes = shared_document(levels, count, size);
    g_autoptr(GVariant) message = plist_decode(bytes->data, bytes->len);
    g_autoptr(GVariant) file = plist_decode_file(bytes->data, bytes->len);
    check((message != NULL) == is_message, (int)size, "a message that shares values", NULL);
    check((file != NULL) == is_file, (int)size, "a file that shares values", NULL);
}

int main(int argc, char **argv) {
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    // A program's locale may have a decimal comma.
    setlocale(LC_ALL, "");
    if (argc != 2 || !g_file_get_contents(argv[1], &text, NULL, &error)) {
        fprintf(stderr, "%s\n", error ? error->message : "usage: vectors FILE");
        return 64;
    }
    void (*check_line)(char **, int) = NULL;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i]; i++) {
        if (lines[i][0] == '#' || lines[i][0] == 0) continue;
        if (g_str_equal(lines[i], "[values]")) check_line = check_value;
        else if (g_str_equal(lines[i], "[readings]")) check_line = check_reading;
        else if (g_str_equal(lines[i], "[paths]")) check_line = check_path;
        else {
            g_auto(GStrv) fields = g_strsplit(lines[i], "|", -1);
            for (int field = 0; fields[field]; field++) g_strstrip(fields[field]);
            check_line(fields, i + 1);
        }
    }
    check_long_paths();
    check_levels();
    check_sharing(1, 100, 1000, TRUE, TRUE);
    // 64 for each byte are too many for a message, but a file may have 100,000 in any case.
    check_sharing(3, 40, 1, FALSE, TRUE);
    check_sharing(4, 40, 1, FALSE, FALSE);
    // 250 GB of text.
    check_sharing(1, 500000, 500000, FALSE, FALSE);
    printf("%d checks\n", checks);
    return failures > 0;
}
