/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.c - reads a secret from the environment and wipes it there. Layer: cli.
 */
#include "cli/secret.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool secret_from_env(const char *name, struct buf *out)
{
    char *value = getenv(name);

    if (value == NULL || value[0] == '\0')
        return false;
    buf_puts(out, value);
    /* /proc/PID/environ shows the memory that the process was started with. */
    hf_wipe(value, strlen(value));
    unsetenv(name);
    return true;
}
