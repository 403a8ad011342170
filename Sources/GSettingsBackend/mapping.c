#include "mapping.h"

#include <string.h>

#include "location.h"
#include "plist.h"

// A type's name as the key of a dictionary says which type a `v` has, if its property list alone doesn't.
#define TYPE_MARK '@'

#define DOMAIN_SIZE 200

// Half of what a message may have.
#define VALUE_SIZE (32u << 20)

// MARK: Paths

char *mapping_domain(const char *name, const char **key) {
    const char *slash = strrchr(name, '/');
    // An empty part would make two paths one domain.
    if (name[0] != '/' || strstr(name, "//") || !g_utf8_validate(name, -1, NULL)) return NULL;
    *key = slash + 1;
    gsize size = slash > name ? (gsize)(slash - name - 1) : 0;
    const char *path = name + 1;
    GString *domain = g_string_sized_new(size + 16);
    for (gsize i = 0; i < size; i++) {
        // The separator becomes a period. A name can't begin with one; wildcards would have to be escaped in requests.
        gboolean is_escaped = path[i] == '/' ? i == 0 : strchr(".%*?\\", path[i]) != NULL;
        if (is_escaped) {
            g_string_append_printf(domain, "%%%02X", (guint8)path[i]);
        } else {
            g_string_append_c(domain, path[i] == '/' ? '.' : path[i]);
        }
    }
    // No path stands for the domain of all programs.
    static const char *const global[] = {"NSGlobalDomain", "Apple Global Domain", "kCFPreferencesAnyApplication", NULL};
    if (g_strv_contains(global, domain->str)) {
        g_autofree char *first = g_strdup_printf("%%%02X", (guint8)domain->str[0]);
        g_string_erase(domain, 0, 1);
        g_string_prepend(domain, first);
    }
    if (domain->len == 0) g_string_assign(domain, "%");
    if (domain->len > DOMAIN_SIZE) {
        g_autofree char *end = g_strdup_printf("%%-%016" G_GINT64_MODIFIER "x", location_hash(path, size));
        gsize count = DOMAIN_SIZE - strlen(end);
        // Don't split a character.
        while ((domain->str[count] & 0xC0) == 0x80) count--;
        g_string_truncate(domain, count);
        g_string_append(domain, end);
    }
    return g_string_free(domain, FALSE);
}

// MARK: Values to property lists

static GVariant *to_plist(GVariant *value, guint levels);

static GVariant *array_of(GVariant *const *items, gsize count) {
    return g_variant_new_array(G_VARIANT_TYPE_VARIANT, items, count);
}

// Returns the text of a dictionary's key; keys that aren't strings are written as numbers and Booleans are.
static char *text_of_key(GVariant *key) {
    switch (g_variant_classify(key)) {
    case G_VARIANT_CLASS_STRING:
    case G_VARIANT_CLASS_OBJECT_PATH:
    case G_VARIANT_CLASS_SIGNATURE:
        return g_variant_dup_string(key, NULL);
    case G_VARIANT_CLASS_BYTE:
        return g_strdup_printf("%u", g_variant_get_byte(key));
    default:
        return g_variant_print(key, FALSE);
    }
}

static GVariant *boxed(GVariant *plist) {
    return g_variant_new_variant(plist);
}

// Returns the property list of a GVariant's dictionary: a dictionary, sorted, in which the last of several equal keys
// wins.
static GVariant *dictionary_to_plist(GVariant *value, guint levels) {
    GPtrArray *entries = g_ptr_array_new();
    for (gsize i = 0; i < g_variant_n_children(value); i++) {
        g_autoptr(GVariant) entry = g_variant_get_child_value(value, i);
        g_autoptr(GVariant) key = g_variant_get_child_value(entry, 0);
        g_autoptr(GVariant) child = g_variant_get_child_value(entry, 1);
        g_ptr_array_add(entries, g_variant_new_dict_entry(
            g_variant_new_take_string(text_of_key(key)), boxed(to_plist(child, levels))));
    }
    return plist_dictionary(entries);
}

static gboolean is_string(GVariant *plist) {
    return g_variant_is_of_type(plist, G_VARIANT_TYPE_STRING);
}

static gboolean is_array(GVariant *plist) {
    return g_variant_is_of_type(plist, G_VARIANT_TYPE("av"));
}

