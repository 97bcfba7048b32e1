/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_port_watch.c - POST /api/port-watch: reports when a port is listening and, in "http" mode,
 * replies as expected
 *
 * The daemon itself may not open sockets, so a short-lived process sends the probe.
 * Layer: dialects.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "dialects/cloudflare/cf_request.h"
#include "dialects/common/collect.h"
#include "engine/ports.h"

#define PROBE_TIMEOUT_MS 5000
#define PATH_BYTES 2048
#define STATUS_BYTES 7

/* Arguments: port and path. Prints the status of the response. */
static const char probe[] =
    "exec 3<>\"/dev/tcp/127.0.0.1/$1\" || exit 1\n"
    "printf 'GET %s HTTP/1.0\\r\\nHost: localhost:%s\\r\\nConnection: close\\r\\n\\r\\n' "
    "\"$2\" \"$1\" >&3\n"
    "IFS=' ' read -r _ status _ <&3 && printf %s \"$status\"";

struct cf_port_watch {
    struct call call;
    struct port_watch port;
    struct process *process; /* referenced; NULL: any listener */
    struct exit_waiter exit;
    struct timer *timer;              /* until the next probe */
    struct collect *probing;          /* NULL: no probe is under way */
    char *probe_path;                 /* NULL: a listener is enough */
    const char *mode, *path, *wanted; /* borrowed from the body while it is decoded */
    int64_t number, interval, status_min, status_max;
};

static void watching_release(struct call *c)
{
    struct cf_port_watch *w = (struct cf_port_watch *)c;

    if (w->probing != NULL)
        collect_abandon(w->probing, true);
    port_watch_cancel(&w->port);
    exit_waiter_cancel(&w->exit);
    timer_close(w->timer);
    process_unref(w->process);
    free(w->probe_path);
}

static const struct call_kind watching_kind = {.release = watching_release, .drain = cf_drain};

static struct json_out event(struct cf_port_watch *w, const char *type)
{
    struct json_out o = cf_event(&w->call, type);

    json_kint(&o, "port", w->port.port);
    return o;
}

static void watching_end(struct cf_port_watch *w, struct json_out *o)
{
    cf_event_send(&w->call, o);
    call_stream_end(&w->call);
}

static void watching_on_exit(void *arg, struct process *p)
{
    struct cf_port_watch *w = arg;
    struct json_out o = event(w, "process_exited");
    struct process_view v;

    process_view(p, &v);
    json_kint(&o, "exitCode", v.exit->exit_code);
    watching_end(w, &o);
}

/* --- the probe ------------------------------------------------------------------------------- */

static void probe_failed(void *arg, const struct hf_error *err)
{
    struct cf_port_watch *w = arg;
    struct json_out o = event(w, "error");

    w->probing = NULL;
    json_kstr(&o, "error", err->detail);
    watching_end(w, &o);
}

static void probe_done(void *arg, const struct collected *all)
{
    struct cf_port_watch *w = arg;
    char reply[STATUS_BYTES + 1];
    int64_t status = 0;
    struct json_out o;

    w->probing = NULL;
    snprintf(reply, sizeof reply, "%.*s", (int)all->out->len, buf_data(all->out));
    process_forget(all->process);
    if (!text_to_i64(reply, w->status_min, w->status_max, &status)) {
        timer_start(w->timer, (uint64_t)w->interval);
        return;
    }
    o = event(w, "ready");
    json_kint(&o, "statusCode", status);
    watching_end(w, &o);
}

static const struct collect_ops probe_ops = {.failed = probe_failed, .done = probe_done};

