/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_send.c - control messages to a WebSocket client. Layer: dialects.
 */
#include "dialects/native/json_reply.h"
#include "dialects/native/socket/connect.h"

/* Above this number of viewers only their count is sent: a list for each of many, at each arrival
 * and departure, would be most of the traffic. */
#define VIEWERS_LISTED 32

struct json_out connect_message(struct connect *c, const char *type)
{
    struct json_out o = dialect_reply_open(&c->native->base);

    json_kstr(&o, "type", type);
    return o;
}

/* Is the client reading what it has been sent? */
static bool has_room(const struct connect *c)
{
    return !console_is_closing(c->console) && ws_ready(console_ws(c->console));
}

void connect_send(struct connect *c, struct json_out *o)
{
    json_close(o, '}');
    if (!c->raw && !console_is_closing(c->console))
        ws_send_text(console_ws(c->console), buf_data(o->buf), o->buf->len);
}

/* Errors reply to what the client sent: a client that does not read them is sent no more. */
void connect_send_error(struct connect *c, const struct hf_error *err)
{
    struct json_out o;

    if (!has_room(c))
        return;
    o = connect_message(c, "error");
    json_kstr(&o, "code", hf_code_name(err->code));
    json_kstr(&o, "detail", err->detail);
    if (err->field[0] != '\0')
        json_kstr(&o, "field", err->field);
    connect_send(c, &o);
}

void connect_send_pong(struct connect *c)
{
    struct json_out o;

    if (!has_room(c))
        return;
    o = connect_message(c, "pong");
    connect_send(c, &o);
}

void connect_send_notice(struct connect *c, const char *code, const char *detail, const char *by)
{
    struct json_out o;

    if (!has_room(c))
        return;
    o = connect_message(c, "notice");
    json_kstr(&o, "code", code);
    json_kstr(&o, "detail", detail);
    if (by != NULL)
        json_kstr(&o, "by", by);
    connect_send(c, &o);
}

static void write_lease(struct connect *c, struct json_out *o, const char *key)
{
    struct lease_view v;

    json_key(o, key);
    if (!process_lease(c->process, connect_viewer(c), &v)) {
        json_nil(o);
        return;
    }
    json_open(o, '{');
    json_kstr(o, "client", v.has_client ? v.client : NULL);
    json_kstr(o, "name", v.name);
    json_kstr(o, "role", viewer_role_name(v.role));
    json_ktime(o, "since", v.since_ms);
    json_kbool(o, "mine", v.mine);
    json_close(o, '}');
}

static void write_viewer_list(struct connect *c, struct json_out *o, const char *key)
{
    if (process_viewer_count(c->process) > VIEWERS_LISTED) {
        json_knull(o, key);
        return;
    }
    json_key(o, key);
    process_write_viewers(c->process, connect_viewer(c), o);
}

static void write_size(struct json_out *o, const struct process_view *v)
{
    json_kint_if(o, "rows", v->pty, v->rows);
    json_kint_if(o, "cols", v->pty, v->cols);
}

void connect_send_hello(struct connect *c)
{
    struct json_out o = connect_message(c, "hello");
    struct process_view v;

    process_view(c->process, &v);
    json_kstr(&o, "protocol", CONNECT_PROTOCOL);
    json_key(&o, "process");
    process_write_json(c->process, &o);
    json_ku64(&o, "offset", viewer_offset(connect_viewer(c)));
    json_ku64(&o, "replay_until", viewer_replay_until(connect_viewer(c)));
    json_ku64(&o, "input_offset", viewer_input_offset(connect_viewer(c)));
    json_kstr(&o, "role", http_role_name(c->role));
    write_size(&o, &v);
    write_viewer_list(c, &o, "viewers");
    write_lease(c, &o, "lease");
    connect_send(c, &o);
    /* hello included them */
    c->owes_size = c->owes_viewers = c->owes_title = c->owes_lease = false;
}

static void send_size(struct connect *c)
{
    struct json_out o = connect_message(c, "size");
    struct process_view v;

    process_view(c->process, &v);
    write_size(&o, &v);
    json_kstr(&o, "by", c->size_by);
    connect_send(c, &o);
}

static void send_viewers(struct connect *c)
{
    struct json_out o = connect_message(c, "viewers");

    json_ku64(&o, "count", process_viewer_count(c->process));
    write_viewer_list(c, &o, "list");
    connect_send(c, &o);
}

static void send_title(struct connect *c)
{
    struct json_out o = connect_message(c, "title");
    struct process_view v;

    process_view(c->process, &v);
    json_kstr(&o, "title", v.title);
    connect_send(c, &o);
}

static void send_ack(struct connect *c)
{
    struct json_out o = connect_message(c, "input_ack");

    json_ku64(&o, "offset", viewer_input_offset(connect_viewer(c)));
    connect_send(c, &o);
}

static void send_lease(struct connect *c)
{
    struct json_out o = connect_message(c, "lease");

    write_lease(c, &o, "holder");
    json_kstr(&o, "why", c->lease_why);
    connect_send(c, &o);
}

static void send_request(struct connect *c)
{
    connect_send_notice(c, "lease_requested", "another viewer requests the input lease",
                        c->request_by);
}

/* Reports what changed while the socket was full: once, with the current value. */
void connect_send_owed(struct connect *c)
{
    static const struct {
        size_t flag;
        void (*send)(struct connect *c);
    } debts[] = {
        {offsetof(struct connect, owes_size), send_size},
        {offsetof(struct connect, owes_viewers), send_viewers},
        {offsetof(struct connect, owes_title), send_title},
        {offsetof(struct connect, owes_ack), send_ack},
        {offsetof(struct connect, owes_lease), send_lease},
        {offsetof(struct connect, owes_request), send_request},
    };

    for (size_t i = 0; i < sizeof debts / sizeof *debts; i++) {
        bool *owes = (bool *)((char *)c + debts[i].flag);

        if (!*owes || !has_room(c))
            continue;
        *owes = false;
        debts[i].send(c);
    }
}
