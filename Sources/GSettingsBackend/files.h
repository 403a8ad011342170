// Reading of preferences files without an agent: binary ones, and XML.
#pragma once

#include <glib.h>

typedef enum { FILE_ABSENT, FILE_READ, FILE_UNUSABLE } FileOutcome;

// Reads a file into a dictionary of natural values (see plist.h). If it can't be used, `problem` says why. A file in
// the managed directory counts only if nobody but root can have written it.
FileOutcome files_read(const char *path, const char *managed, GVariant **values, char **problem);

// Decodes an XML property list of natural values; returns NULL if the text isn't one.
GVariant *files_decode_xml(const char *text, gsize size, char **problem);
