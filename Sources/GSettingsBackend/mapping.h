// The mapping of GSettings to property lists: paths to domains, and values to values of the natural types of plist.h.
#pragma once

#include <glib.h>

// Splits a key's full name, such as `/org/gnome/desktop/interface/color-scheme`, into the domain of its path and the
// key, which is a part of `name`. A name that ends in `/` has the key "". Returns NULL if it can't be a domain's.
char *mapping_domain(const char *name, const char **key);

// Returns the property list of a value, in its canonical form; NULL if the value is nested too deeply, or
// too large for a message.
GVariant *mapping_to_plist(GVariant *value);

// Returns the value of a type that a property list stands for; NULL if it can't be one.
GVariant *mapping_from_plist(GVariant *plist, const GVariantType *type);
