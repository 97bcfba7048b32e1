/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_control.c - text messages from a WebSocket client
 *
 * An invalid message gets an error reply and is otherwise ignored: a terminal should not close
 * because of a typo. Layer: dialects.
 */
#include "dialects/native/socket/connect_control.h"

#include <string.h>

#include "base/braces.h"
#include "dialects/native/native_decode.h"
#include "dialects/native/socket/connect.h"

struct connect_control_body {
    const char *type, *target, *action;
    json_t *signal;
    int64_t rows, cols, offset;
};

#define F(kind, member, ...) JSON_FIELD(kind, struct connect_control_body, member, __VA_ARGS__)
#define F_TYPE F(STR, type, .required = true)
static const struct json_field plain_fields[] = {F_TYPE};
static const struct json_field resize_fields[] = {
    F_TYPE,
    F(INT, rows, .min = INT64_MIN, .max = INT64_MAX, .required = true),
    F(INT, cols, .min = INT64_MIN, .max = INT64_MAX, .required = true),
};
static const struct json_field signal_fields[] = {
    F_TYPE,
    F(ANY, signal, .required = true),
    F(STR, target),
};
static const struct json_field ack_fields[] = {
    F_TYPE,
    F(INT, offset, .min = 0, .max = INT64_MAX, .required = true),
};
static const struct json_field lease_fields[] = {F_TYPE, F(STR, action, .required = true)};
#undef F

#define ROW(name, fields) BRACES(name, fields, sizeof(fields) / sizeof *(fields))
static const struct {
    const char *name;
    const struct json_field *fields;
    size_t count;
} types[] = {
    [CONTROL_RESIZE] = ROW("resize", resize_fields),
    [CONTROL_SIGNAL] = ROW("signal", signal_fields),
    [CONTROL_EOF] = ROW("eof", plain_fields),
    [CONTROL_ACK] = ROW("ack", ack_fields),
    [CONTROL_DETACH] = ROW("detach", plain_fields),
    [CONTROL_LEASE] = ROW("lease", lease_fields),
    [CONTROL_PING] = ROW("ping", plain_fields),
};
#define TYPE_COUNT (sizeof types / sizeof *types)

/* The index in types, or an error. */
static int find_type(const json_t *tree, struct hf_error *err)
{
    const json_t *v = json_object_get(tree, "type");
    const char *name;

    if (!json_is_object(tree))
        return hf_fail(err, HF_E_bad_type, "a control message must be a JSON object");
    if (v == NULL)
        return hf_fail_field(err, HF_E_missing_field, "type", "\"type\" is required");
    name = json_text(v, "type", err);
    if (name == NULL)
        return -1;
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0)
            return (int)i;
    }
    if (strcmp(name, "role") == 0)
        return hf_fail_field(err, HF_E_not_implemented, "type",
                             "this version does not support \"%s\" requests", name);
    return hf_fail_field(
        err, HF_E_bad_value, "type",
        "\"%.40s\" is not a message type; use resize, signal, eof, ack, lease, ping or detach",
        name);
}

int control_decode(const char *text, size_t len, struct control *out, struct hf_error *err)
{
    json_auto_t *tree = json_parse(text, len, err);
    static const char *const actions[] = {"take", "release", "request", NULL};
    struct connect_control_body b = {0};
    int type, action;

    if (tree == NULL || (type = find_type(tree, err)) < 0 ||
        json_decode(tree, types[type].fields, types[type].count, &b, err) < 0)
        return -1;
    *out = (struct control){
        .type = (enum control_type)type, .rows = b.rows, .cols = b.cols, .offset = b.offset};
    if (out->type == CONTROL_RESIZE)
        return check_size(b.rows, b.cols, err);
    if (out->type == CONTROL_LEASE) {
        action = check_word(b.action, "action", actions, err);
        out->action = (enum lease_action)action;
        return action < 0 ? action : 0;
    }
    if (out->type == CONTROL_SIGNAL)
        return check_signal_decode(b.signal, b.target, &out->signum, &out->target, err);
    return 0;
}

static int check_may_type(const struct connect *c, struct hf_error *err)
{
    if (c->role >= ROLE_TYPE)
        return 0;
    return hf_fail(err, HF_E_forbidden, "this connection may only watch");
}

static int control_resize(struct connect *c, const struct control *m, struct hf_error *err)
{
    if (check_may_type(c, err) < 0)
        return -1;
    return viewer_resize(connect_viewer(c), m->rows, m->cols, err);
}

static int control_signal(struct connect *c, const struct control *m, struct hf_error *err)
{
    if (check_signal_role(m->signum, c->role, err) < 0)
        return -1;
    /* The client learns the effect from what the process does. */
    return process_signal(c->process, m->signum, m->target, NULL, NULL, err);
}

static int control_eof(struct connect *c, struct hf_error *err)
{
    int rc;

    if (check_may_type(c, err) < 0)
        return -1;
    rc = viewer_input_eof(connect_viewer(c), err);
    if (rc < 0 && err->code == HF_E_lease_held) {
        connect_send_notice(c, "lease_held", err->detail, NULL);
        return 0;
    }
    return rc;
}

static int control_lease(struct connect *c, const struct control *m, struct hf_error *err)
{
    switch (m->action) {
    case LEASE_TAKE: return viewer_lease_take(connect_viewer(c), err);
    case LEASE_RELEASE: return viewer_lease_release(connect_viewer(c), err);
    default: return viewer_lease_request(connect_viewer(c), err);
    }
}

static int control_apply(struct connect *c, const struct control *m, struct hf_error *err)
{
    switch (m->type) {
    case CONTROL_RESIZE: return control_resize(c, m, err);
    case CONTROL_SIGNAL: return control_signal(c, m, err);
    case CONTROL_EOF: return control_eof(c, err);
    case CONTROL_LEASE: return control_lease(c, m, err);
    case CONTROL_ACK: viewer_ack(connect_viewer(c), (uint64_t)m->offset); return 0;
    case CONTROL_PING: connect_send_pong(c); return 0;
    case CONTROL_DETACH:
        viewer_leave(connect_viewer(c));
        console_close(c->console, 1000, "detached");
        return 0;
    }
    return 0;
}

void control_on_text(struct connect *c, const char *text, size_t len)
{
    struct control m;
    struct hf_error err;

    if (control_decode(text, len, &m, &err) < 0 || control_apply(c, &m, &err) < 0)
        connect_send_error(c, &err);
}
