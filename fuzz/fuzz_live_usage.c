/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_live_usage.c - the kernel's text about a process: /proc/PID/stat and /proc/PID/io
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/live_usage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct live_process p;
    uint64_t in, out;

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    (void)live_parse_stat(text, &p);
    (void)live_parse_io(text, &in, &out);
    free(text);
    return 0;
}
