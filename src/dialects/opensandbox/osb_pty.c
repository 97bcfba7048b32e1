/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_pty.c - creates PTY sessions, finds their processes and restarts their shells. Layer:
 * dialects.
 */
#include "dialects/opensandbox/osb_pty.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/common/collect.h"
#include "dialects/common/uuid.h"
#include "dialects/opensandbox/osb_decode.h"
#include "dialects/opensandbox/osb_env.h"

#define PLAN_SCRIPT "[ -z \"$1\" ] || mkdir -p -- \"$1\""
#define PLAN_NAME "opensandbox-pty"
#define PLAN_CWD 3     /* in the arguments of the first process */
#define PLAN_COMMAND 4 /* if there is one */
#define ERROR_BYTES 2048

/* --- plans ---------------------------------------------------------------------- */

static void read_launched(const struct process_view *v, const json_t *meta, struct pty_plan *plan)
{
    size_t n = v->arg_count;

    plan->launched = true;
    plan->base = (uint64_t)json_integer_value(json_object_get(meta, "base"));
    plan->cwd = hf_xstrdup(json_string_value(json_object_get(meta, "cwd")));
    if (n >= 2 && strcmp(v->args[n - 2], "-c") == 0)
        plan->command = v->args[n - 1];
}

static void read_first(const struct process_view *v, struct pty_plan *plan)
{
    if (v->arg_count > PLAN_CWD && v->args[PLAN_CWD][0] != '\0')
        plan->cwd = hf_xstrdup(v->args[PLAN_CWD]);
    if (v->arg_count > PLAN_COMMAND)
        plan->command = v->args[PLAN_COMMAND];
}

bool osb_pty_plan_read(struct process *p, struct pty_plan *plan)
{
    json_auto_t *meta = NULL;
    const char *kind;
    struct process_view v;

    *plan = (struct pty_plan){.launched = true};
    process_view(p, &v);
    meta = json_parse(v.metadata_json, strlen(v.metadata_json), NULL);
    kind = json_string_value(json_object_get(meta, "opensandbox"));
    if (kind == NULL || v.tag == NULL)
        return false;
    plan->launched = false;
    if (strcmp(kind, "pty") == 0)
        read_launched(&v, meta, plan);
    else if (strcmp(kind, "pty-plan") == 0)
        read_first(&v, plan);
    else
        plan->launched = true;
    return strncmp(kind, "pty", 3) == 0;
}

void osb_pty_plan_fini(struct pty_plan *plan)
{
    free(plan->cwd);
}

/* --- shell runs ------------------------------------------------------------------- */

static void write_metadata(struct buf *out, const struct pty_plan *plan, uint64_t base)
{
    struct json_out j;

    json_out_init(&j, out);
    json_open(&j, '{');
    json_kstr(&j, "opensandbox", "pty");
    json_ku64(&j, "base", base);
    if (plan->cwd != NULL)
        json_kstr(&j, "cwd", plan->cwd);
    json_close(&j, '}');
}

int osb_pty_launch(struct osb *o, struct process *last, const struct pty_start *start,
                   spawn_done_fn *done, void *arg, struct hf_error *err)
{
    const char *shell = osb_shell(), *args[4];
    struct buf metadata = {0};
    struct spawn_spec spec;
    struct spec_env *vars;
    struct process_view v;
    struct pty_plan plan;
    size_t n = 0;
    int rc;

    (void)osb_pty_plan_read(last, &plan);
    process_view(last, &v);
    if (strcmp(shell, "bash") == 0) {
        args[n++] = "--norc";
        args[n++] = "--noprofile";
    }
    if (plan.command != NULL) {
        args[n++] = "-c";
        args[n++] = plan.command;
    }
    write_metadata(&metadata, &plan, plan.base + v.next);
    spec_init(&spec);
    spec.command = shell;
    spec.args = args;
    spec.arg_count = n;
    spec.cwd = plan.cwd;
    spec.tag = v.tag;
    spec.metadata_json = buf_cstr(&metadata);
    spec.pty = !start->pipes;
    spec.rows = start->rows;
    spec.cols = start->cols;
    spec.stdin_mode = start->pipes ? STDIN_PIPE : STDIN_DEFAULT;
    spec.source = SOURCE_AGENT;
    vars = osb_env_overlay(o, &spec.env, &spec.env_count);
    rc = engine_spawn(o->base.engine, &spec, done, arg, err);
    free(vars);
    buf_fini(&metadata);
    osb_pty_plan_fini(&plan);
    return rc;
}

struct process *osb_pty_earlier(struct osb *o, const char *tag, uint64_t base, uint64_t *at,
                                uint64_t *life_base)
{
    struct process *p = NULL, *found = NULL;
    uint64_t found_at = base;

    while ((p = engine_next(o->base.engine, p)) != NULL) {
        struct process_view v;
        struct pty_plan plan;
        uint64_t from;

        process_view(p, &v);
        if (v.tag == NULL || strcmp(v.tag, tag) != 0)
            continue;
        (void)osb_pty_plan_read(p, &plan);
        osb_pty_plan_fini(&plan);
        from = plan.base + v.first > *at ? plan.base + v.first : *at;
        if (!plan.launched || plan.base >= base || from >= plan.base + v.next || from >= found_at)
            continue;
        found = p;
        found_at = from;
        *life_base = plan.base;
    }
    *at = found_at;
    return found;
}

