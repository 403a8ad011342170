#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plist.h"

#define MAXIMUM_SIZE (64 << 20)
// In microseconds.
#define RETRY_DELAY 20000
// 2001-01-01 00:00:00 UTC, in seconds since 1970.
#define REFERENCE_DATE 978307200

// MARK: XML

typedef struct {
    gboolean is_dictionary;
    // Values, or dictionary entries.
    GPtrArray *items;
    // The key of the next value in a dictionary.
    char *key;
} Container;

typedef struct {
    // The containers around the current element, the innermost one last.
    GArray *containers;
    // The text in the current element; NULL outside of elements that have text.
    GString *text;
    GVariant *root;
} Reader;

static const char *const containers[] = {"array", "dict", NULL};
static const char *const scalars[] = {"data", "date", "false", "integer", "key", "real", "string", "true", NULL};

static void fail(GError **error, const char *reason) {
    g_set_error_literal(error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT, reason);
}

static Container *innermost(Reader *self) {
    guint count = self->containers->len;
    return count > 0 ? &g_array_index(self->containers, Container, count - 1) : NULL;
}

// Puts a value into the innermost container.
static void add(Reader *self, GVariant *value, GError **error) {
    Container *container = innermost(self);
    if (!container && !self->root) {
        self->root = g_variant_ref_sink(value);
    } else if (container && !container->is_dictionary) {
        g_ptr_array_add(container->items, g_variant_new_variant(value));
    } else if (container && container->key) {
        g_ptr_array_add(container->items, g_variant_new_dict_entry(
            g_variant_new_take_string(g_steal_pointer(&container->key)), g_variant_new_variant(value)));
    } else {
        plist_drop(value);
        fail(error, container ? "A value has no key." : "There are two values at the top level.");
    }
}

static void begin_element(
    GMarkupParseContext *context, const char *name, const char **names, const char **values, gpointer data,
    GError **error
) {
    (void)names, (void)values;
    Reader *self = data;
    const GSList *stack = g_markup_parse_context_get_element_stack(context);
    gboolean is_first = !stack->next, is_plist = g_str_equal(name, "plist");
    if (is_first != is_plist || self->text) {
        fail(error, self->text ? "An element with text contains another one." : "The root isn't <plist>.");
    } else if (g_strv_contains(containers, name)) {
        Container container = {.is_dictionary = name[0] == 'd', .items = g_ptr_array_new_with_free_func(plist_drop)};
        g_array_append_val(self->containers, container);
    } else if (g_strv_contains(scalars, name)) {
        self->text = g_string_new(NULL);
    } else if (!is_plist) {
        fail(error, "There is an unknown element.");
    }
}

static GVariant *integer_of(const char *text) {
    gboolean is_negative = text[0] == '-';
    const char *digits = text + (text[0] == '-' || text[0] == '+' ? 1 : 0);
    gboolean is_hexadecimal = digits[0] == '0' && (digits[1] | 0x20) == 'x';
    if (is_hexadecimal) digits += 2;
    guint64 magnitude = 0;
    g_autoptr(GError) error = NULL;
    gboolean is_number =
        g_ascii_string_to_unsigned(digits, is_hexadecimal ? 16 : 10, 0, G_MAXUINT64, &magnitude, &error);
    if (g_error_matches(error, G_NUMBER_PARSER_ERROR, G_NUMBER_PARSER_ERROR_INVALID)) return NULL;
    if (!is_number || (is_negative && magnitude > G_MAXINT64 + 1ull)) return plist_unrepresentable();
    if (is_negative) return g_variant_new_int64((gint64)-magnitude);
    return magnitude > G_MAXINT64 ? g_variant_new_uint64(magnitude) : g_variant_new_int64((gint64)magnitude);
}

static GVariant *real_of(const char *text) {
    double value;
    return plist_parse_real(text, &value) ? g_variant_new_double(value) : NULL;
}

static GVariant *date_of(const char *text) {
    g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(text, NULL);
    return date ? g_variant_new("(yd)", PLIST_DATE, (double)(g_date_time_to_unix(date) - REFERENCE_DATE)) : NULL;
}

