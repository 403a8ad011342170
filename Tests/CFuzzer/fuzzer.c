#include "CFuzzer.h"

// libFuzzer as a library; it exists only if the program is linked with -fsanitize=fuzzer.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *, size_t)) __attribute__((weak));

int runFuzzer(int argc, char **argv, int (*check)(const uint8_t *, size_t)) {
    return LLVMFuzzerRunDriver ? LLVMFuzzerRunDriver(&argc, &argv, check) : -1;
}