static gboolean is_dictionary(GVariant *plist) {
    return g_variant_is_of_type(plist, G_VARIANT_TYPE_VARDICT);
}

static gboolean has_only_strings(GVariant *array) {
    for (gsize i = 0; i < g_variant_n_children(array); i++) {
        g_autoptr(GVariant) item = plist_item(array, i);
        if (!is_string(item)) return FALSE;
    }
    return TRUE;
}

// Returns the type that a dictionary with one key names, and its value; NULL if it names none.
static GVariantType *marked_type(GVariant *dictionary, GVariant **value) {
    if (g_variant_n_children(dictionary) != 1) return NULL;
    g_autoptr(GVariant) entry = g_variant_get_child_value(dictionary, 0);
    g_autoptr(GVariant) key = g_variant_get_child_value(entry, 0);
    const char *text = g_variant_get_string(key, NULL);
    if (text[0] != TYPE_MARK || !g_variant_type_string_is_valid(text + 1)) return NULL;
    GVariantType *type = g_variant_type_new(text + 1);
    if (!g_variant_type_is_definite(type)) {
        g_variant_type_free(type);
        return NULL;
    }
    g_autoptr(GVariant) box = g_variant_get_child_value(entry, 1);
    *value = g_variant_get_variant(box);
    return type;
}

// Returns the type that a `v` has if its property list doesn't name one; NULL if it can't be told.
static const GVariantType *type_of(GVariant *plist) {
    switch (g_variant_get_type_string(plist)[0]) {
    case 'x': {
        gint64 number = g_variant_get_int64(plist);
        return number < G_MININT32 || number > G_MAXINT32 ? G_VARIANT_TYPE_INT64 : G_VARIANT_TYPE_INT32;
    }
    case '(':
        return g_variant_n_children(plist) == 2 ? G_VARIANT_TYPE_DOUBLE : NULL;
    case 'a':
        if (!is_array(plist)) break;
        return g_variant_n_children(plist) > 0 && has_only_strings(plist) ? G_VARIANT_TYPE_STRING_ARRAY
            : G_VARIANT_TYPE("av");
    default:
        break;
    }
    return g_variant_get_type(plist);
}

static GVariant *variant_to_plist(GVariant *inner, guint levels) {
    GVariant *plist = to_plist(inner, levels), *value = NULL;
    GVariantType *marked = is_dictionary(plist) ? marked_type(plist, &value) : NULL;
    g_clear_pointer(&value, g_variant_unref);
    const GVariantType *type = type_of(plist);
    if (!marked && type && g_variant_is_of_type(inner, type)) return plist;
    g_clear_pointer(&marked, g_variant_type_free);
    g_autofree char *key = g_strdup_printf("%c%s", TYPE_MARK, g_variant_get_type_string(inner));
    GPtrArray *entries = g_ptr_array_new();
    g_ptr_array_add(entries, g_variant_new_dict_entry(g_variant_new_string(key), boxed(plist)));
    return plist_dictionary(entries);
}

// Returns whether the property list of a value of the type may be an array, also that of nothing.
static gboolean may_be_array(const GVariantType *type) {
    char first = g_variant_type_peek_string(type)[0];
    return first == '(' || first == '{' || first == 'm' || first == 'v'
        || (first == 'a' && !g_variant_type_equal(type, G_VARIANT_TYPE_BYTESTRING)
            && !g_variant_type_is_subtype_of(type, G_VARIANT_TYPE_DICTIONARY));
}

static GVariant *maybe_to_plist(GVariant *value, guint levels) {
    g_autoptr(GVariant) inner = g_variant_get_maybe(value);
    if (!inner) return array_of(NULL, 0);
    GVariant *plist = to_plist(inner, levels);
    if (!may_be_array(g_variant_get_type(inner))) return plist;
    GVariant *box = boxed(plist);
    return array_of(&box, 1);
}

