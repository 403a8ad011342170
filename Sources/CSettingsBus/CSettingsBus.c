#include "CSettingsBus.h"

#ifdef PORTAL
// Sends the answer that a function has made for a call.
static int answer(sd_bus_message *reply, int result) {
    if (result >= 0) result = sd_bus_message_send(reply);
    sd_bus_message_unref(reply);
    return result < 0 ? result : 1;
}

static int read_one(sd_bus_message *call, void *userdata, sd_bus_error *error) {
    struct settings_object *object = userdata;
    const char *name, *key;
    sd_bus_message *reply = NULL;
    int result = sd_bus_message_read(call, "ss", &name, &key);
    if (result >= 0) result = sd_bus_message_new_method_return(call, &reply);
    if (result >= 0) result = object->read(object->context, name, key, reply, error);
    return answer(reply, result);
}

static int read_all(sd_bus_message *call, void *userdata, sd_bus_error *error) {
    struct settings_object *object = userdata;
    sd_bus_message *reply = NULL;
    int result = sd_bus_message_new_method_return(call, &reply);
    if (result >= 0) result = object->read_all(object->context, call, reply, error);
    return answer(reply, result);
}

static int version(
    sd_bus *bus, const char *path, const char *interface, const char *property, sd_bus_message *reply, void *userdata,
    sd_bus_error *error
) {
    return sd_bus_message_append(reply, "u", 1);
}

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Read", "ss", "v", read_one, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("ReadAll", "as", "a{sa{sv}}", read_all, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL("SettingChanged", "ssv", 0),
    SD_BUS_PROPERTY("version", "u", version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_VTABLE_END,
};

int settings_object_add(sd_bus *bus, struct settings_object *object) {
    return sd_bus_add_object_vtable(bus, NULL, SETTINGS_PATH, SETTINGS_INTERFACE, vtable, object);
}

int settings_read(sd_bus *bus, const char *name, const char *key, sd_bus_error *error, sd_bus_message **answer) {
    sd_bus_message *call = NULL;
    int result = sd_bus_message_new_method_call(
        bus, &call, "org.freedesktop.portal.Desktop", SETTINGS_PATH, "org.freedesktop.portal.Settings", "Read");
    if (result >= 0) result = sd_bus_message_set_auto_start(call, 0);
    if (result >= 0) result = sd_bus_message_append(call, "ss", name, key);
    if (result >= 0) result = sd_bus_call(bus, call, 0, error, answer);
    sd_bus_message_unref(call);
    return result;
}

int settings_number(sd_bus_message *answer, uint32_t *number) {
    int result = sd_bus_message_enter_container(answer, 'v', "v");
    return result < 0 ? result : sd_bus_message_read(answer, "v", "u", number);
}
#endif
