/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unsent_input.c - input that the daemon has not acknowledged yet. Layer: cli.
 */
#include "cli/client/unsent_input.h"

#include "base/limits.h"

void unsent_input_put(struct unsent_input *t, const void *bytes, size_t len)
{
    if (!t->dead)
        buf_put(&t->pending, bytes, len);
}

bool unsent_input_has_room(const struct unsent_input *t)
{
    return !t->dead && !t->over && t->pending.len < LIMIT_CLIENT_INPUT_BYTES;
}

/* The daemon has accepted everything below `at`. */
static void drop_to(struct unsent_input *t, uint64_t at)
{
    uint64_t end = t->base + t->pending.len;

    if (at > end)
        at = end;
    if (at <= t->base)
        return;
    buf_drop(&t->pending, (size_t)(at - t->base));
    t->base = at;
}

void unsent_input_on_hello(struct unsent_input *t, uint64_t taken)
{
    uint64_t at = taken + t->shift;

    if (at < t->base) { /* the daemon restarted its count */
        t->shift = t->base - taken;
        at = t->base;
    }
    drop_to(t, at);
    t->sent = t->base;
    t->eof_sent = false;
}

void unsent_input_on_ack(struct unsent_input *t, uint64_t taken)
{
    drop_to(t, taken + t->shift);
    if (t->sent < t->base)
        t->sent = t->base;
}

size_t unsent_input_next(struct unsent_input *t, size_t most, const char **bytes)
{
    size_t off = (size_t)(t->sent - t->base), n = t->pending.len - off;

    if (n > most)
        n = most;
    if (n > 0)
        *bytes = buf_data(&t->pending) + off;
    t->sent += n;
    return n;
}

bool unsent_input_eof_is_due(const struct unsent_input *t)
{
    return t->eof_wanted && !t->eof_sent && !t->dead && t->sent == t->base + t->pending.len;
}

void unsent_input_stop(struct unsent_input *t)
{
    t->dead = true;
    t->base += t->pending.len;
    t->sent = t->base;
    buf_clear(&t->pending);
}

void unsent_input_fini(struct unsent_input *t)
{
    buf_fini(&t->pending);
}