void osb_pty_forget(struct osb *o, struct process *p, const char *tag)
{
    struct process *it = engine_next(o->base.engine, NULL), *next;

    for (; it != NULL; it = next) {
        struct process_view v;
        struct pty_plan plan;
        bool ours = osb_pty_plan_read(it, &plan);

        osb_pty_plan_fini(&plan);
        process_view(it, &v);
        next = engine_next(o->base.engine, it);
        if (!v.running && (it == p || (ours && v.tag != NULL && strcmp(v.tag, tag) == 0)))
            process_forget(it);
    }
}

/* --- POST /pty --------------------------------------------------------------------- */

struct osb_pty_creation {
    struct call call;
    struct collect *collect; /* NULL: it has ended */
    char id[UUID_BYTES];
};

static void making_release(struct call *c)
{
    struct osb_pty_creation *m = (struct osb_pty_creation *)c;

    if (m->collect != NULL)
        collect_free(m->collect);
}

static const struct call_kind making_kind = {.release = making_release, .stays = true};

static void making_failed(void *arg, const struct hf_error *err)
{
    struct osb_pty_creation *m = arg;

    m->collect = NULL;
    osb_call_refuse(&m->call, 500, "RUNTIME_ERROR", err->detail);
}

/* mkdir's error message. */
static void refuse_directory(struct call *c, const struct buf *said)
{
    char text[ERROR_BYTES + 1];
    size_t len = said->len < ERROR_BYTES ? said->len : ERROR_BYTES;

    memcpy(text, said->len > 0 ? buf_data(said) : "", len);
    text[len] = '\0';
    text[strcspn(text, "\n")] = '\0';
    osb_call_refuse(c, 500, "RUNTIME_ERROR",
                    text[0] != '\0' ? text : "the directory cannot be created");
}

static void making_ended(void *arg, const struct collected *c)
{
    struct osb_pty_creation *m = arg;
    struct json_out j;

    m->collect = NULL;
    if (c->exit->code != 0 || m->call.rq == NULL)
        process_forget(c->process); /* no client knows its id */
    if (c->exit->code != 0) {
        refuse_directory(&m->call, c->err);
        return;
    }
    j = dialect_reply_open(m->call.base);
    json_kstr(&j, "session_id", m->id);
    call_send(&m->call, 201, &j);
}

static const struct collect_ops making_ops = {.failed = making_failed, .done = making_ended};

static void making_begin(struct http_request *rq, const struct osb_session_request *a)
{
    const char *args[] = {"-c", PLAN_SCRIPT, PLAN_NAME, a->cwd != NULL ? a->cwd : "", a->command};
    bool command = a->command != NULL && a->command[0] != '\0';
    struct osb_pty_creation *m = call_begin(rq, &making_kind, sizeof *m);
    struct spawn_spec spec;
    struct hf_error err;

    uuid_make(m->id);
    spec_init(&spec);
    spec.command = osb_shell();
    spec.args = args;
    spec.arg_count = PLAN_CWD + 1 + command;
    spec.tag = m->id;
    spec.label = "PTY session, not started yet";
    spec.metadata_json = "{\"opensandbox\":\"pty-plan\"}";
    spec.source = SOURCE_AGENT;
    if (collect_start(m->call.base->engine, &spec, ERROR_BYTES, &making_ops, m, &m->collect, &err) <
        0) {
        m->collect = NULL; /* freed */
        call_fail(&m->call, &err);
    }
}

void osb_pty_post(struct http_request *rq)
{
    json_auto_t *body = osb_body(rq);
    struct osb_session_request a;
    struct hf_error err;

    if (body == NULL || !osb_is_open(rq))
        return;
    if (osb_session_request_decode(&a, body, false, &err) < 0)
        osb_error(rq, &err);
    else
        making_begin(rq, &a);
    osb_session_request_fini(&a);
}

/* --- GET /pty/{id} --------------------------------------------------------------------- */

void osb_pty_get(struct http_request *rq)
{
    struct process *p = osb_process(rq);
    struct process_view v;
    struct pty_plan plan;
    struct json_out j;

    if (p == NULL)
        return;
    process_view(p, &v);
    (void)osb_pty_plan_read(p, &plan);
    j = dialect_reply_open(dialect_base_of(rq));
    json_kstr(&j, "session_id", http_param(rq, "id"));
    json_kbool(&j, "running", v.running);
    json_ku64(&j, "output_offset", plan.base + v.next);
    json_kbool(&j, "launch_attempted", plan.launched);
    json_kbool(&j, "launch_failed", false);
    if (plan.launched && !v.running)
        json_kint(&j, "exit_code", v.exit->code >= 0 ? v.exit->code : -1);
    dialect_reply_send(rq, 200, &j);
    osb_pty_plan_fini(&plan);
}
