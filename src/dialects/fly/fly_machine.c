/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_machine.c - one app's one machine, and one sprite, which always run. Layer: dialects.
 */
#include <string.h>

#include "dialects/common/end_call.h"
#include "dialects/fly/fly.h"

static void write_machine(struct json_out *o, const struct fly *f)
{
    json_kstr(o, "id", FLY_MACHINE);
    json_kstr(o, "name", FLY_MACHINE);
    json_kstr(o, "state", "started");
    json_kstr(o, "region", FLY_MACHINE);
    json_kstr(o, "instance_id", FLY_MACHINE);
    json_kstr(o, "private_ip", "::1");
    json_key(o, "config");
    json_raw(o, "{}", 2);
    json_ktime(o, "created_at", f->created_ms);
    json_ktime(o, "updated_at", f->created_ms);
}

void fly_machine_get(struct http_request *rq)
{
    struct json_out o;

    if (!fly_machine(rq))
        return;
    o = dialect_reply_open(dialect_base_of(rq));
    write_machine(&o, fly_of(rq));
    dialect_reply_send(rq, 200, &o);
}

void fly_machine_list(struct http_request *rq)
{
    struct fly *f = fly_of(rq);
    struct json_out o;

    buf_clear(&f->base.scratch);
    json_out_init(&o, &f->base.scratch);
    json_open(&o, '[');
    json_open(&o, '{');
    write_machine(&o, f);
    json_close(&o, '}');
    json_close(&o, ']');
    http_reply_json(rq, 200, &f->base.scratch);
}

void fly_app_get(struct http_request *rq)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));
    const char *app = http_param(rq, "app");

    json_kstr(&o, "id", app);
    json_kstr(&o, "name", app);
    json_kstr(&o, "status", "deployed");
    json_kstr(&o, "network", "default");
    json_key(&o, "organization");
    json_open(&o, '{');
    json_kstr(&o, "name", FLY_MACHINE);
    json_kstr(&o, "slug", FLY_MACHINE);
    json_close(&o, '}');
    json_kint(&o, "machine_count", 1);
    dialect_reply_send(rq, 200, &o);
}

/* It runs already, so nothing remains to be done. */
void fly_machine_start(struct http_request *rq)
{
    if (fly_machine(rq))
        dialect_reply_json(rq, 200, json_pack("{s:s}", "previous_state", "started"));
}

/* --- the sprite ------------------------------------------------------------------------------- */

static void write_sprite(struct json_out *o, const struct fly *f, const char *name)
{
    json_kstr(o, "id", FLY_MACHINE);
    json_kstr(o, "name", name);
    json_kstr(o, "organization", FLY_MACHINE);
    json_kstr(o, "status", "running");
    json_ktime(o, "created_at", f->created_ms);
    json_ktime(o, "updated_at", f->created_ms);
}

static void reply_sprite(struct http_request *rq, int status, const char *name)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    write_sprite(&o, fly_of(rq), name);
    dialect_reply_send(rq, status, &o);
}

void fly_sprite_get(struct http_request *rq)
{
    reply_sprite(rq, 200, http_param(rq, "sprite"));
}

/* It already exists, under any name. */
void fly_sprite_create(struct http_request *rq)
{
    static const struct json_field field = {.name = "name", .kind = JSON_F_STR, .required = true};
    json_auto_t *body = dialect_body(rq);
    struct hf_error err = {0};
    const char *name = NULL;

    if (body == NULL)
        return;
    if (json_decode_known(body, &field, 1, &name, &err) < 0)
        http_reply_error(rq, &err);
    else
        reply_sprite(rq, 201, name);
}

void fly_sprite_list(struct http_request *rq)
{
    const char *prefix = http_query(rq, "prefix");
    bool listed = prefix == NULL || strncmp(FLY_MACHINE, prefix, strlen(prefix)) == 0;
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_key(&o, "sprites");
    json_open(&o, '[');
    if (listed) {
        json_open(&o, '{');
        write_sprite(&o, fly_of(rq), FLY_MACHINE);
        json_close(&o, '}');
    }
    json_close(&o, ']');
    json_kbool(&o, "has_more", false);
    json_kint(&o, "running", listed);
    dialect_reply_send(rq, 200, &o);
}

static void delete_done(struct end_call *e, struct http_request *rq, const struct hf_error *err)
{
    (void)e, (void)err;
    if (rq != NULL)
        http_reply_empty(rq, 204);
}

/* Terminates what this dialect has started. The daemon may be shared, and it stays. */
void fly_sprite_delete(struct http_request *rq)
{
    struct engine *engine = dialect_base_of(rq)->engine;
    struct end_call *e = end_call_begin(rq, delete_done, sizeof *e);
    struct process *p = NULL;
    struct process_view v;

    while ((p = engine_next(engine, p)) != NULL) {
        process_view(p, &v);
        if (v.running && fly_is_mine(&v))
            end_call_terminate(e, p, 0);
    }
    end_call_wait(e);
}