static GVariant *data_of(const char *text) {
    gsize size = 0;
    g_autofree guchar *bytes = g_base64_decode(text, &size);
    return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, size, 1);
}

// Returns the value of an element with text; NULL if the text isn't one.
static GVariant *scalar_of(const char *name, GString *text) {
    if (g_str_equal(name, "string")) return g_variant_new_string(text->str);
    if (g_str_equal(name, "data")) return data_of(text->str);
    const char *stripped = g_strstrip(text->str);
    if (g_str_equal(name, "integer")) return integer_of(stripped);
    if (g_str_equal(name, "real")) return real_of(stripped);
    if (g_str_equal(name, "date")) return date_of(stripped);
    return stripped[0] == 0 ? g_variant_new_boolean(g_str_equal(name, "true")) : NULL;
}

static GVariant *value_of(Container *container, guint levels_above) {
    // Everything below this level is dropped, so the value is unusable.
    if (levels_above >= PLIST_LEVELS) {
        g_ptr_array_unref(container->items);
        return plist_unrepresentable();
    }
    return container->is_dictionary ? plist_dictionary(container->items) : plist_array(container->items);
}

static void end_element(GMarkupParseContext *context, const char *name, gpointer data, GError **error) {
    (void)context;
    Reader *self = data;
    if (g_strv_contains(containers, name)) {
        Container container = *innermost(self);
        g_array_set_size(self->containers, self->containers->len - 1);
        gboolean is_complete = !container.key;
        g_free(container.key);
        add(self, value_of(&container, self->containers->len), error);
        if (!is_complete && !*error) fail(error, "A key has no value.");
    } else if (self->text) {
        g_autoptr(GString) text = g_steal_pointer(&self->text);
        Container *container = innermost(self);
        if (!g_str_equal(name, "key")) {
            GVariant *value = scalar_of(name, text);
            if (value) add(self, value, error);
            else fail(error, "An element's text isn't a value of its type.");
        } else if (container && container->is_dictionary && !container->key) {
            container->key = g_strdup(text->str);
        } else {
            fail(error, "A key isn't in a dictionary, or has no value.");
        }
    }
}

static void add_text(GMarkupParseContext *context, const char *text, gsize size, gpointer data, GError **error) {
    (void)context;
    Reader *self = data;
    if (self->text) {
        g_string_append_len(self->text, text, (gssize)size);
        return;
    }
    for (gsize i = 0; i < size; i++) {
        if (!g_ascii_isspace(text[i])) return fail(error, "There is text between the elements.");
    }
}

GVariant *files_decode_xml(const char *text, gsize size, char **problem) {
    static const GMarkupParser parser = {.start_element = begin_element, .end_element = end_element, .text = add_text};
    Reader reader = {.containers = g_array_new(FALSE, FALSE, sizeof(Container))};
    g_autoptr(GError) error = NULL;
    g_autoptr(GMarkupParseContext) context =
        g_markup_parse_context_new(&parser, G_MARKUP_TREAT_CDATA_AS_TEXT, &reader, NULL);
    // A byte order mark isn't part of the text.
    gsize mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    gboolean is_read = g_markup_parse_context_parse(context, text + mark, (gssize)(size - mark), &error)
        && g_markup_parse_context_end_parse(context, &error);
    for (guint i = 0; i < reader.containers->len; i++) {
        Container *container = &g_array_index(reader.containers, Container, i);
        g_ptr_array_unref(container->items);
        g_free(container->key);
    }
    g_array_unref(reader.containers);
    if (reader.text) g_string_free(reader.text, TRUE);
    if (is_read && reader.root) return reader.root;
    g_clear_pointer(&reader.root, g_variant_unref);
    *problem = g_strdup(error ? error->message : "It has no value.");
    return NULL;
}

// MARK: Files