static void watching_probe(struct timer *t, void *arg)
{
    struct cf_port_watch *w = arg;
    char port[8];
    const char *args[] = {"-c", probe, "probe", port, w->probe_path};
    struct spawn_spec spec;
    struct hf_error err;

    (void)t;
    snprintf(port, sizeof port, "%u", w->port.port);
    spec_init(&spec);
    spec.command = "bash";
    spec.args = args;
    spec.arg_count = CF_COUNT(args);
    spec.stdin_mode = STDIN_NULL;
    spec.timeout_ms = PROBE_TIMEOUT_MS;
    if (collect_start(w->call.base->engine, &spec, STATUS_BYTES, &probe_ops, w, &w->probing, &err) <
        0)
        probe_failed(w, &err);
}

static void watching_on_port(void *arg, struct port_watch *p)
{
    struct cf_port_watch *w = arg;
    struct json_out o;

    (void)p;
    if (w->probe_path != NULL) {
        watching_probe(NULL, w);
        return;
    }
    o = event(w, "ready");
    watching_end(w, &o);
}

/* --- decoding --------------------------------------------------------------------------------- */

/* Reject anything that could end the request line. */
static bool path_is_fine(const char *path)
{
    if (path[0] != '/' || strlen(path) > PATH_BYTES)
        return false;
    for (; *path != '\0'; path++)
        if ((unsigned char)*path <= ' ' || *path == 0x7f)
            return false;
    return true;
}

#define FIELD(n, k, m, ...) CF_FIELD(struct cf_port_watch, n, k, m, __VA_ARGS__)

static const struct json_field fields[] = {
    FIELD("port", INT, number, .min = 1, .max = 65535),
    FIELD("mode", STR, mode),
    FIELD("path", STR, path),
    FIELD("statusMin", INT, status_min, .max = 999),
    FIELD("statusMax", INT, status_max, .max = 999),
    FIELD("interval", INT, interval, .min = 100, .max = 10000),
    FIELD("processId", STR, wanted),
};

/* False: replied. */
static bool watching_decode(struct cf_request *q, struct cf_port_watch *w)
{
    bool http;

    if (!cf_decode(q, fields, CF_COUNT(fields), w))
        return false;
    http = strcmp(w->mode, "http") == 0;
    if (w->number == 0 || (!http && strcmp(w->mode, "tcp") != 0) || !path_is_fine(w->path)) {
        cf_fail(q->call, 400, "VALIDATION_FAILED",
                "a port, mode http or tcp, and a path are required");
        return false;
    }
    /* A token that may only watch starts no process and probes no server. */
    if (http && q->role < ROLE_OWN) {
        cf_fail(q->call, 403, "PERMISSION_DENIED", "this token may only watch in mode tcp");
        return false;
    }
    w->probe_path = http ? hf_xstrdup(w->path) : NULL;
    if (w->wanted == NULL)
        return true;
    w->port.process = cf_find(q->cf, w->wanted);
    if (w->port.process == NULL) {
        cf_fail_about(q->call, 404, "PROCESS_NOT_FOUND", "Process not found", "processId",
                      w->wanted);
        return false;
    }
    w->process = process_ref(w->port.process);
    return true;
}

static void watching_init(struct cf_port_watch *w)
{
    w->mode = "http";
    w->path = "/";
    w->interval = 500;
    w->status_min = 200;
    w->status_max = 399;
    w->timer = timer_new(w->call.base->loop, watching_probe, w);
    list_init(&w->exit.link);
    w->exit.fn = watching_on_exit;
    w->exit.arg = w;
    w->port.any = true;
    w->port.fn = watching_on_port;
    w->port.arg = w;
}

void cf_port_watch(struct cf_request *q)
{
    struct cf_port_watch *w = cf_begin(q, &watching_kind, sizeof *w);
    struct json_out o;

    watching_init(w);
    if (!watching_decode(q, w))
        return;
    w->port.port = (uint16_t)w->number;
    cf_stream_begin(&w->call);
    o = event(w, "watching");
    cf_event_send(&w->call, &o);
    if (w->process != NULL)
        process_wait_exit(w->process, &w->exit);
    engine_watch_port(q->cf->base.engine, &w->port);
}
