/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_revision.c - the revisions of the protocol. Layer: dialects.
 */
#include "dialects/mcp/mcp_revision.h"

#include <string.h>

/* Newest first. */
static const struct revision revisions[] = {
    {"2026-07-28", false, true},
    {"2025-11-25", false, false},
    {"2025-06-18", false, false},
    {"2025-03-26", true, false},
};
#define REVISIONS (sizeof revisions / sizeof *revisions)
#define NEWEST_WITH_SESSIONS (&revisions[1])
#define BEFORE_THE_HEADER (&revisions[REVISIONS - 1])

const struct revision *revision_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < REVISIONS; i++) {
        if (strcmp(revisions[i].name, name) == 0)
            return &revisions[i];
    }
    return NULL;
}

const struct revision *revision_negotiate(const char *wish)
{
    const struct revision *r = revision_find(wish);

    return r != NULL && !r->stateless ? r : NEWEST_WITH_SESSIONS;
}

const struct revision *revision_assumed(void)
{
    return BEFORE_THE_HEADER;
}

void revision_write_names(struct json_out *o, bool stateless)
{
    json_open(o, '[');
    for (size_t i = 0; i < REVISIONS; i++) {
        if (revisions[i].stateless == stateless)
            json_str(o, revisions[i].name);
    }
    json_close(o, ']');
}
