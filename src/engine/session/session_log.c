/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_log.c - the commands of a session. Layer: engine.
 *
 * An entry is a header, a struct and up to three texts, padded to 8 bytes. It never wraps: the
 * unused rest at the end of the ring is skipped.
 */
#include "engine/session/session_log.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"

#define LOG_MAGIC 0x68666c31u

enum entry_kind { ENTRY_SKIP, ENTRY_BEGIN, ENTRY_END };

struct session_log {
    _Atomic uint32_t magic;
    uint32_t layout;
    uint64_t ring_bytes;
    _Atomic uint64_t head, tail; /* absolute positions; held is [tail, head) */
    uint64_t first;              /* number of the oldest held */
    uint64_t next;
    uint64_t ring[]; /* aligned for every struct in it */
};

struct log_entry {
    uint32_t bytes; /* with padding */
    uint32_t kind;
    uint32_t len[3]; /* of the texts after the struct */
    uint32_t unused;
};

union log_body {
    struct session_begin begin;
    struct session_end end;
};

_Static_assert(sizeof(struct log_entry) % 8 == 0, "what follows is aligned");
_Static_assert(sizeof(struct session_begin) == 104, "logs of older daemons are read as well");

void session_log_init(struct session_log *l, size_t bytes)
{
    l->layout = 1;
    l->ring_bytes = (bytes - sizeof *l) & ~(size_t)7;
    atomic_store(&l->head, 0);
    atomic_store(&l->tail, 0);
    l->first = l->next = 1;
    atomic_store(&l->magic, LOG_MAGIC);
}

uint64_t session_log_next_number(const struct session_log *l)
{
    return l->next;
}

uint64_t session_log_dropped(const struct session_log *l)
{
    return l->first - 1;
}

static struct log_entry *entry_at(const struct session_log *l, uint64_t pos)
{
    return (struct log_entry *)((char *)l->ring + pos % l->ring_bytes);
}

static uint64_t to_edge(const struct session_log *l, uint64_t pos)
{
    return l->ring_bytes - pos % l->ring_bytes;
}

/* The entry at pos, or the first one after the skipped end of the ring. */
static uint64_t entry_settle(const struct session_log *l, uint64_t pos)
{
    if (pos < atomic_load(&l->head) &&
        (to_edge(l, pos) < sizeof(struct log_entry) || entry_at(l, pos)->kind == ENTRY_SKIP))
        pos += to_edge(l, pos);
    return pos;
}

static uint64_t texts_of(const struct log_entry *e)
{
    return (uint64_t)e->len[0] + e->len[1] + e->len[2];
}

static bool entries_are_sound(const struct session_log *l)
{
    uint64_t head = atomic_load(&l->head), pos = entry_settle(l, atomic_load(&l->tail));

    while (pos < head) {
        const struct log_entry *e = entry_at(l, pos);
        size_t body =
            e->kind == ENTRY_BEGIN ? sizeof(struct session_begin) : sizeof(struct session_end);

        if (pos % 8 != 0 || e->kind > ENTRY_END || e->bytes % 8 != 0 ||
            e->bytes > to_edge(l, pos) || e->bytes < sizeof *e + body ||
            texts_of(e) > e->bytes - sizeof *e - body)
            return false;
        pos = entry_settle(l, pos + e->bytes);
    }
    return pos == head;
}

bool session_log_is_valid(const struct session_log *l, size_t bytes)
{
    uint64_t head, tail;

    if (l == NULL || atomic_load(&l->magic) != LOG_MAGIC || l->layout != 1 ||
        l->ring_bytes != ((bytes - sizeof *l) & ~(size_t)7))
        return false;
    head = atomic_load(&l->head);
    tail = atomic_load(&l->tail);
    return tail <= head && head - tail <= l->ring_bytes && l->first >= 1 && l->first <= l->next &&
           entries_are_sound(l);
}

static void drop_oldest(struct session_log *l)
{
    uint64_t pos = entry_settle(l, atomic_load(&l->tail));
    const struct log_entry *e = entry_at(l, pos);

    if (pos >= atomic_load(&l->head)) {
        atomic_store(&l->tail, atomic_load(&l->head));
        return;
    }
    /* The end entry of a command whose begin entry was dropped stands alone and is skipped. */
    if (e->kind == ENTRY_BEGIN)
        l->first = ((const struct session_begin *)(e + 1))->number + 1;
    atomic_store(&l->tail, pos + e->bytes);
}

