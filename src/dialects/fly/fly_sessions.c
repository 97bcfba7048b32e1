/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_sessions.c - processes as Fly's clients see them: the sessions of a sprite. Layer: dialects.
 */
#include <string.h>

#include "base/clock.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_limits.h"

void fly_command_line(const struct process_view *v, struct buf *out)
{
    buf_puts(out, v->command);
    for (size_t i = 0; i < v->arg_count; i++) {
        buf_putc(out, ' ');
        buf_puts(out, v->args[i]);
    }
}

bool fly_is_mine(const struct process_view *v)
{
    json_auto_t *meta = json_loads(v->metadata_json, 0, NULL);
    const char *via = json_string_value(json_object_get(meta, "via"));

    return via != NULL && strcmp(via, "fly") == 0;
}

int fly_exit_of(const struct hf_error *err)
{
    if (err->code != HF_E_spawn_failed)
        return 0;
    return err->errno_name != NULL && strcmp(err->errno_name, "ENOENT") == 0 ? 127 : 126;
}

void fly_put_reason(struct buf *out, const struct hf_error *err)
{
    buf_printf(out, "%s\n", err->detail);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The rate is the average over its whole life: nothing samples it more often. */
static void write_session(struct json_out *o, const struct process_view *v)
{
    int64_t age_ms = clock_wall_ms() - v->created_ms;
    int64_t active_ms = later(v->last_input_ms, v->last_output_ms);
    struct buf line = {0};

    fly_command_line(v, &line);
    json_open(o, '{');
    json_kstr(o, "id", v->id);
    json_key(o, "command");
    json_strn(o, buf_data(&line), line.len);
    json_kstr(o, "workdir", v->cwd);
    json_ktime(o, "created", v->created_ms);
    json_ku64(o, "bytes_per_second", v->next * 1000 / (uint64_t)later(age_ms, 1000));
    json_kbool(o, "is_active", v->running);
    json_kbool(o, "tty", v->pty);
    if (active_ms > 0)
        json_ktime(o, "last_activity", active_ms);
    json_close(o, '}');
    buf_fini(&line);
}

/* Running ones, the newest first. */
void fly_session_list(struct http_request *rq)
{
    struct fly *f = fly_of(rq);
    struct json_out o = dialect_reply_open(&f->base);
    struct process *p = NULL;
    size_t n = 0;

    json_key(&o, "sessions");
    json_open(&o, '[');
    while (n < LIMIT_FLY_LIST && (p = engine_next(f->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (!v.running)
            continue;
        write_session(&o, &v);
        n++;
    }
    json_close(&o, ']');
    dialect_reply_send(rq, 200, &o);
}
