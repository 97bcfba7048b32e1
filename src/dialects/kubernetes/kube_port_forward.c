/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_port_forward.c - starts the relay process for one port and passes bytes. Layer: dialects.
 */
#include "dialects/kubernetes/kube_port_forward.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/common/file_op.h"

/* In the child this is the keeper's own binary, wherever it is installed and even if it was
 * replaced. */
#define OWN_BINARY "/proc/self/exe"

static bool on_ready(void *arg)
{
    struct forward *f = arg;

    return f->ops->ready(f->arg);
}

static void note_why(struct forward *f, const char *text, size_t len)
{
    size_t have = strlen(f->why), room = sizeof f->why - 1 - have;

    len = len < room ? len : room;
    memcpy(f->why + have, text, len);
    f->why[have + len] = '\0';
    f->why[strcspn(f->why, "\n")] = '\0';
}

static void on_bytes(void *arg, enum stream stream, const char *bytes, size_t len)
{
    struct forward *f = arg;

    if (stream == STREAM_STDERR)
        note_why(f, bytes, len);
    else
        f->ops->bytes(f->arg, bytes, len);
}

/* The viewer is lossless, so this does not happen. If it did, all bytes after the gap would be
 * wrong. */
static void on_gap(void *arg, uint64_t bytes)
{
    struct forward *f = arg;
    char text[64];

    snprintf(text, sizeof text, "%llu bytes were lost", (unsigned long long)bytes);
    f->ops->ended(f->arg, text);
}

static void on_room(void *arg)
{
    struct forward *f = arg;

    f->ops->room(f->arg);
}

static void on_ended(void *arg, const struct exit_record *x)
{
    struct forward *f = arg;

    if (x->exit_code != 0 && f->why[0] == '\0')
        note_why(f, "the relay was terminated", strlen("the relay was terminated"));
    f->ops->ended(f->arg, f->why);
}

static void on_failed(void *arg, const struct hf_error *err)
{
    struct forward *f = arg;

    f->ops->ended(f->arg, err->detail);
}

static const struct tap_ops tap_ops = {
    .ready = on_ready,
    .bytes = on_bytes,
    .gap = on_gap,
    .room = on_room,
    .ended = on_ended,
    .failed = on_failed,
};

void forward_begin(struct forward *f, struct kube *k, uint16_t port, const char *peer,
                   const struct forward_ops *ops, void *arg)
{
    struct viewer_options v = viewer_own(0);
    char number[8];
    const char *const args[] = {"port-relay", number};
    struct spawn_spec spec;

    *f = (struct forward){.ops = ops, .arg = arg};
    snprintf(number, sizeof number, "%u", (unsigned)port);
    spec_init(&spec);
    spec.command = OWN_BINARY;
    spec.argv0 = "holdfast";
    spec.args = args;
    spec.arg_count = sizeof args / sizeof *args;
    spec.cwd = "/";
    spec.clear_env = true;
    spec.source = SOURCE_SYSTEM;
    spec.helper = true;
    spec.label = "port";
    spec.stdin_mode = STDIN_PIPE;
    v.read_only = false;
    v.role = VIEWER_OWN;
    v.name = peer;
    kube_stream_init(&f->tap, &tap_ops, f, true, LIMIT_KUBE_FORWARD_HELD_BYTES);
    f->tap.hold_on = true;
    kube_stream_spawn(&f->tap, k->base.engine, &k->base.pending, &spec, &v);
}

void forward_fini(struct forward *f)
{
    struct process *p = f->tap.process != NULL ? process_ref(f->tap.process) : NULL;

    kube_stream_fini(&f->tap);
    if (p != NULL)
        file_op_end(p);
    process_unref(p);
}

size_t forward_type(struct forward *f, const char *bytes, size_t len)
{
    return kube_stream_type(&f->tap, bytes, len);
}

void forward_type_eof(struct forward *f)
{
    kube_stream_type_eof(&f->tap);
}

void forward_pump(struct forward *f)
{
    kube_stream_pump(&f->tap);
}

uint16_t forward_port(const char *text)
{
    int64_t port = 0;

    return text != NULL && text_to_i64(text, 1, 65535, &port) ? (uint16_t)port : 0;
}

void kube_portforward(struct http_request *rq)
{
    if (!kube_is_pod(rq))
        return;
    if (http_is_websocket(rq))
        forward_ws(rq);
    else
        forward_spdy(rq);
}
