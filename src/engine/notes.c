/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.c - reads and replaces the notes. Layer: engine.
 */
#include "engine/notes.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "engine/engine_own.h"

/* A note is this head, the name and the text, unaligned, one note after the other. A name_len of 0
 * ends the list. */
struct note_head {
    uint32_t name_len, len;
};

static char *area(const struct shared *s, uint32_t which)
{
    return s->notes + (which & 1) * (size_t)LIMIT_NOTES_BYTES;
}

static const char *current(const struct shared *s)
{
    return area(s, atomic_load_explicit(&s->head->notes_which, memory_order_acquire));
}

/* Reads the head of the note at `at`; false: there are no more notes. */
static bool note_at(const char *notes, size_t at, struct note_head *h)
{
    memset(h, 0, sizeof *h);
    if (at + sizeof *h <= LIMIT_NOTES_BYTES)
        memcpy(h, notes + at, sizeof *h);
    return h->name_len > 0;
}

bool notes_are_sound(const struct shared *s)
{
    struct note_head h;

    for (size_t at = 0; note_at(current(s), at, &h); at += sizeof h + h.name_len + h.len)
        if (h.name_len > LIMIT_NOTES_BYTES || h.len > LIMIT_NOTES_BYTES ||
            at + sizeof h + h.name_len + h.len > LIMIT_NOTES_BYTES)
            return false;
    return true;
}

void notes_clear(struct shared *s)
{
    memset(s->notes, 0, 2 * (size_t)LIMIT_NOTES_BYTES);
}

/* The head alone ends the list: clearing the rest of the area would make all its pages resident. */
static void end_list(char *notes, size_t used)
{
    size_t room = LIMIT_NOTES_BYTES - used;

    memset(notes + used, 0, room < sizeof(struct note_head) ? room : sizeof(struct note_head));
}

static bool note_is(const char *notes, size_t at, const struct note_head *h, const char *name)
{
    return h->name_len == strlen(name) && memcmp(notes + at + sizeof *h, name, h->name_len) == 0;
}

const char *notes_get(const struct shared *s, const char *name, size_t *len)
{
    struct note_head h;

    if (s->notes == NULL)
        return NULL;
    for (size_t at = 0; note_at(current(s), at, &h); at += sizeof h + h.name_len + h.len)
        if (note_is(current(s), at, &h, name)) {
            *len = h.len;
            return current(s) + at + sizeof h + h.name_len;
        }
    return NULL;
}

/* False: no room. */
static bool put(char *to, size_t *at, const char *name, size_t name_len, const char *text,
                size_t len)
{
    struct note_head h = {(uint32_t)name_len, (uint32_t)len};

    if (len > LIMIT_NOTES_BYTES || *at + sizeof h + name_len + len > LIMIT_NOTES_BYTES)
        return false;
    memcpy(to + *at, &h, sizeof h);
    memcpy(to + *at + sizeof h, name, name_len);
    memcpy(to + *at + sizeof h + name_len, text, len);
    *at += sizeof h + name_len + len;
    return true;
}

int notes_set(struct shared *s, const char *name, const char *text, size_t len)
{
    uint32_t next;
    struct note_head h;
    const char *from;
    size_t used = 0;
    bool fits = true;
    char *to;

    if (s->notes == NULL)
        return -ENOTSUP;
    next = atomic_load_explicit(&s->head->notes_which, memory_order_relaxed) ^ 1;
    from = current(s);
    to = area(s, next);
    for (size_t at = 0; fits && note_at(from, at, &h); at += sizeof h + h.name_len + h.len)
        if (!note_is(from, at, &h, name))
            fits = put(to, &used, from + at + sizeof h, h.name_len,
                       from + at + sizeof h + h.name_len, h.len);
    if (fits && len > 0)
        fits = put(to, &used, name, strlen(name), text, len);
    if (!fits)
        return -ENOSPC;
    end_list(to, used);
    atomic_store_explicit(&s->head->notes_which, next, memory_order_release);
    return 0;
}

const char *engine_note(const struct engine *e, const char *name, size_t *len)
{
    return notes_get(&e->state, name, len);
}

int engine_note_set(struct engine *e, const char *name, const char *text, size_t len)
{
    return notes_set(&e->state, name, text, len);
}
