/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_metrics.c - samples /proc and serves GET /metrics and /metrics/watch. Layer: dialects.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "dialects/opensandbox/osb.h"

#define SAMPLE_MS 100       /* between the two samples of a first request */
#define SAMPLE_OLD_MS 60000 /* an older sample is outdated */
#define WATCH_MS 2000

/* --- sampling ----------------------------------------------------------------------- */

/* Per cent since the last sample, in tenths. */
static uint64_t load_since(struct machine_cpu *last)
{
    struct machine_cpu now = *last;
    uint64_t load = machine_read_cpu(&now) ? machine_load_between(last, &now) : 0;

    *last = now;
    return load / 10;
}

static void put_tenths(struct json_out *j, const char *key, uint64_t tenths)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)(tenths / 10),
                     (unsigned long long)(tenths % 10));

    json_key(j, key);
    json_raw(j, text, (size_t)n);
}

static void write_metrics(struct json_out *j, struct machine_cpu *last)
{
    struct machine_memory m;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    machine_read_memory(&m);
    json_kint(j, "cpu_count", cpus > 0 ? cpus : 1);
    put_tenths(j, "cpu_used_pct", load_since(last));
    put_tenths(j, "mem_total_mib", m.total_kib * 10 / 1024);
    put_tenths(j, "mem_used_mib", (m.total_kib - m.available_kib) * 10 / 1024);
    json_kint(j, "timestamp", clock_wall_ms());
}

/* --- GET /metrics and /metrics/watch ---------------------------------------------------- */

struct osb_metrics_call {
    struct call call; /* with a stream: GET /metrics/watch */
    struct timer *timer;
    struct machine_cpu last;
};

static void metrics_release(struct call *c)
{
    timer_close(((struct osb_metrics_call *)c)->timer);
}

static void metrics_reply(struct osb_metrics_call *m)
{
    struct json_out j = dialect_reply_open(m->call.base);

    write_metrics(&j, &m->last);
    ((struct osb *)m->call.base)->load = m->last;
    call_send(&m->call, 200, &j);
}

static void metrics_drain(struct call *c)
{
    if (c->out == NULL)
        metrics_reply((struct osb_metrics_call *)c);
    else
        call_stream_end(c);
}

static const struct call_kind metrics_kind = {.release = metrics_release, .drain = metrics_drain};

static void metrics_send(struct osb_metrics_call *m)
{
    struct json_out j = dialect_reply_open(m->call.base);
    struct iovec iov;

    write_metrics(&j, &m->last);
    json_close(&j, '}');
    buf_putc(j.buf, '\n');
    iov = (struct iovec){buf_data(j.buf), j.buf->len};
    if (http_stream_ready(m->call.out))
        http_stream_write(m->call.out, &iov, 1);
    timer_start(m->timer, WATCH_MS);
}

static void metrics_on_timer(struct timer *t, void *arg)
{
    struct osb_metrics_call *m = arg;

    (void)t;
    if (m->call.out == NULL)
        metrics_reply(m);
    else
        metrics_send(m);
}

static struct osb_metrics_call *metrics_begin(struct http_request *rq)
{
    struct osb_metrics_call *m = call_begin(rq, &metrics_kind, sizeof *m);

    m->timer = timer_new(m->call.base->loop, metrics_on_timer, m);
    m->last = osb_of(rq)->load;
    if (m->last.at_ms == 0 || clock_mono_ms() - m->last.at_ms > SAMPLE_OLD_MS)
        (void)machine_read_cpu(&m->last);
    return m;
}

/* A load needs two samples; the first is that of the previous request, or is taken now. */
void osb_metrics(struct http_request *rq)
{
    struct osb_metrics_call *m = metrics_begin(rq);
    uint64_t age = clock_mono_ms() - m->last.at_ms;

    timer_start(m->timer, age < SAMPLE_MS ? SAMPLE_MS - age : 0);
}

void osb_metrics_watch(struct http_request *rq)
{
    struct osb_metrics_call *m = metrics_begin(rq);

    http_add_header(rq, "Cache-Control", "no-cache");
    call_stream(&m->call, 200, "text/event-stream");
    timer_start(m->timer, SAMPLE_MS);
}
