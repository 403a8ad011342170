// The D-Bus object that serves the desktop's settings, built on sd-bus.
//
// sd-bus describes an object with macros that Swift can't use.
#pragma once

// Only the trait Portal compiles and links it, but Swift reads this without the traits' definitions.
#if __has_include(<systemd/sd-bus.h>)
#include <systemd/sd-bus.h>

#pragma clang assume_nonnull begin

/// The functions that answer the object's methods, each with a message to which the answer is appended.
///
/// They return a negative error number, with a reason in `error`, if there is no answer.
struct settings_object {
    void *context;
    /// Answers with the value of a key in a namespace, as a variant.
    int (*read)(void *context, const char *name, const char *key, sd_bus_message *answer, sd_bus_error *error);
    /// Answers with the values of all namespaces that match one of the patterns in the message.
    int (*read_all)(void *context, sd_bus_message *patterns, sd_bus_message *answer, sd_bus_error *error);
};

#define SETTINGS_PATH "/org/freedesktop/portal/desktop"
#define SETTINGS_INTERFACE "org.freedesktop.impl.portal.Settings"

/// Adds the object to a bus, which stores the pointer; returns a negative error number if that fails.
int settings_object_add(sd_bus *bus, struct settings_object *object);

/// Asks the desktop's portal for a setting, without starting it.
///
/// Returns a negative error number, with the reason in `error`, if there is none.
int settings_read(sd_bus *bus, const char *name, const char *key, sd_bus_error *error,
    sd_bus_message *_Nullable *_Nonnull answer);

/// Reads the number in the portal's answer; returns a negative error number if it is none.
int settings_number(sd_bus_message *answer, uint32_t *number);

#pragma clang assume_nonnull end
#endif