// Returns a floating property list, or `()` within it for what is nested too deeply.
static GVariant *to_plist(GVariant *value, guint levels) {
    if (levels == 0) return g_variant_new_tuple(NULL, 0);
    switch (g_variant_classify(value)) {
    case G_VARIANT_CLASS_BOOLEAN:
        return g_variant_new_boolean(g_variant_get_boolean(value));
    case G_VARIANT_CLASS_BYTE:
        return g_variant_new_int64(g_variant_get_byte(value));
    case G_VARIANT_CLASS_INT16:
        return g_variant_new_int64(g_variant_get_int16(value));
    case G_VARIANT_CLASS_UINT16:
        return g_variant_new_int64(g_variant_get_uint16(value));
    case G_VARIANT_CLASS_INT32:
        return g_variant_new_int64(g_variant_get_int32(value));
    case G_VARIANT_CLASS_HANDLE:
        return g_variant_new_int64(g_variant_get_handle(value));
    case G_VARIANT_CLASS_UINT32:
        return g_variant_new_int64(g_variant_get_uint32(value));
    case G_VARIANT_CLASS_INT64:
        return g_variant_new_int64(g_variant_get_int64(value));
    case G_VARIANT_CLASS_UINT64: {
        guint64 number = g_variant_get_uint64(value);
        return number > G_MAXINT64 ? g_variant_new_uint64(number) : g_variant_new_int64((gint64)number);
    }
    case G_VARIANT_CLASS_DOUBLE:
        return g_variant_new_double(g_variant_get_double(value));
    case G_VARIANT_CLASS_STRING:
    case G_VARIANT_CLASS_OBJECT_PATH:
    case G_VARIANT_CLASS_SIGNATURE:
        return g_variant_new_string(g_variant_get_string(value, NULL));
    case G_VARIANT_CLASS_VARIANT: {
        g_autoptr(GVariant) inner = g_variant_get_variant(value);
        return variant_to_plist(inner, levels - 1);
    }
    case G_VARIANT_CLASS_MAYBE:
        return maybe_to_plist(value, levels - 1);
    case G_VARIANT_CLASS_ARRAY:
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_BYTESTRING)) {
            gsize size = 0;
            const guint8 *bytes = g_variant_get_fixed_array(value, &size, 1);
            return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, size, 1);
        }
        if (g_variant_is_of_type(value, G_VARIANT_TYPE_DICTIONARY)) return dictionary_to_plist(value, levels - 1);
        break;
    default:
        break;
    }
    gsize count = g_variant_n_children(value);
    g_autofree GVariant **items = g_new(GVariant *, count);
    for (gsize i = 0; i < count; i++) {
        g_autoptr(GVariant) child = g_variant_get_child_value(value, i);
        items[i] = boxed(to_plist(child, levels - 1));
    }
    return array_of(items, count);
}

GVariant *mapping_to_plist(GVariant *value) {
    // A level of a GVariant is at most two of the property list.
    g_autoptr(GVariant) plist = g_variant_ref_sink(to_plist(value, PLIST_LEVELS / 2));
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    return plist_encode(plist, bytes) && bytes->len <= VALUE_SIZE ? g_steal_pointer(&plist) : NULL;
}

// MARK: Property lists to values

static GVariant *from_plist(GVariant *plist, const GVariantType *type);

// Reads a whole decimal number; returns FALSE if the text is anything else.
static gboolean parse_integer(const char *text, gboolean *is_negative, guint64 *magnitude) {
    *is_negative = text[0] == '-';
    if (text[0] == '-' || text[0] == '+') text++;
    return g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, magnitude, NULL);
}

// Returns whether a property list is a whole number, perhaps as a real or as text.
static gboolean get_integer(GVariant *plist, gboolean *is_negative, guint64 *magnitude) {
    double real;
    switch (g_variant_get_type_string(plist)[0]) {
    case 'x': {
        gint64 number = g_variant_get_int64(plist);
        *is_negative = number < 0;
        *magnitude = number < 0 ? -(guint64)number : (guint64)number;
        return TRUE;
    }
    case 't':
        *is_negative = FALSE;
        *magnitude = g_variant_get_uint64(plist);
        return TRUE;
    case 's':
        return parse_integer(g_variant_get_string(plist, NULL), is_negative, magnitude);
    case 'd':
        real = g_variant_get_double(plist);
        *is_negative = real < 0;
        // 2^64 is the first that is too large, and comparisons with NaN are false.
        if (!((real < 0 ? -real : real) < 18446744073709551616.0)) return FALSE;
        *magnitude = (guint64)(real < 0 ? -real : real);
        return (double)*magnitude == (real < 0 ? -real : real);
    default:
        return FALSE;
    }
}

