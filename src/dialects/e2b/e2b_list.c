/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_list.c - List: every running process, whatever started it
 *
 * The list includes the variables that a process was started with. The engine does not keep them,
 * and its metadata would reveal them to every viewer and link holder; they may be secrets. So they
 * are noted here until the exit, and a new worker has none. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/common/file_op.h"
#include "dialects/e2b/e2b_rpc.h"

struct note {
    struct list link;
    struct exit_waiter waiter;
    const struct process *process; /* alive, or the waiter would have run */
    char *envs, *cwd;
};

static void note_free(struct note *n)
{
    exit_waiter_cancel(&n->waiter);
    list_remove(&n->link);
    if (n->envs != NULL)
        hf_wipe(n->envs, strlen(n->envs));
    free(n->envs);
    free(n->cwd);
    free(n);
}

static void note_on_exit(void *arg, struct process *p)
{
    (void)p;
    note_free(arg);
}

void e2b_note(struct e2b *e, struct process *p, const json_t *envs, const char *cwd)
{
    struct note *n;

    if (json_object_size(envs) == 0 && cwd == NULL)
        return;
    n = hf_xalloc(sizeof *n);
    n->process = p;
    n->envs = json_object_size(envs) == 0 ? NULL : json_dumps(envs, JSON_COMPACT);
    n->cwd = hf_xstrdup(cwd);
    list_init(&n->waiter.link);
    n->waiter.fn = note_on_exit;
    n->waiter.arg = n;
    list_append(&e->notes, &n->link);
    process_wait_exit(p, &n->waiter);
}

void e2b_notes_free(struct e2b *e)
{
    while (!list_is_empty(&e->notes))
        note_free(list_entry(e->notes.next, struct note, link));
}

static const struct note *note_of(const struct e2b *e, const struct process *p)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->notes) {
        const struct note *n = list_entry(it, struct note, link);
        if (n->process == p)
            return n;
    }
    return NULL;
}

/* Secrets are only for callers that could have set them. */
static void write_config(struct json_out *o, const struct process_view *v, const struct note *n,
                         enum role role)
{
    json_kopen(o, "config", '{');
    json_kstr(o, "cmd", v->command);
    json_kopen(o, "args", '[');
    for (size_t i = 0; i < v->arg_count; i++)
        json_str(o, v->args[i]);
    json_close(o, ']');
    json_key(o, "envs");
    if (n != NULL && n->envs != NULL && role >= ROLE_OWN)
        json_raw(o, n->envs, strlen(n->envs));
    else
        json_raw(o, "{}", 2);
    json_kstr(o, "cwd", n != NULL && n->cwd != NULL ? n->cwd : v->cwd);
    json_close(o, '}');
}

void e2b_list(struct http_request *rq)
{
    struct e2b *e = e2b_of(rq);
    struct process *p = NULL;
    enum rpc_codec codec;
    json_auto_t *message = e2b_rpc_request(rq, &e2b_empty, false, &codec);
    struct json_out o;

    if (message == NULL)
        return;
    o = dialect_reply_open(&e->base);
    json_kopen(&o, "processes", '[');
    while ((p = engine_next(e->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (!v.running || file_op_is(&v))
            continue;
        json_open(&o, '{');
        write_config(&o, &v, note_of(e, p), http_role(rq));
        json_kint(&o, "pid", v.pid);
        if (v.tag != NULL)
            json_kstr(&o, "tag", v.tag);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    json_close(&o, '}');
    e2b_rpc_reply(rq, &e2b_list_response, codec, &e->base.scratch);
}
