/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_attach.c - POST …/attach: a stream to a process, running or not yet started; …/attach/ws
 * is the same for browsers. Layer: dialects.
 */
#include "base/detach_keys.h"
#include "dialects/common/console.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_stream.h"

/*
 * A process started elsewhere accepts input, but its input does not end when this client
 * disconnects.
 */
static bool opens_stdin(const struct docker_entry *b)
{
    return b->config == NULL || docker_flag(b->config, "stdin");
}

static enum stream_since since_of(const struct http_request *rq)
{
    bool logs = docker_query(rq, "logs"), stream = docker_query(rq, "stream");

    if (logs)
        return stream ? STREAM_WHOLE : STREAM_LOG;
    return stream ? STREAM_NOW : STREAM_NOTHING;
}

/* False: the request has been replied to. */
static bool attach_allowed(struct http_request *rq, const struct docker_entry *b)
{
    struct detach_keys keys;
    struct hf_error err = {0};

    if (b->kind == DOCKER_ENTRY_SANDBOX)
        docker_fail(rq, 409, "the sandbox has no process of its own to attach to: use exec");
    else if (b->kind == DOCKER_ENTRY_CREATED && b->created->state == CREATED_FAILED)
        docker_fail(rq, 409, "container %s could not be started: %s", b->id, b->created->error);
    else if (docker_decode_keys(&keys, http_query(rq, "detachKeys"), &err) < 0)
        docker_error(rq, &err);
    else if (docker_query(rq, "stdin") && opens_stdin(b) && http_role(rq) < ROLE_TYPE)
        docker_fail(rq, 403, "this token may only watch: attach without input (--no-stdin)");
    else
        return true;
    return false;
}

static void attach_open(struct http_request *rq, struct docker_entry *b)
{
    const struct docker_stream_request request = {
        .in = docker_query(rq, "stdin") && opens_stdin(b),
        .out = docker_query(rq, "stdout"),
        .err = docker_query(rq, "stderr"),
        .framed = !docker_entry_tty(b),
        .tty = docker_entry_tty(b),
        .close_stdin = docker_flag(b->config, "once"),
        .own = b->kind == DOCKER_ENTRY_CREATED,
        .since = b->kind == DOCKER_ENTRY_CREATED ? STREAM_WHOLE : since_of(rq),
        .keys = http_query(rq, "detachKeys"),
    };
    struct hf_error err = {0};

    if (stream_open(rq, &request, b->process, b->created, &err) < 0)
        docker_error(rq, &err);
}

void docker_attach(struct http_request *rq)
{
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (attach_allowed(rq, &b))
        attach_open(rq, &b);
}

/* --- by WebSocket -------------------------------------------------------------------- */

static const struct console_ops ws_ops = {0};

/* One stream of bytes without frames; text messages are input, too. */
static void ws_open(struct http_request *rq, const struct docker_entry *b)
{
    bool all = docker_query(rq, "logs");
    const struct console_open o = {
        .process = b->process,
        .viewer = {.since = all ? SINCE_OFFSET : SINCE_NOW,
                   .offset = all ? journal_first(process_journal(b->process)) : 0,
                   .read_only = !docker_query(rq, "stdin"),
                   .verbatim = !docker_entry_tty(b),
                   .only_stream = -1},
        .ops = &ws_ops,
    };
    struct hf_error err;

    if (console_open(rq, &o, &err) == NULL && err.code != HF_OK)
        docker_error(rq, &err);
}

void docker_attach_ws(struct http_request *rq)
{
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (b.kind == DOCKER_ENTRY_PROCESS)
        ws_open(rq, &b);
    else
        docker_fail(rq, 409, "container %s has no process to attach to", b.id);
}