static gboolean get_real(GVariant *plist, double *number) {
    switch (g_variant_get_type_string(plist)[0]) {
    case 'd':
        *number = g_variant_get_double(plist);
        return TRUE;
    case 'x':
        *number = (double)g_variant_get_int64(plist);
        return TRUE;
    case 't':
        *number = (double)g_variant_get_uint64(plist);
        return TRUE;
    case 's':
        return plist_parse_real(g_variant_get_string(plist, NULL), number);
    case '(': {
        guint8 marker = 0;
        if (g_variant_n_children(plist) == 2) g_variant_get(plist, "(yd)", &marker, number);
        return marker == PLIST_REAL_32;
    }
    default:
        return FALSE;
    }
}

static GVariant *boolean_from_plist(GVariant *plist) {
    static const char *const yes[] = {"true", "yes", "1", NULL}, *const no[] = {"false", "no", "0", NULL};
    g_autofree char *text = NULL;
    switch (g_variant_get_type_string(plist)[0]) {
    case 'b':
        return g_variant_new_boolean(g_variant_get_boolean(plist));
    case 's':
        text = g_ascii_strdown(g_variant_get_string(plist, NULL), -1);
        break;
    case 'x':
        text = g_variant_print(plist, FALSE);
        break;
    default:
        return NULL;
    }
    if (g_strv_contains(yes, text)) return g_variant_new_boolean(TRUE);
    return g_strv_contains(no, text) ? g_variant_new_boolean(FALSE) : NULL;
}

static GVariant *integer_from_plist(GVariant *plist, char type) {
    static const struct {
        char type;
        guint64 least, most;
    } ranges[] = {
        {'y', 0, G_MAXUINT8}, {'n', G_MAXINT16 + 1ull, G_MAXINT16}, {'q', 0, G_MAXUINT16},
        {'i', G_MAXINT32 + 1ull, G_MAXINT32}, {'h', G_MAXINT32 + 1ull, G_MAXINT32}, {'u', 0, G_MAXUINT32},
        {'x', G_MAXINT64 + 1ull, G_MAXINT64}, {'t', 0, G_MAXUINT64},
    };
    gboolean is_negative;
    guint64 magnitude;
    if (!get_integer(plist, &is_negative, &magnitude)) return NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(ranges); i++) {
        if (ranges[i].type == type && magnitude > (is_negative ? ranges[i].least : ranges[i].most)) return NULL;
    }
    guint64 bits = is_negative ? -magnitude : magnitude;
    const char format[] = {type, 0};
    // As arguments, all numbers of at most 32 bits have one size.
    return type == 'x' || type == 't' ? g_variant_new(format, bits) : g_variant_new(format, (gint32)bits);
}

static GVariant *string_from_plist(GVariant *plist, char type) {
    if (!is_string(plist)) return NULL;
    const char *text = g_variant_get_string(plist, NULL);
    if (type == 's') return g_variant_new_string(text);
    if (type == 'o') return g_variant_is_object_path(text) ? g_variant_new_object_path(text) : NULL;
    return g_variant_is_signature(text) ? g_variant_new_signature(text) : NULL;
}

// Adds a value to those of a container, and returns whether there is one.
static gboolean add(GPtrArray *items, GVariant *value) {
    if (value) g_ptr_array_add(items, value);
    return value != NULL;
}

static GVariant *entry_from_plist(GVariant *key, GVariant *value, const GVariantType *type) {
    g_autoptr(GVariant) read_key = from_plist(key, g_variant_type_key(type));
    g_autoptr(GVariant) read_value = from_plist(value, g_variant_type_value(type));
    return read_key && read_value ? g_variant_take_ref(g_variant_new_dict_entry(read_key, read_value)) : NULL;
}

static GVariant *dictionary_from_plist(GVariant *plist, const GVariantType *type) {
    if (!is_dictionary(plist)) return NULL;
    g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    for (gsize i = 0; i < g_variant_n_children(plist); i++) {
        g_autoptr(GVariant) entry = g_variant_get_child_value(plist, i);
        g_autoptr(GVariant) key = g_variant_get_child_value(entry, 0), box = g_variant_get_child_value(entry, 1);
        g_autoptr(GVariant) value = g_variant_get_variant(box);
        if (!add(entries, entry_from_plist(key, value, type))) return NULL;
    }
    return g_variant_new_array(type, (GVariant *const *)entries->pdata, entries->len);
}

