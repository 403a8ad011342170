#include "plist.h"

#include <string.h>

static const char header[] = "bplist00";
#define HEADER_SIZE (sizeof(header) - 1)

typedef struct {
    const guint8 *bytes;
    gsize size, offsets, count;
    guint offset_size, reference_size;
    // The values, and the bytes of text and data, that may still come. What is shared counts once for each reference.
    guint64 values, text;
} Decoder;

static guint64 integer_at(const guint8 *bytes, guint size) {
    guint64 value = 0;
    for (guint i = 0; i < size; i++) value = value << 8 | bytes[i];
    return value;
}

static double real_at(const guint8 *bytes) {
    guint64 bits = integer_at(bytes, 8);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

GVariant *plist_unrepresentable(void) {
    return g_variant_new_tuple(NULL, 0);
}

void plist_drop(gpointer value) {
    g_variant_unref(g_variant_ref_sink(value));
}

gboolean plist_parse_real(const char *text, double *number) {
    char *end = NULL;
    if (text[0] == 0 || g_ascii_isspace(text[0])) return FALSE;
    *number = g_ascii_strtod(text, &end);
    return *end == 0;
}

// Returns whether `count` items of `size` bytes begin at a position of the bytes before the table of offsets.
static gboolean fits(const Decoder *self, gsize at, guint64 count, guint size) {
    return at <= self->offsets && count <= (self->offsets - at) / size;
}

// Returns the same for text or data, and subtracts it from what may come.
static gboolean admits(Decoder *self, gsize at, guint64 count, guint size) {
    if (!fits(self, at, count, size) || count * size > self->text) return FALSE;
    self->text -= count * size;
    return TRUE;
}

static GVariant *integer_of_16(const guint8 *bytes) {
    guint64 high = integer_at(bytes, 8), low = integer_at(bytes + 8, 8);
    if (high == 0) return low > G_MAXINT64 ? g_variant_new_uint64(low) : g_variant_new_int64((gint64)low);
    return high == G_MAXUINT64 && low > G_MAXINT64 ? g_variant_new_int64((gint64)low) : plist_unrepresentable();
}

static GVariant *string_of_utf16(const guint8 *bytes, gsize count) {
    g_autofree gunichar2 *units = g_new(gunichar2, count + 1);
    for (gsize i = 0; i < count; i++) {
        units[i] = (gunichar2)integer_at(bytes + 2 * i, 2);
        if (units[i] == 0) return plist_unrepresentable();
    }
    char *text = g_utf16_to_utf8(units, (glong)count, NULL, NULL, NULL);
    return text ? g_variant_new_take_string(text) : plist_unrepresentable();
}

static GVariant *string_of_utf8(const guint8 *bytes, gsize count) {
    if (!g_utf8_validate_len((const char *)bytes, count, NULL)) return plist_unrepresentable();
    return g_variant_new_take_string(g_strndup((const char *)bytes, count));
}

static int compare_entries(gconstpointer first, gconstpointer second) {
    const char *keys[2];
    GVariant *const entries[2] = {*(GVariant *const *)first, *(GVariant *const *)second};
    for (int i = 0; i < 2; i++) {
        g_autoptr(GVariant) key = g_variant_get_child_value(entries[i], 0);
        // The entry owns the string.
        keys[i] = g_variant_get_string(key, NULL);
    }
    return strcmp(keys[0], keys[1]);
}

GVariant *plist_dictionary(GPtrArray *entries) {
    g_ptr_array_sort(entries, compare_entries);
    guint count = 0;
    for (guint i = 0; i < entries->len; i++) {
        gpointer entry = entries->pdata[i];
        if (count > 0 && compare_entries(&entries->pdata[count - 1], &entry) == 0) {
            plist_drop(entries->pdata[--count]);
        }
        entries->pdata[count++] = entry;
    }
    GVariant *result = g_variant_new_array(G_VARIANT_TYPE("{sv}"), (GVariant *const *)entries->pdata, count);
    g_ptr_array_set_free_func(entries, NULL);
    g_ptr_array_unref(entries);
    return result;
}

GVariant *plist_array(GPtrArray *items) {
    GVariant *result = g_variant_new_array(G_VARIANT_TYPE_VARIANT, (GVariant *const *)items->pdata, items->len);
    g_ptr_array_set_free_func(items, NULL);
    g_ptr_array_unref(items);
    return result;
}

GVariant *plist_item(GVariant *array, gsize i) {
    g_autoptr(GVariant) box = g_variant_get_child_value(array, i);
    return g_variant_get_variant(box);
}

static GVariant *decode(Decoder *self, guint64 index, guint levels);

static GVariant *decode_reference(Decoder *self, gsize references, gsize i, guint levels) {
    return decode(self, integer_at(self->bytes + references + i * self->reference_size, self->reference_size), levels);
}

// Decodes an array, or a dictionary: all keys, and then all values.
static GVariant *decode_container(Decoder *self, gsize at, gsize count, gboolean is_dictionary, guint levels) {
    if (levels == 0) return plist_unrepresentable();
    GPtrArray *items = g_ptr_array_new_full((guint)count, plist_drop);
    for (gsize i = 0; i < count; i++) {
        GVariant *key = is_dictionary ? decode_reference(self, at, i, 0) : NULL;
        GVariant *value = is_dictionary && !key ? NULL
            : decode_reference(self, at, is_dictionary ? count + i : i, levels - 1);
        if (!value) {
            if (key) plist_drop(key);
            g_ptr_array_unref(items);
            return NULL;
        }
        if (!key) {
            g_ptr_array_add(items, g_variant_new_variant(value));
        } else if (g_variant_is_of_type(key, G_VARIANT_TYPE_STRING)) {
            g_ptr_array_add(items, g_variant_new_dict_entry(key, g_variant_new_variant(value)));
        } else {
            plist_drop(key);
            plist_drop(value);
        }
    }
    return is_dictionary ? plist_dictionary(items) : plist_array(items);
}

// Decodes an object, whose containers have at most `levels` levels; returns a floating value, or NULL for damage.
static GVariant *decode(Decoder *self, guint64 index, guint levels) {
    if (index >= self->count || self->values == 0) return NULL;
    self->values--;
    guint64 offset = integer_at(self->bytes + self->offsets + index * self->offset_size, self->offset_size);
    if (offset < HEADER_SIZE || offset >= self->offsets) return NULL;
    gsize at = (gsize)offset;
    guint8 marker = self->bytes[at++];
    guint kind = marker >> 4, low = marker & 15;
    guint64 count = low;
    if (low == 15 && (kind == 0xA || kind == 0xD || (kind >= 4 && kind <= 7))) {
        if (!fits(self, at, 1, 1) || self->bytes[at] >> 4 != 1) return NULL;
        guint size = 1u << (self->bytes[at++] & 15);
        if (size > 8 || !fits(self, at, 1, size)) return NULL;
        count = integer_at(self->bytes + at, size);
        at += size;
    }
    const guint8 *bytes = self->bytes + at;
    switch (kind) {
    case 0x0:
        return low == 8 || low == 9 ? g_variant_new_boolean(low == 9) : low == 0 ? plist_unrepresentable() : NULL;
    case 0x1:
        if (low > 4 || !fits(self, at, 1, 1u << low)) return NULL;
        if (low == 4) return integer_of_16(bytes);
        return g_variant_new_int64((gint64)integer_at(bytes, 1u << low));
    case 0x2:
        if (low == 2 && fits(self, at, 1, 4)) {
            guint32 bits = (guint32)integer_at(bytes, 4);
            float value;
            memcpy(&value, &bits, sizeof(value));
            return g_variant_new("(yd)", PLIST_REAL_32, (double)value);
        }
        return low == 3 && fits(self, at, 1, 8) ? g_variant_new_double(real_at(bytes)) : NULL;
    case 0x3:
        return low == 3 && fits(self, at, 1, 8) ? g_variant_new("(yd)", PLIST_DATE, real_at(bytes)) : NULL;
    case 0x4:
        if (!admits(self, at, count, 1)) return NULL;
        return g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, (gsize)count, 1);
    case 0x5:
    case 0x7:
        return admits(self, at, count, 1) ? string_of_utf8(bytes, (gsize)count) : NULL;
    case 0x6:
        return admits(self, at, count, 2) ? string_of_utf16(bytes, (gsize)count) : NULL;
    case 0x8:
        return fits(self, at, low + 1, 1) ? plist_unrepresentable() : NULL;
    case 0xA:
    case 0xD:
        if (!fits(self, at, count, self->reference_size * (kind == 0xD ? 2 : 1))) return NULL;
        return decode_container(self, at, (gsize)count, kind == 0xD, levels);
    default:
        return NULL;
    }
}

