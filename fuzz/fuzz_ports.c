/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ports.c - a line of the kernel's table of sockets
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);
    struct port_listener l;

    if (line == NULL)
        return 0;
    memcpy(line, data, size);
    line[size] = '\0';
    if (ports_parse_line(line, &l) && l.port == 0)
        abort();
    free(line);
    return 0;
}
