/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec.c - defaults and names of a spec. Layer: engine.
 */
#include "engine/spawn/spec.h"

#include <string.h>

void spec_init(struct spawn_spec *s)
{
    memset(s, 0, sizeof *s);
    s->grace_ms = s->retain_ms = -1;
    s->cpu_s = s->memory_bytes = s->processes = s->open_files = s->file_bytes = -1;
}

static const char *const sources[] = {"user", "agent", "user_shell", "system"};

int source_from_name(const char *name)
{
    int i;

    for (i = 0; i < 4; i++)
        if (strcmp(name, sources[i]) == 0)
            return i;
    return -1;
}

const char *source_name(enum process_source s)
{
    return sources[s];
}
