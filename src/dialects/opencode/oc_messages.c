/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_messages.c - GET /session/{id}/message: what ran in a session, in order. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "dialects/opencode/oc_message.h"

/* One entry of a session, before it is written: a process, or a command of its shell. */
struct doing {
    int64_t began;
    uint64_t number; /* of the shell's command */
    struct process *process;
    struct session_command command;
};

struct doings {
    struct doing *list;
    size_t count, cap;
};

static struct doing *doing_add(struct doings *all)
{
    if (all->count == all->cap) {
        all->cap = all->cap > 0 ? all->cap * 2 : 32;
        all->list = hf_xrealloc(all->list, all->cap * sizeof *all->list);
    }
    all->list[all->count] = (struct doing){0};
    return &all->list[all->count++];
}

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
    struct doing *d;
    uint64_t at = 0;

    while (session_log_each(session_commands(s), &at, &c)) {
        d = doing_add(all);
        d->began = c.begin.started_wall_ms;
        d->number = c.begin.number;
        d->command = c;
    }
    while ((p = engine_next(e, p)) != NULL) {
        struct process_view v;

        if (!session_has_process(s, p))
            continue;
        process_view(p, &v);
        d = doing_add(all);
        d->began = v.created_ms;
        d->process = p;
    }
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
    free(all.list);
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
    free(all.list);
    if (!found)
        oc_named(rq, 404, "NotFoundError", "Message not found", NULL);
}
