/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_message.c - what ran in a session, from the engine's records, and GET /session/{id}/message
 *
 * Layer: dialects.
 */
#include "dialects/opencode/oc_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/utf16.h"
#include "dialects/opencode/opencode_limits.h"

void oc_command_fini(struct oc_command *c)
{
    json_decref(c->meta);
    buf_fini(&c->text);
    buf_fini(&c->output);
}

bool oc_command_is_named(const struct oc_command *c)
{
    return oc_meta_text(c->meta, "name") != NULL;
}

static void put_omitted(struct buf *out, uint64_t bytes)
{
    if (bytes > 0)
        buf_printf(out, "\n\n... %llu bytes omitted ...\n\n", (unsigned long long)bytes);
}

/* The head and the tail of the retained output, split between characters. */
static void put_journal(struct buf *out, const struct journal *j, size_t max)
{
    uint64_t first = journal_first(j), next = journal_next(j);
    size_t head, tail, stray;

    if (next - first <= max) {
        put_omitted(out, first);
        buf_put(out, journal_bytes(j, first), (size_t)(next - first));
        return;
    }
    head = first == 0 ? max / 2 : 0;
    head -= utf8_open_tail(journal_bytes(j, first), head);
    tail = max / 2;
    stray = utf8_to_border(journal_bytes(j, next - tail), tail);
    buf_put(out, journal_bytes(j, first), head);
    put_omitted(out, next - tail + stray - head);
    buf_put(out, journal_bytes(j, next - tail + stray), tail - stray);
}

static void put_end(struct oc_command *c, const struct exit_record *x, int64_t at_ms)
{
    c->ended = true;
    c->ended_at = at_ms;
    c->exit_code = x->exit_code;
    if (x->kind == EXIT_KILLED)
        buf_puts(&c->output, "\n\n<metadata>\nUser aborted the command\n</metadata>");
}

static void put_words(struct buf *out, const struct process_view *v)
{
    buf_puts(out, v->command);
    for (size_t i = 0; i < v->arg_count; i++) {
        buf_putc(out, ' ');
        buf_puts(out, v->args[i]);
    }
}

static void set_ids(struct oc_command *c)
{
    const char *given = oc_meta_text(c->meta, "messageID");

    if (given != NULL && strlen(given) < OC_ID_BYTES)
        memcpy(c->user, given, strlen(given) + 1);
    else
        oc_make_id("msg", c->began, 0, c->seed, c->user);
    oc_make_id("msg", c->began, 1, c->seed, c->assistant);
}

void oc_command_of_process(struct oc_command *c, const struct oc *oc, struct session *s,
                           struct process *p, size_t max)
{
    struct process_view v;

    process_view(p, &v);
    *c = (struct oc_command){
        .session_id = session_id(s),
        .directory = oc_session_directory(oc, s),
        .meta = oc_meta(v.metadata_json),
        .began = v.created_ms,
        .exit_code = -1,
    };
    snprintf(c->seed, sizeof c->seed, "%s", v.id);
    set_ids(c);
    snprintf(c->cwd, sizeof c->cwd, "%s", v.cwd != NULL ? v.cwd : c->directory);
    if (oc_meta_text(c->meta, "agent") != NULL && v.arg_count > 0)
        buf_puts(&c->text, v.args[v.arg_count - 1]); /* written by oc_shell.c */
    else
        put_words(&c->text, &v);
    put_journal(&c->output, process_journal(p), max);
    if (!v.running)
        put_end(c, v.exit, v.exited_ms);
}

void oc_command_of_log(struct oc_command *c, const struct oc *oc, struct session *s,
                       const struct session_command *log)
{
    *c = (struct oc_command){
        .session_id = session_id(s),
        .directory = oc_session_directory(oc, s),
        .began = log->begin.started_wall_ms,
        .exit_code = -1,
    };
    snprintf(c->seed, sizeof c->seed, "%.30s %llu", c->session_id,
             (unsigned long long)log->begin.number);
    set_ids(c);
    snprintf(c->cwd, sizeof c->cwd, "%s", c->directory);
    buf_put(&c->text, log->text.bytes, log->text.len);
    buf_put(&c->output, log->head.bytes, log->head.len);
    put_omitted(&c->output, log->end.omitted);
    buf_put(&c->output, log->tail.bytes, log->tail.len);
    if (log->ended)
        put_end(c, &log->end.exit, log->end.ended_wall_ms);
}

