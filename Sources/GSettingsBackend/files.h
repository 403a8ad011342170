// Reading of preferences files without an agent: binary ones, and XML.
#pragma once

#include <glib.h>

typedef enum { FILE_ABSENT, FILE_READ, FILE_UNUSABLE } FileOutcome;

// Reads a file into a dictionary of natural values (see plist.h). If it can't be used, `problem` says why; first, a
// part of `wait`, in microseconds, is spent on waiting for a program that may be writing it. A file in the managed
// directory counts only if no user but root could have written it.
FileOutcome files_read(const char *path, const char *managed, gint64 *wait, GVariant **values, char **problem);

// Returns whether a damaged file's bytes contain a word of ASCII, perhaps as UTF-16; TRUE if it can't be read.
gboolean files_may_contain(const char *path, const char *word);

// Decodes an XML property list of natural values; returns NULL if the text isn't one.
GVariant *files_decode_xml(const char *text, gsize size, char **problem);