static GVariant *decode_document(const guint8 *bytes, gsize size, guint64 values, guint64 text) {
    if (size < HEADER_SIZE + 32 || memcmp(bytes, header, HEADER_SIZE) != 0) return NULL;
    const guint8 *trailer = bytes + size - 32;
    Decoder self = {
        .bytes = bytes, .size = size, .offset_size = trailer[6], .reference_size = trailer[7], .values = values,
        .text = text,
    };
    guint64 count = integer_at(trailer + 8, 8), top = integer_at(trailer + 16, 8);
    guint64 offsets = integer_at(trailer + 24, 8);
    if (self.offset_size - 1 > 7 || self.reference_size - 1 > 7 || offsets > size - 32
        || count > (size - 32 - offsets) / self.offset_size) return NULL;
    self.offsets = (gsize)offsets;
    self.count = (gsize)count;
    // A message has a few levels around a value.
    GVariant *value = decode(&self, top, PLIST_LEVELS + 4);
    return value ? g_variant_ref_sink(value) : NULL;
}

// The limits are those of the agent (see `PropertyListLimits`).
GVariant *plist_decode(const guint8 *bytes, gsize size) {
    return decode_document(bytes, size, 16 * (guint64)size, 4ull << 30);
}

GVariant *plist_decode_file(const guint8 *bytes, gsize size) {
    return decode_document(bytes, size, CLAMP(64 * (guint64)size, 100000, 10000000), 64 << 20);
}