static void append(struct session_log *l, enum entry_kind kind, const void *body, size_t size,
                   const struct session_text texts[3])
{
    size_t need = sizeof(struct log_entry) + size;
    uint64_t at = atomic_load(&l->head), edge = to_edge(l, at), end;
    struct log_entry *e;
    char *to;

    for (int i = 0; i < 3; i++)
        need += texts[i].len;
    need = (need + 7) & ~(size_t)7;
    assert(need < l->ring_bytes / 2);
    end = edge < need ? at + edge + need : at + need;
    while (end - atomic_load(&l->tail) > l->ring_bytes)
        drop_oldest(l);
    if (edge < need) {
        if (edge >= sizeof(struct log_entry))
            entry_at(l, at)->kind = ENTRY_SKIP;
        at += edge;
    }
    e = entry_at(l, at);
    *e = (struct log_entry){.bytes = (uint32_t)need, .kind = kind};
    memcpy(e + 1, body, size);
    to = (char *)(e + 1) + size;
    for (int i = 0; i < 3; i++) {
        e->len[i] = (uint32_t)texts[i].len;
        if (texts[i].len > 0)
            memcpy(to, texts[i].bytes, texts[i].len);
        to += texts[i].len;
    }
    atomic_store(&l->head, end);
}

void session_log_begin(struct session_log *l, const struct session_begin *b, const char *text,
                       const char *name)
{
    const struct session_text named = {name, name != NULL ? strlen(name) : 0};
    size_t len = b->text_len;

    assert(b->number == l->next);
    while (l->next - l->first >= SESSION_LOG_COMMANDS)
        drop_oldest(l);
    if (len > SESSION_LOG_COMMAND_BYTES) {
        len = SESSION_LOG_COMMAND_BYTES;
        len -= utf8_open_tail(text, len);
    }
    append(l, ENTRY_BEGIN, b, sizeof *b, (const struct session_text[3]){{text, len}, named});
    l->next = b->number + 1;
}

void session_log_end(struct session_log *l, const struct session_end *e, struct session_text head,
                     struct session_text tail, struct session_text cwd)
{
    append(l, ENTRY_END, e, sizeof *e, (const struct session_text[3]){head, tail, cwd});
}

/* --- reading ---------------------------------------------------------------- */

static void read_texts(const struct log_entry *e, size_t size, struct session_text *const out[3])
{
    const char *at = (const char *)(e + 1) + size;

    for (int i = 0; i < 3; i++) {
        if (out[i] != NULL)
            *out[i] = (struct session_text){at, e->len[i]};
        at += e->len[i];
    }
}

static void read_begin(const struct log_entry *e, struct session_command *out)
{
    struct session_text *const texts[3] = {&out->text, &out->name, NULL};

    *out = (struct session_command){0};
    memcpy(&out->begin, e + 1, sizeof out->begin);
    read_texts(e, sizeof out->begin, texts);
}

static void read_end(const struct log_entry *e, struct session_command *out)
{
    struct session_text *const texts[3] = {&out->head, &out->tail, &out->cwd};

    memcpy(&out->end, e + 1, sizeof out->end);
    if (out->end.number != out->begin.number)
        return;
    out->ended = true;
    read_texts(e, sizeof out->end, texts);
}

bool session_log_each(const struct session_log *l, uint64_t *at, struct session_command *out)
{
    uint64_t head = atomic_load(&l->head), tail = atomic_load(&l->tail);
    uint64_t pos = entry_settle(l, *at < tail ? tail : *at);

    while (pos < head && entry_at(l, pos)->kind != ENTRY_BEGIN)
        pos = entry_settle(l, pos + entry_at(l, pos)->bytes);
    if (pos >= head)
        return false;
    read_begin(entry_at(l, pos), out);
    pos = entry_settle(l, pos + entry_at(l, pos)->bytes);
    if (pos < head && entry_at(l, pos)->kind == ENTRY_END) {
        read_end(entry_at(l, pos), out);
        pos += entry_at(l, pos)->bytes;
    }
    *at = pos;
    return true;
}

bool session_log_find(const struct session_log *l, const char *name, struct session_command *out)
{
    struct session_command c;
    size_t len = strlen(name);
    uint64_t at = 0;
    bool found = false;

    while (session_log_each(l, &at, &c))
        if (c.name.len == len && memcmp(c.name.bytes, name, len) == 0) {
            *out = c;
            found = true;
        }
    return found;
}

bool session_log_last(const struct session_log *l, struct session_command *out)
{
    uint64_t at = 0;
    bool found = false;

    while (session_log_each(l, &at, out))
        found = true;
    return found;
}
