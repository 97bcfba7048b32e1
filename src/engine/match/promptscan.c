/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promptscan.c - finds the next prompt of a shell that marks its prompts. Layer: engine.
 */
#include "engine/match/promptscan.h"

#include <stdlib.h>

#include "term/osc.h"

struct promptscan {
    struct osc osc;
    bool found, open; /* open: after A */
    uint64_t open_at;
    struct promptscan_match match; /* exit_code is set before a prompt is found */
};

struct promptscan *promptscan_new(uint64_t at)
{
    struct promptscan *s = calloc(1, sizeof *s);

    if (s != NULL)
        promptscan_restart(s, at);
    return s;
}

void promptscan_restart(struct promptscan *s, uint64_t at)
{
    osc_init(&s->osc, at);
    s->open = false;
    s->match.exit_code = -1;
}

void promptscan_free(struct promptscan *s)
{
    free(s);
}

static void promptscan_on_event(void *arg, const struct osc_event *e)
{
    struct promptscan *s = arg;

    if (e->kind != OSC_MARK || s->found)
        return;
    switch (e->mark) {
    case 'A':
        s->open = true;
        s->open_at = e->start;
        break;
    case 'B':
        s->found = true;
        s->match.start = e->start;
        s->match.end = e->end;
        break;
    case 'C': s->open = false; break;
    case 'D': s->match.exit_code = e->exit_code; break;
    default: break;
    }
}

bool promptscan_feed(struct promptscan *s, const void *bytes, size_t len,
                     struct promptscan_match *out)
{
    if (!s->found)
        osc_feed(&s->osc, bytes, len, promptscan_on_event, s);
    if (s->found)
        *out = s->match;
    return s->found;
}

bool promptscan_at_pause(const struct promptscan *s, struct promptscan_match *out)
{
    if (s->found || !s->open)
        return false;
    *out = (struct promptscan_match){s->open_at, s->osc.vt.at, s->match.exit_code};
    return true;
}