static GVariant *array_from_plist(GVariant *plist, const GVariantType *element) {
    if (g_variant_type_is_dict_entry(element)) return dictionary_from_plist(plist, element);
    if (g_variant_type_equal(element, G_VARIANT_TYPE_BYTE)) {
        if (is_string(plist)) return g_variant_new_bytestring(g_variant_get_string(plist, NULL));
        if (g_variant_is_of_type(plist, G_VARIANT_TYPE_BYTESTRING)) {
            gsize size = 0;
            const guint8 *bytes = g_variant_get_fixed_array(plist, &size, 1);
            return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, size, 1);
        }
    }
    if (!is_array(plist)) return NULL;
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    for (gsize i = 0; i < g_variant_n_children(plist); i++) {
        g_autoptr(GVariant) item = plist_item(plist, i);
        if (!add(items, from_plist(item, element))) return NULL;
    }
    return g_variant_new_array(element, (GVariant *const *)items->pdata, items->len);
}

// Reads a tuple or a single dictionary entry, whose parts have types of their own.
static GVariant *tuple_from_plist(GVariant *plist, const GVariantType *type) {
    if (!is_array(plist) || g_variant_n_children(plist) != g_variant_type_n_items(type)) return NULL;
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    const GVariantType *part = g_variant_type_first(type);
    for (gsize i = 0; i < g_variant_n_children(plist); i++, part = g_variant_type_next(part)) {
        g_autoptr(GVariant) item = plist_item(plist, i);
        if (!add(items, from_plist(item, part))) return NULL;
    }
    if (g_variant_type_is_dict_entry(type)) return g_variant_new_dict_entry(items->pdata[0], items->pdata[1]);
    return g_variant_new_tuple((GVariant *const *)items->pdata, items->len);
}

static GVariant *maybe_from_plist(GVariant *plist, const GVariantType *element) {
    g_autoptr(GVariant) inner = NULL;
    if (is_array(plist)) {
        gsize count = g_variant_n_children(plist);
        if (count == 0) return g_variant_new_maybe(element, NULL);
        if (count != 1 || !may_be_array(element)) return NULL;
        g_autoptr(GVariant) item = plist_item(plist, 0);
        inner = from_plist(item, element);
    } else {
        inner = from_plist(plist, element);
    }
    return inner ? g_variant_new_maybe(element, inner) : NULL;
}

static GVariant *variant_from_plist(GVariant *plist) {
    g_autoptr(GVariant) value = NULL;
    GVariantType *marked = is_dictionary(plist) ? marked_type(plist, &value) : NULL;
    const GVariantType *type = marked ? marked : type_of(plist);
    g_autoptr(GVariant) inner = type ? from_plist(marked ? value : plist, type) : NULL;
    g_clear_pointer(&marked, g_variant_type_free);
    return inner ? g_variant_new_variant(inner) : NULL;
}

static GVariant *container_from_plist(GVariant *plist, const GVariantType *type) {
    GVariant *value = g_variant_type_is_maybe(type) ? maybe_from_plist(plist, g_variant_type_element(type))
        : g_variant_type_is_array(type) ? array_from_plist(plist, g_variant_type_element(type))
        : tuple_from_plist(plist, type);
    if (value || !is_string(plist)) return value;
    // Text as `gsettings` and `dconf` print it.
    return g_variant_parse(type, g_variant_get_string(plist, NULL), NULL, NULL, NULL);
}

static GVariant *scalar_from_plist(GVariant *plist, char type) {
    double number;
    switch (type) {
    case 'b':
        return boolean_from_plist(plist);
    case 'd':
        return get_real(plist, &number) ? g_variant_new_double(number) : NULL;
    case 's':
    case 'o':
    case 'g':
        return string_from_plist(plist, type);
    case 'v':
        return variant_from_plist(plist);
    default:
        return integer_from_plist(plist, type);
    }
}

static GVariant *from_plist(GVariant *plist, const GVariantType *type) {
    GVariant *value = g_variant_type_is_basic(type) || g_variant_type_is_variant(type)
        ? scalar_from_plist(plist, g_variant_type_peek_string(type)[0])
        : container_from_plist(plist, type);
    // A parsed value isn't floating.
    return value ? g_variant_take_ref(value) : NULL;
}

GVariant *mapping_from_plist(GVariant *plist, const GVariantType *type) {
    return from_plist(plist, type);
}