// Returns the part of a path that others than root may have written; NULL if there is none.
static char *untrusted_part(const char *path, int file, const char *managed) {
    struct stat status;
    gboolean is_known = fstat(file, &status) == 0;
    for (g_autofree char *part = g_strdup(path);;) {
        if (!is_known || status.st_uid != 0 || status.st_mode & 022) return g_steal_pointer(&part);
        if (g_str_equal(part, managed) || g_str_equal(part, "/")) return NULL;
        char *above = g_path_get_dirname(part);
        g_free(part);
        part = above;
        is_known = stat(part, &status) == 0;
    }
}

// Reads the bytes of a file, at most one more than a preferences file may have.
static gboolean read_bytes(int file, GByteArray *bytes) {
    guint8 part[1 << 16];
    for (;;) {
        ssize_t count = read(file, part, sizeof(part));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0;
        g_byte_array_append(bytes, part, (guint)count);
        if (bytes->len > MAXIMUM_SIZE) return TRUE;
    }
}

static GVariant *parse(GByteArray *bytes, char **reason) {
    if (bytes->len > MAXIMUM_SIZE) {
        *reason = g_strdup("It has more than 64 MiB.");
        return NULL;
    }
    if (bytes->len >= 6 && memcmp(bytes->data, "bplist", 6) == 0) {
        GVariant *values = plist_decode_file(bytes->data, bytes->len);
        if (!values) *reason = g_strdup("It is damaged.");
        return values;
    }
    if (bytes->len > 0 && strchr("{(\"/", bytes->data[0])) {
        *reason = g_strdup("It is old-style text, which only the agent can read. Start one with `defaultsd`.");
        return NULL;
    }
    return files_decode_xml((const char *)bytes->data, bytes->len, reason);
}

// Opens a file. A FIFO must not block.
static int open_file(const char *path) {
    return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static FileOutcome read_once(const char *path, const char *managed, GVariant **values, char **problem) {
    int file = open_file(path);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return FILE_ABSENT;
    if (file < 0) {
        *problem = g_strdup_printf("%s can't be opened: %s.", path, g_strerror(errno));
        return FILE_UNUSABLE;
    }
    g_autofree char *untrusted = managed ? untrusted_part(path, file, managed) : NULL, *reason = NULL;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    struct stat status;
    if (untrusted) {
        *problem = g_strdup_printf(
            "%s is ignored, because users other than root may have written %s. Run `chown root %s` and "
            "`chmod go-w %s`.", path, untrusted, untrusted, untrusted);
    } else if (fstat(file, &status) == 0 && !S_ISREG(status.st_mode)) {
        *problem = g_strdup_printf("%s isn't a regular file. Remove it, or move it away.", path);
    } else if (!read_bytes(file, bytes)) {
        *problem = g_strdup_printf("%s can't be read: %s.", path, g_strerror(errno));
    } else if (!(*values = parse(bytes, &reason))) {
        *problem = g_strdup_printf("%s isn't a property list: %s", path, reason);
    } else if (!g_variant_is_of_type(*values, G_VARIANT_TYPE_VARDICT)) {
        g_clear_pointer(values, g_variant_unref);
        *problem = g_strdup_printf("%s has no dictionary at its top level. Repair the file.", path);
    }
    close(file);
    return *problem ? FILE_UNUSABLE : FILE_READ;
}

FileOutcome files_read(const char *path, const char *managed, gint64 *wait, GVariant **values, char **problem) {
    FileOutcome outcome = read_once(path, managed, values, problem);
    for (int i = 0; i < 5 && outcome == FILE_UNUSABLE && wait && *wait >= RETRY_DELAY; i++) {
        g_usleep(RETRY_DELAY);
        *wait -= RETRY_DELAY;
        g_clear_pointer(problem, g_free);
        outcome = read_once(path, managed, values, problem);
    }
    return outcome;
}

gboolean files_may_contain(const char *path, const char *word) {
    int file = open_file(path);
    struct stat status;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    gboolean is_read = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && read_bytes(file, bytes);
    if (file >= 0) close(file);
    gsize size = 0;
    for (guint i = 0; i < bytes->len; i++) {
        if (bytes->data[i]) bytes->data[size++] = bytes->data[i];
    }
    return !is_read || memmem(bytes->data, size, word, strlen(word)) != NULL;
}
