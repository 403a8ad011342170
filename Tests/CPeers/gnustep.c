#include "CPeers.h"

#include <dlfcn.h>

typedef void *object;
typedef const void *selector;
typedef void (*method)(void);

static object defaults;
static object pool;
static object (*class_named)(const char *);
static selector (*selector_named)(const char *);
static method (*lookup)(object, selector);

#define CALL(result, arguments, target, name, ...) \
    ((result(*) arguments)lookup(target, selector_named(name)))(target, selector_named(name), ##__VA_ARGS__)

static object string(const char *text) {
    object class = class_named("NSString");
    return CALL(object, (object, selector, const char *), class, "stringWithUTF8String:", text);
}

static void drain(void) {
    if (pool) CALL(void, (object, selector), pool, "drain");
    object class = class_named("NSAutoreleasePool");
    pool = CALL(object, (object, selector), class, "new");
}

bool peer_gnustep_open(void) {
    if (defaults) return true;
    object runtime = dlopen("libobjc.so.4", RTLD_NOW | RTLD_GLOBAL);
    if (!runtime || !dlopen("libgnustep-base.so.1.28", RTLD_NOW | RTLD_GLOBAL)) return false;
    class_named = (object(*)(const char *))dlsym(runtime, "objc_getClass");
    selector_named = (selector(*)(const char *))dlsym(runtime, "sel_registerName");
    lookup = (method(*)(object, selector))dlsym(runtime, "objc_msg_lookup");
    if (!class_named || !selector_named || !lookup) return false;
    drain();
    object class = class_named("NSUserDefaults");
    if (!class) return false;
    defaults = CALL(object, (object, selector), class, "standardUserDefaults");
    return defaults != 0;
}

static long reads;

// As a program does at the end of each turn of its run loop.
static void drain_now_and_then(void) {
    if (++reads % 1000 == 0) drain();
}

long peer_gnustep_integer(const char *key) {
    drain_now_and_then();
    return CALL(long, (object, selector, object), defaults, "integerForKey:", string(key));
}

size_t peer_gnustep_string(const char *key) {
    drain_now_and_then();
    object value = CALL(object, (object, selector, object), defaults, "stringForKey:", string(key));
    return value ? CALL(unsigned long, (object, selector), value, "length") : 0;
}

bool peer_gnustep_boolean(const char *key) {
    drain_now_and_then();
    return CALL(unsigned char, (object, selector, object), defaults, "boolForKey:", string(key));
}

void peer_gnustep_set(const char *key, long value) {
    drain_now_and_then();
    CALL(void, (object, selector, long, object), defaults, "setInteger:forKey:", value, string(key));
}

void peer_gnustep_set_string(const char *key, const char *value) {
    CALL(void, (object, selector, object, object), defaults, "setObject:forKey:", string(value), string(key));
}

bool peer_gnustep_synchronize(void) {
    return CALL(unsigned char, (object, selector), defaults, "synchronize");
}