typedef struct {
    GByteArray *out;
    GArray *offsets;
    guint reference_size;
    gboolean is_complete;
} Encoder;

static guint size_of(guint64 limit) {
    return limit < 1u << 8 ? 1 : limit < 1u << 16 ? 2 : limit < 1ull << 32 ? 4 : 8;
}

static void put_integer(GByteArray *out, guint64 value, guint size) {
    guint8 bytes[8];
    for (guint i = 0; i < size; i++) bytes[i] = (guint8)(value >> 8 * (size - 1 - i));
    g_byte_array_append(out, bytes, size);
}

static void put_marker(GByteArray *out, guint8 marker) {
    g_byte_array_append(out, &marker, 1);
}

static void put_signed(GByteArray *out, gint64 value) {
    guint size = value < 0 ? 8 : size_of((guint64)value);
    put_marker(out, (guint8)(0x10 | (size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3)));
    put_integer(out, (guint64)value, size);
}

static void put_real(GByteArray *out, guint8 marker, double number) {
    float number_32 = (float)number;
    guint32 bits_32;
    guint64 bits;
    memcpy(&bits_32, &number_32, sizeof(bits_32));
    memcpy(&bits, &number, sizeof(bits));
    put_marker(out, marker);
    put_integer(out, marker == PLIST_REAL_32 ? bits_32 : bits, marker == PLIST_REAL_32 ? 4 : 8);
}

static void put_header(GByteArray *out, guint8 kind, gsize count) {
    put_marker(out, (guint8)(kind | MIN(count, 15)));
    if (count >= 15) put_signed(out, (gint64)count);
}

static void put_string(GByteArray *out, const char *text) {
    gsize size = strlen(text);
    if (g_str_is_ascii(text)) {
        put_header(out, 0x50, size);
        g_byte_array_append(out, (const guint8 *)text, (guint)size);
        return;
    }
    glong count = 0;
    g_autofree gunichar2 *units = g_utf8_to_utf16(text, (glong)size, NULL, &count, NULL);
    put_header(out, 0x60, (gsize)count);
    for (glong i = 0; i < count; i++) put_integer(out, units[i], 2);
}

static gboolean is_container(GVariant *value) {
    const char *type = g_variant_get_type_string(value);
    return type[0] == 'a' && type[1] != 'y';
}

static gsize number_of_values(GVariant *value) {
    gsize result = 1;
    if (!is_container(value)) return result;
    GVariantIter iterator;
    g_variant_iter_init(&iterator, value);
    for (GVariant *item; (item = g_variant_iter_next_value(&iterator)); g_variant_unref(item)) {
        gboolean is_entry = g_variant_is_of_type(item, G_VARIANT_TYPE_DICT_ENTRY);
        g_autoptr(GVariant) box = is_entry ? g_variant_get_child_value(item, 1) : g_variant_ref(item);
        g_autoptr(GVariant) child = g_variant_get_variant(box);
        result += number_of_values(child) + (is_entry ? 1 : 0);
    }
    return result;
}