/* --- the list ------------------------------------------------------------------------------- */

/* One entry of a session, before it is written: a process, or a command of its shell. */
struct doing {
    int64_t began;
    uint64_t number; /* of the shell's command */
    struct process *process;
    struct session_command command;
};

struct doings {
    struct buf buf;
    struct doing *list;
    size_t count;
};

static int by_time(const void *a, const void *b)
{
    const struct doing *x = a, *y = b;

    if (x->began != y->began)
        return x->began < y->began ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void collect(struct doings *all, struct engine *e, struct session *s)
{
    struct session_command c;
    struct process *p = NULL;
    uint64_t at = 0;

    while (session_log_each(session_commands(s), &at, &c)) {
        struct doing d = {c.begin.started_wall_ms, c.begin.number, NULL, c};

        buf_put(&all->buf, &d, sizeof d);
    }
    while ((p = engine_next(e, p)) != NULL) {
        struct doing d = {.process = p};
        struct process_view v;

        if (!session_has_process(s, p))
            continue;
        process_view(p, &v);
        d.began = v.created_ms;
        buf_put(&all->buf, &d, sizeof d);
    }
    all->count = all->buf.len / sizeof *all->list;
    all->list = (struct doing *)(void *)buf_data(&all->buf);
    if (all->count > 1)
        qsort(all->list, all->count, sizeof *all->list, by_time);
}

static void take(struct oc_command *c, const struct oc *oc, struct session *s,
                 const struct doing *d)
{
    if (d->process != NULL)
        oc_command_of_process(c, oc, s, d->process, OC_MESSAGE_BYTES);
    else
        oc_command_of_log(c, oc, s, &d->command);
}

/* From the newest back, as many as fit; each is two messages. */
static size_t first_of(const struct doings *all, int64_t limit)
{
    int64_t most = LIMIT_OC_MESSAGES_BYTES / OC_MESSAGE_BYTES;
    int64_t want = limit / 2 + limit % 2;

    if (want > most)
        want = most;
    return all->count > (size_t)want ? all->count - (size_t)want : 0;
}

void oc_session_messages(struct http_request *rq)
{
    struct oc *oc = oc_of(rq);
    struct session *s = oc_session(rq);
    struct doings all = {0};
    int64_t limit = INT32_MAX;
    struct json_out o;
    size_t first;

    if (s == NULL || !oc_limit(rq, &limit))
        return;
    collect(&all, oc->base.engine, s);
    first = first_of(&all, limit);
    o = oc_reply_open(rq);
    json_open(&o, '[');
    for (size_t i = first; i < all.count; i++) {
        struct oc_command c;

        take(&c, oc, s, &all.list[i]);
        if (i > first || (int64_t)(all.count - first) * 2 <= limit)
            oc_write_message(&o, &c, true);
        oc_write_message(&o, &c, false);
        oc_command_fini(&c);
    }
    json_close(&o, ']');
    oc_send(rq, &o);
    buf_fini(&all.buf);
}

void oc_session_message(struct http_request *rq)
{
    struct oc *oc = oc_of(rq);
    struct session *s = oc_session(rq);
    const char *id = http_param(rq, "message");
    struct doings all = {0};
    bool found = false;

    if (s == NULL)
        return;
    collect(&all, oc->base.engine, s);
    for (size_t i = 0; i < all.count && !found; i++) {
        struct json_out o = oc_reply_open(rq);
        struct oc_command c;

        take(&c, oc, s, &all.list[i]);
        found = strcmp(id, c.user) == 0 || strcmp(id, c.assistant) == 0;
        if (found) {
            oc_write_message(&o, &c, strcmp(id, c.user) == 0);
            oc_send(rq, &o);
        }
        oc_command_fini(&c);
    }
    buf_fini(&all.buf);
    if (!found)
        oc_named(rq, 404, "NotFoundError", "Message not found", NULL);
}
