/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - the event log. Layer: engine.
 *
 * The ring holds entries one after the other: a header and the text, padded to 8 bytes. An entry
 * never wraps: a header without text marks the unused rest at the end of the ring. Ids are
 * consecutive, so `first` and `next` describe what is held.
 */
#include "engine/events.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "engine/process_own.h"

struct events_entry {
    uint64_t id; /* 0: skip to the start of the ring */
    uint32_t len;
    char type[27];
    uint8_t helper; /* of a process that only the owner may see */
};

static size_t entry_bytes(size_t len)
{
    return sizeof(struct events_entry) + ((len + 7) & ~(size_t)7);
}

static struct events_entry *entry_at(const struct events *ev, uint64_t pos)
{
    return (struct events_entry *)(void *)(ev->state->events + pos % ev->state->head->events_bytes);
}

/* Bytes from pos to the end of the ring; an entry must fit there. */
static size_t to_edge(const struct events *ev, uint64_t pos)
{
    return ev->state->head->events_bytes - pos % ev->state->head->events_bytes;
}

static uint64_t entry_next(const struct events *ev, uint64_t pos)
{
    if (to_edge(ev, pos) < sizeof(struct events_entry) || entry_at(ev, pos)->id == 0)
        return pos + to_edge(ev, pos);
    return pos + entry_bytes(entry_at(ev, pos)->len);
}

/* The entry at pos, or the first one after the skipped end of the ring. */
static uint64_t entry_settle(const struct events *ev, uint64_t pos)
{
    if (pos < ev->state->head->events_head &&
        (to_edge(ev, pos) < sizeof(struct events_entry) || entry_at(ev, pos)->id == 0))
        pos += to_edge(ev, pos);
    return pos;
}

/* Each entry starts and ends within the ring, and the ids increase. */
static bool entries_are_sound(const struct events *ev)
{
    const struct shared_head *h = ev->state->head;
    uint64_t pos, id = 0;

    for (pos = entry_settle(ev, h->events_tail); pos < h->events_head;
         pos = entry_settle(ev, entry_next(ev, pos))) {
        const struct events_entry *e = entry_at(ev, pos);

        if (pos % 8 != 0 || e->id <= id || e->id >= h->events_next ||
            e->type[sizeof e->type - 1] != '\0' || entry_bytes(e->len) > to_edge(ev, pos))
            return false;
        id = e->id;
    }
    return pos == h->events_head;
}

bool events_are_sound(struct shared *state)
{
    const struct events ev = {.state = state};
    const struct shared_head *h = state->head;

    return h->events_first >= 1 && h->events_first <= h->events_next &&
           h->events_next <= INT64_MAX && h->events_head <= INT64_MAX &&
           h->events_tail <= h->events_head && h->events_head - h->events_tail <= h->events_bytes &&
           entries_are_sound(&ev);
}

static void events_forget_oldest(struct events *ev)
{
    struct shared_head *h = ev->state->head;
    uint64_t pos = entry_settle(ev, h->events_tail);

    if (pos >= h->events_head) {
        h->events_tail = h->events_head;
        h->events_first = h->events_next;
        return;
    }
    h->events_first = entry_at(ev, pos)->id + 1;
    h->events_tail = entry_next(ev, pos);
}

/* Uses up an id, so that subscribers that have not reached it notice the gap. */
static void events_skip(struct events *ev)
{
    struct shared_head *h = ev->state->head;

    h->events_next++;
    h->events_tail = h->events_head;
    h->events_first = h->events_next;
}

static size_t events_most(const struct events *ev)
{
    return ev->state->head->events_bytes / 2;
}

static void events_store(struct events *ev, const char *type, const char *json, size_t len,
                         bool helper)
{
    struct shared_head *h = ev->state->head;
    size_t need = entry_bytes(len), edge = to_edge(ev, h->events_head);
    uint64_t at = h->events_head, end;
    struct events_entry *e;

    if (need > events_most(ev)) {
        events_skip(ev);
        return;
    }
    end = edge < need ? at + edge + need : at + need;
    while (end - h->events_tail > h->events_bytes)
        events_forget_oldest(ev);
    if (edge < need) {
        if (edge >= sizeof(struct events_entry))
            entry_at(ev, at)->id = 0;
        at += edge;
    }
    e = entry_at(ev, at);
    e->id = h->events_next;
    e->len = (uint32_t)len;
    e->helper = helper;
    memset(e->type, 0, sizeof e->type);
    strncpy(e->type, type, sizeof e->type - 1);
    memcpy(e + 1, json, len);
    /* Use up the id first: a kill in between skips one, but never assigns it twice. */
    h->events_next++;
    h->events_head = end;
}

static void events_on_wake(void *arg)
{
    struct events *ev = arg;
    struct list *it, *tmp;

    list_for_each (it, tmp, &ev->subscribers) {
        struct event_subscriber *s = list_entry(it, struct event_subscriber, link);
        s->fn(s->arg);
    }
}

static void write_event(struct buf *text, const char *type, struct process *p, const char *extra,
                        bool abridged)
{
    struct json_out o;

    buf_clear(text);
    json_out_init(&o, text);
    json_open(&o, '{');
    json_kstr(&o, "type", type);
    json_ktime(&o, "time", clock_wall_ms());
    json_key(&o, "process");
    if (abridged)
        process_write_abridged(p, &o);
    else
        process_write_json(p, &o);
    if (extra != NULL) {
        json_key(&o, "detail");
        json_raw(&o, extra, strlen(extra));
    }
    json_close(&o, '}');
}

static void append(struct events *ev, const char *type, const char *json, size_t len, bool helper)
{
    events_store(ev, type, json, len, helper);
    ev->wake.fn = events_on_wake;
    ev->wake.arg = ev;
    if (!list_is_empty(&ev->subscribers))
        loop_defer(ev->loop, &ev->wake);
}

void events_append(struct events *ev, const char *type, struct process *p, const char *extra_json)
{
    struct buf text = {0};

    write_event(&text, type, p, extra_json, false);
    if (entry_bytes(text.len) > events_most(ev))
        write_event(&text, type, p, extra_json, true);
    append(ev, type, buf_data(&text), text.len, p->meta.helper);
    buf_fini(&text);
}

void events_append_text(struct events *ev, const char *type, const char *json, size_t len)
{
    append(ev, type, json, len, false);
}

uint64_t events_first(const struct events *ev)
{
    return ev->state->head->events_first;
}

uint64_t events_next(const struct events *ev)
{
    return ev->state->head->events_next;
}

bool events_get(const struct events *ev, uint64_t id, struct event *out)
{
    const struct shared_head *h = ev->state->head;
    uint64_t pos;

    if (id >= h->events_next)
        return false;
    for (pos = entry_settle(ev, h->events_tail); pos < h->events_head;
         pos = entry_settle(ev, entry_next(ev, pos))) {
        const struct events_entry *e = entry_at(ev, pos);
        if (e->id < id)
            continue;
        *out = (struct event){.id = e->id,
                              .type = e->type,
                              .json = (const char *)(e + 1),
                              .len = e->len,
                              .helper = e->helper != 0};
        return true;
    }
    return false;
}

void events_subscribe(struct events *ev, struct event_subscriber *s)
{
    list_append(&ev->subscribers, &s->link);
}

void events_unsubscribe(struct event_subscriber *s)
{
    if (s->link.next != NULL)
        list_remove(&s->link);
}