static guint64 encode(Encoder *self, GVariant *value);

// Encodes a part of a container, and fills the place of a reference to it.
static void encode_part(Encoder *self, GVariant *part, gsize place) {
    guint64 reference = encode(self, part);
    for (guint i = 0; i < self->reference_size; i++) {
        self->out->data[place + i] = (guint8)(reference >> 8 * (self->reference_size - 1 - i));
    }
}

static void encode_container(Encoder *self, GVariant *value) {
    gsize count = g_variant_n_children(value), size = self->reference_size;
    gboolean is_dictionary = g_variant_is_of_type(value, G_VARIANT_TYPE_VARDICT);
    put_header(self->out, is_dictionary ? 0xD0 : 0xA0, count);
    gsize references = self->out->len;
    g_byte_array_set_size(self->out, (guint)(references + count * size * (is_dictionary ? 2 : 1)));
    for (gsize i = 0; i < count; i++) {
        g_autoptr(GVariant) item = g_variant_get_child_value(value, i);
        g_autoptr(GVariant) key = is_dictionary ? g_variant_get_child_value(item, 0) : NULL;
        g_autoptr(GVariant) box = is_dictionary ? g_variant_get_child_value(item, 1) : g_variant_ref(item);
        g_autoptr(GVariant) child = g_variant_get_variant(box);
        if (key) encode_part(self, key, references + i * size);
        encode_part(self, child, references + (is_dictionary ? count + i : i) * size);
    }
}

// Appends an object with its parts, and returns its index.
static guint64 encode(Encoder *self, GVariant *value) {
    guint64 index = self->offsets->len, offset = self->out->len;
    g_array_append_val(self->offsets, offset);
    const char *type = g_variant_get_type_string(value);
    if (is_container(value)) {
        encode_container(self, value);
    } else if (g_str_equal(type, "ay")) {
        gsize size = 0;
        const guint8 *bytes = g_variant_get_fixed_array(value, &size, 1);
        put_header(self->out, 0x40, size);
        g_byte_array_append(self->out, bytes, (guint)size);
    } else if (g_str_equal(type, "(yd)")) {
        guint8 marker;
        double number;
        g_variant_get(value, "(yd)", &marker, &number);
        put_real(self->out, marker, number);
    } else {
        switch (type[0]) {
        case 'b':
            put_marker(self->out, g_variant_get_boolean(value) ? 0x09 : 0x08);
            break;
        case 'x':
            put_signed(self->out, g_variant_get_int64(value));
            break;
        case 't':
            put_marker(self->out, 0x14);
            put_integer(self->out, 0, 8);
            put_integer(self->out, g_variant_get_uint64(value), 8);
            break;
        case 'd':
            put_real(self->out, 0x23, g_variant_get_double(value));
            break;
        case 's':
            put_string(self->out, g_variant_get_string(value, NULL));
            break;
        default:
            self->is_complete = FALSE;
        }
    }
    return index;
}

gboolean plist_encode(GVariant *value, GByteArray *out) {
    g_autoptr(GByteArray) body = g_byte_array_new();
    g_byte_array_append(body, (const guint8 *)header, HEADER_SIZE);
    Encoder self = {
        .out = body, .offsets = g_array_new(FALSE, FALSE, sizeof(guint64)),
        .reference_size = size_of(number_of_values(value)), .is_complete = TRUE,
    };
    encode(&self, value);
    guint64 table = body->len;
    guint offset_size = size_of(table);
    for (guint i = 0; i < self.offsets->len; i++) {
        put_integer(body, g_array_index(self.offsets, guint64, i), offset_size);
    }
    put_integer(body, 0, 6);
    put_marker(body, (guint8)offset_size);
    put_marker(body, (guint8)self.reference_size);
    put_integer(body, self.offsets->len, 8);
    put_integer(body, 0, 8);
    put_integer(body, table, 8);
    g_array_unref(self.offsets);
    if (self.is_complete) g_byte_array_append(out, body->data, body->len);
    return self.is_complete;
}
