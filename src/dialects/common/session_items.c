/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_items.c - what ran in a session, in order. Layer: dialects.
 */
#include "dialects/common/session_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"

static struct session_item *item_add(struct session_items *all, size_t *cap)
{
    if (all->count == *cap) {
        *cap = *cap > 0 ? *cap * 2 : 64;
        all->list = hf_xrealloc(all->list, *cap * sizeof *all->list);
    }
    all->list[all->count] = (struct session_item){0};
    return &all->list[all->count++];
}

static bool is_plain(const char *s)
{
    return s[0] != '\0' && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789@%+=:,./_-") == strlen(s);
}

/* As a user would type it into a shell. */
static void put_word(struct buf *out, const char *s)
{
    if (is_plain(s)) {
        buf_puts(out, s);
        return;
    }
    buf_put_quoted(out, s);
}

/* A shell line is shown as it was submitted; it has no arguments and needs no quoting. */
static char *process_text(const struct process_view *v)
{
    struct buf text = {0};
    char *out;

    if (v->arg_count == 0)
        return hf_xstrdup(v->command);
    put_word(&text, v->command);
    for (size_t i = 0; i < v->arg_count; i++) {
        buf_putc(&text, ' ');
        put_word(&text, v->args[i]);
    }
    out = hf_xstrndup(buf_data(&text), text.len);
    buf_fini(&text);
    return out;
}

/* Head and tail straight from the ring; what the ring has dropped is missing in the middle. */
static void process_output(struct process *p, const struct process_view *v,
                           struct session_command *c)
{
    const struct journal *j = process_journal(p);
    size_t half = SESSION_LOG_OUTPUT_BYTES / 2;
    uint64_t held = v->next - v->first;
    size_t stray = 0;

    if (v->first == 0) {
        c->head.bytes = journal_bytes(j, 0);
        c->head.len = held <= 2 * half ? held : half;
    }
    held -= c->head.len;
    c->tail.len = held < half ? held : half;
    c->tail.bytes = journal_bytes(j, v->next - c->tail.len);
    c->end.omitted = v->next - c->head.len - c->tail.len;
    if (c->end.omitted == 0)
        return;
    c->head.len -= utf8_open_tail(c->head.bytes, c->head.len);
    while (stray < 3 && stray < c->tail.len && ((unsigned char)c->tail.bytes[stray] & 0xC0) == 0x80)
        stray++;
    c->tail.bytes += stray;
    c->tail.len -= stray;
    c->end.omitted = v->next - c->head.len - c->tail.len;
}

static void item_from_process(struct session_item *it, struct process *p)
{
    struct session_command *c = &it->command;
    struct process_view v;

    process_view(p, &v);
    it->process = p;
    it->text = process_text(&v);
    c->begin.text_len = strlen(it->text);
    c->text = (struct session_text){it->text, c->begin.text_len};
    if (c->text.len > SESSION_LOG_COMMAND_BYTES) {
        c->text.len = SESSION_LOG_COMMAND_BYTES;
        c->text.len -= utf8_open_tail(c->text.bytes, c->text.len);
    }
    snprintf(c->begin.process_id, sizeof c->begin.process_id, "%s", v.id);
    c->begin.started_wall_ms = v.created_ms;
    c->begin.source = v.source;
    c->ended = !v.running;
    c->end.to = v.next;
    if (c->ended) {
        c->end.exit = *v.exit;
        c->end.ended_wall_ms = v.exited_ms;
    }
    if (v.cwd != NULL)
        c->cwd = (struct session_text){v.cwd, strlen(v.cwd)};
    process_output(p, &v, c);
}

static int by_start(const void *a, const void *b)
{
    const struct session_item *x = a, *y = b;
    int64_t s = x->command.begin.started_wall_ms, t = y->command.begin.started_wall_ms;

    if (s != t)
        return s < t ? -1 : 1;
    return (x->command.begin.number > y->command.begin.number) -
           (x->command.begin.number < y->command.begin.number);
}

/* From the newest back, as many as fit. */
static size_t count_fitting(const struct session_items *all, size_t limit)
{
    uint64_t bytes = 0;
    size_t n = 0;

    while (n < all->count && n < limit) {
        const struct session_command *c = &all->list[all->count - 1 - n].command;

        bytes += c->text.len + c->head.len + c->tail.len;
        if (bytes > LIMIT_TRANSCRIPT_BYTES && n > 0)
            break;
        n++;
    }
    return n;
}

void session_items_collect(struct session_items *all, struct engine *e, struct session *s,
                           size_t limit)
{
    const struct session_log *log = session_commands(s);
    struct session_command c;
    struct process *p = NULL;
    uint64_t at = 0;
    size_t cap = 0, keep;

    *all = (struct session_items){.dropped = session_log_dropped(log)};
    while (session_log_each(log, &at, &c))
        item_add(all, &cap)->command = c;
    while ((p = engine_next(e, p)) != NULL)
        if (session_has_process(s, p))
            item_from_process(item_add(all, &cap), p);
    if (all->count > 0)
        qsort(all->list, all->count, sizeof *all->list, by_start);
    keep = count_fitting(all, limit);
    for (size_t i = 0; i < all->count - keep; i++)
        free(all->list[i].text);
    all->dropped += all->count - keep;
    if (keep < all->count)
        memmove(all->list, all->list + (all->count - keep), keep * sizeof *all->list);
    all->count = keep;
}

void session_items_fini(struct session_items *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->list[i].text);
    free(all->list);
}
