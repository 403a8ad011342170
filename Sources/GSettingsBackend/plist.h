// Binary property lists as GVariants of these natural types:
//
//     b, d, s, ay     Boolean, real, string, data
//     x, t            integer; t only if it is above the range of x
//     av, a{sv}       array; dictionary, sorted by key, without a key that occurs twice
//     (yd)            date or 32-bit real: the marker byte of the format, and the value
//     ()              a value that a GVariant can't hold, such as a string with a NUL, or one that is nested too deeply
#pragma once

#include <glib.h>

#define PLIST_DATE 0x33
#define PLIST_REAL_32 0x22

// The number of levels of a value. GVariant accepts 128 of its own, and a level of a dictionary is three of them.
#define PLIST_LEVELS 40

// Decodes a message's binary property list; returns NULL if the bytes aren't one, or if so many references share values
// that they would need too much memory. Entries whose key a GVariant can't hold are left out.
GVariant *plist_decode(const guint8 *bytes, gsize size);

// The same with the limits of the agent for files.
GVariant *plist_decode_file(const guint8 *bytes, gsize size);

// Appends the binary property list of a natural value; returns FALSE if a part of the value is `()`.
gboolean plist_encode(GVariant *value, GByteArray *out);

// Creates a dictionary of entries, of which the last one with a key wins. The entries are of the type {sv}; the array
// and they are consumed.
GVariant *plist_dictionary(GPtrArray *entries);

// Creates an array of values of the type v; the array of them is consumed.
GVariant *plist_array(GPtrArray *items);

// Returns an item of an array.
GVariant *plist_item(GVariant *array, gsize i);

// Creates `()`.
GVariant *plist_unrepresentable(void);

// Frees a value that may be floating.
void plist_drop(gpointer value);

// Reads a number; returns FALSE if the text is anything else.
gboolean plist_parse_real(const char *text, double *number);
