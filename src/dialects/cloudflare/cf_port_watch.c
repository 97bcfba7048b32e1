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
#include "dialects/cloudflare/cf_exec.h"
#include "dialects/cloudflare/cf_run.h"
#include "engine/ports.h"

#define PROBE_TIMEOUT_MS 5000
#define PATH_BYTES 2048

/* Arguments: port and path. Prints the status of the response. */
static const char probe[] =
    "exec 3<>\"/dev/tcp/127.0.0.1/$1\" || exit 1\n"
    "printf 'GET %s HTTP/1.0\\r\\nHost: localhost:%s\\r\\nConnection: close\\r\\n\\r\\n' "
    "\"$2\" \"$1\" >&3\n"
    "IFS=' ' read -r _ status _ <&3 && printf %s \"$status\"";

struct cf_port_watch_watching {
    struct cf_call *call;
    struct port_watch port;
    struct process *process; /* referenced; NULL: any listener */
    struct exit_waiter exit;
    struct timer *timer; /* until the next probe */
    struct cf_run *run;
    char *path; /* NULL: a listener is enough */
    char reply[8];
    size_t reply_len;
    int64_t interval, status_min, status_max;
};

static void watching_free(struct cf_port_watch_watching *w)
{
    port_watch_cancel(&w->port);
    exit_waiter_cancel(&w->exit);
    timer_close(w->timer);
    process_unref(w->process);
    free(w->path);
    free(w);
}

static void watching_closed(void *arg, enum cf_close_reason why)
{
    struct cf_port_watch_watching *w = arg;

    (void)why;
    if (w->run != NULL)
        cf_run_leave(w->run, true);
    watching_free(w);
}

static const struct cf_wait_ops wait_ops = {.closed = watching_closed};

static struct json_out event(struct cf_port_watch_watching *w, const char *type)
{
    struct json_out o = cf_event(w->call, type);

    json_kint(&o, "port", w->port.port);
    return o;
}

static void watching_end(struct cf_port_watch_watching *w, struct json_out *o)
{
    struct cf_run *run = w->run;

    cf_event_send(w->call, o);
    cf_stream_end(w->call);
    watching_free(w);
    if (run != NULL)
        cf_run_leave(run, true);
}

static void watching_on_exit(void *arg, struct process *p)
{
    struct cf_port_watch_watching *w = arg;
    struct json_out o = event(w, "process_exited");
    struct process_view v;

    process_view(p, &v);
    json_kint(&o, "exitCode", v.exit->exit_code);
    watching_end(w, &o);
}

/* --- the probe ------------------------------------------------------------------------------- */

static void probe_bytes(void *arg, const struct slice *s)
{
    struct cf_port_watch_watching *w = arg;
    size_t room = sizeof w->reply - 1 - w->reply_len, n = s->len < room ? s->len : room;

    if (s->stream != STREAM_STDOUT)
        return;
    memcpy(w->reply + w->reply_len, s->bytes, n);
    w->reply_len += n;
}

static void probe_failed(void *arg, const struct hf_error *err)
{
    struct cf_port_watch_watching *w = arg;
    struct json_out o = event(w, "error");

    w->run = NULL;
    json_kstr(&o, "error", err->detail);
    watching_end(w, &o);
}

static void probe_done(void *arg, const struct session_followed *f)
{
    struct cf_port_watch_watching *w = arg;
    int64_t status = 0;
    struct json_out o;

    (void)f;
    w->run = NULL;
    w->reply[w->reply_len] = '\0';
    if (!text_to_i64(w->reply, w->status_min, w->status_max, &status)) {
        timer_start(w->timer, (uint64_t)w->interval);
        return;
    }
    o = event(w, "ready");
    json_kint(&o, "statusCode", status);
    watching_end(w, &o);
}

static const struct cf_run_ops probe_ops = {
    .bytes = probe_bytes,
    .failed = probe_failed,
    .done = probe_done,
};

static void watching_probe(struct timer *t, void *arg)
{
    struct cf_port_watch_watching *w = arg;
    struct cf_run_request request = {.timeout_ms = PROBE_TIMEOUT_MS};
    char port[8];
    json_auto_t *argv = NULL;

    (void)t;
    w->reply_len = 0;
    snprintf(port, sizeof port, "%u", w->port.port);
    argv = json_pack("[ssssss]", "bash", "-c", probe, "probe", port, w->path);
    request.argv = argv;
    cf_run(cf_call_cf(w->call), &request, &probe_ops, w, &w->run);
}

static void watching_on_port(void *arg, struct port_watch *p)
{
    struct cf_port_watch_watching *w = arg;
    struct json_out o;

    (void)p;
    if (w->path != NULL) {
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

static bool watching_decode(struct cf_call *c, struct cf_port_watch_watching *w)
{
    const char *mode = "http", *path = "/", *process = NULL;
    int64_t port = 0;

    if (cf_body(c) == NULL || !cf_int(c, "port", 1, 65535, &port) ||
        !cf_text(c, "mode", false, &mode) || !cf_text(c, "path", false, &path) ||
        !cf_int(c, "statusMin", 0, 999, &w->status_min) ||
        !cf_int(c, "statusMax", 0, 999, &w->status_max) ||
        !cf_int(c, "interval", 100, 10000, &w->interval) ||
        !cf_text(c, "processId", false, &process))
        return false;
    if (port == 0 || (strcmp(mode, "http") != 0 && strcmp(mode, "tcp") != 0) ||
        !path_is_fine(path)) {
        cf_fail(c, 400, "VALIDATION_FAILED", "a port, mode http or tcp, and a path are required");
        return false;
    }
    /* A token that may only watch starts no process and probes no server. */
    if (strcmp(mode, "http") == 0 && cf_call_role(c) < ROLE_OWN) {
        cf_fail(c, 403, "PERMISSION_DENIED", "this token may watch in mode tcp only");
        return false;
    }
    w->port.port = (uint16_t)port;
    w->path = strcmp(mode, "http") == 0 ? hf_xstrdup(path) : NULL;
    if (process == NULL)
        return true;
    w->process = cf_find(cf_call_cf(c), process);
    if (w->process != NULL)
        process_ref(w->process);
    else
        cf_fail_about(c, 404, "PROCESS_NOT_FOUND", "Process not found", "processId", process);
    return w->process != NULL;
}

void cf_port_watch(struct cf_call *c)
{
    struct cf_port_watch_watching *w = hf_xalloc(sizeof *w);
    struct cf *cf = cf_call_cf(c);
    struct json_out o;

    w->call = c;
    w->interval = 500;
    w->status_min = 200;
    w->status_max = 399;
    list_init(&w->exit.link);
    if (!watching_decode(c, w)) {
        watching_free(w);
        return;
    }
    w->timer = timer_new(cf->base.loop, watching_probe, w);
    w->exit.fn = watching_on_exit;
    w->exit.arg = w;
    w->port.process = w->process;
    w->port.any = true;
    w->port.fn = watching_on_port;
    w->port.arg = w;
    cf_wait(c, &wait_ops, w);
    cf_stream_begin(c);
    o = event(w, "watching");
    cf_event_send(c, &o);
    if (w->process != NULL)
        process_wait_exit(w->process, &w->exit);
    engine_watch_port(cf->base.engine, &w->port);
}
