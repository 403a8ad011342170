#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with a program's arguments. Returns its exit status, or -1 if the program was built without it.
int runFuzzer(int argc, char **argv, int (*check)(const uint8_t *bytes, size_t count));
