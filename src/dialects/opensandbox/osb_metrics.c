/* SPDX-License-Identifier: Apache-2.0 */
/*
 * osb_metrics.c - samples /proc and serves GET /metrics and /metrics/watch. Layer: dialects.
 */
#include "dialects/opensandbox/osb_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"

#define FILE_BYTES (256 * 1024)
#define SAMPLE_MS 100       /* between the two samples of a first request */
#define SAMPLE_OLD_MS 60000 /* an older sample is outdated */
#define WATCH_MS 2000

/* --- parsing --------------------------------------------------------------------- */

bool osb_metrics_parse_cpu(const char *text, struct osb_load *out)
{
    uint64_t idle = 0, total = 0;

    if (strncmp(text, "cpu ", 4) != 0)
        return false;
    text += 4;
    for (int i = 0; i < 8; i++) { /* user nice system idle iowait irq softirq steal */
        char *end;
        uint64_t v = strtoull(text, &end, 10);

        if (end == text)
            break;
        total += v;
        idle += i == 3 || i == 4 ? v : 0;
        text = end;
    }
    out->total = total;
    out->busy = total - idle;
    return total > 0;
}

static bool parse_line(const char *text, const char *name, uint64_t *out)
{
    const char *at = strstr(text, name);
    char *end;

    if (at == NULL || (at != text && at[-1] != '\n'))
        return false;
    at += strlen(name);
    *out = strtoull(at, &end, 10);
    return end != at;
}

bool osb_metrics_parse_memory(const char *text, struct metrics_memory *out)
{
    return parse_line(text, "MemTotal:", &out->total_kib) &&
           parse_line(text, "MemAvailable:", &out->available_kib) &&
           out->available_kib <= out->total_kib;
}

/* --- sampling ----------------------------------------------------------------------- */

static bool read_cpu(struct osb_load *out)
{
    struct buf text = {0};
    bool ok = io_read_file("/proc/stat", FILE_BYTES, &text) == 0 &&
              osb_metrics_parse_cpu(buf_cstr(&text), out);

    out->at_ms = clock_mono_ms();
    buf_fini(&text);
    return ok;
}

static void read_memory(struct metrics_memory *out)
{
    struct buf text = {0};

    if (io_read_file("/proc/meminfo", FILE_BYTES, &text) < 0 ||
        !osb_metrics_parse_memory(buf_cstr(&text), out))
        *out = (struct metrics_memory){0};
    buf_fini(&text);
}

/* Per cent since the last sample, in tenths. */
static uint64_t load_since(struct osb_load *last)
{
    struct osb_load now = *last;
    uint64_t tenths = 0;

    if (read_cpu(&now) && now.total > last->total && now.busy >= last->busy)
        tenths = (now.busy - last->busy) * 1000 / (now.total - last->total);
    *last = now;
    return tenths > 1000 ? 1000 : tenths;
}

static void put_tenths(struct json_out *j, const char *key, uint64_t tenths)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%llu.%llu", (unsigned long long)(tenths / 10),
                     (unsigned long long)(tenths % 10));

    json_key(j, key);
    json_raw(j, text, (size_t)n);
}

static void write_metrics(struct json_out *j, struct osb_load *last)
{
    struct metrics_memory m;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    read_memory(&m);
    json_kint(j, "cpu_count", cpus > 0 ? cpus : 1);
    put_tenths(j, "cpu_used_pct", load_since(last));
    put_tenths(j, "mem_total_mib", m.total_kib * 10 / 1024);
    put_tenths(j, "mem_used_mib", (m.total_kib - m.available_kib) * 10 / 1024);
    json_kint(j, "timestamp", clock_wall_ms());
}

/* --- GET /metrics and /metrics/watch ---------------------------------------------------- */

struct osb_metrics_watching {
    struct pending pending;
    struct osb *osb;
    struct http_request *rq;    /* a single request; NULL: replied, or a stream */
    struct http_stream *stream; /* NULL: a single request */
    struct timer *timer;
    struct osb_load last;
};

static void watching_free(struct pending *p)
{
    struct osb_metrics_watching *w = list_entry(p, struct osb_metrics_watching, pending);

    timer_close(w->timer);
    pending_fini(p);
    free(w);
}

static void watching_reply(struct osb_metrics_watching *w)
{
    struct json_out j = osb_reply_open(w->osb);

    write_metrics(&j, &w->last);
    w->osb->load = w->last;
    http_set_user(w->rq, NULL, NULL);
    osb_send(w->rq, 200, &j);
    watching_free(&w->pending);
}

static void watching_drain(struct pending *p)
{
    struct osb_metrics_watching *w = list_entry(p, struct osb_metrics_watching, pending);

    if (w->stream == NULL) {
        watching_reply(w);
        return;
    }
    http_stream_end(w->stream);
    watching_free(p);
}

static const struct pending_kind watching_kind = {.drain = watching_drain, .free = watching_free};

static void watching_on_disconnect(void *arg)
{
    watching_free(&((struct osb_metrics_watching *)arg)->pending);
}

static void watching_on_drain(void *arg)
{
    (void)arg;
}

static const struct http_stream_ops stream_ops = {.on_drain = watching_on_drain,
                                                  .on_disconnect = watching_on_disconnect};

static void watching_send(struct osb_metrics_watching *w)
{
    struct json_out j = osb_reply_open(w->osb);
    struct iovec iov;

    write_metrics(&j, &w->last);
    json_close(&j, '}');
    buf_putc(j.buf, '\n');
    iov = (struct iovec){buf_data(j.buf), j.buf->len};
    if (http_stream_ready(w->stream))
        http_stream_write(w->stream, &iov, 1);
    timer_start(w->timer, WATCH_MS);
}

static void watching_on_timer(struct timer *t, void *arg)
{
    struct osb_metrics_watching *w = arg;

    (void)t;
    if (w->stream == NULL)
        watching_reply(w);
    else
        watching_send(w);
}

static struct osb_metrics_watching *watching_new(struct http_request *rq)
{
    struct osb_metrics_watching *w = hf_xalloc(sizeof *w);

    w->osb = osb_of(rq);
    w->timer = timer_new(w->osb->loop, watching_on_timer, w);
    w->last = w->osb->load;
    if (w->last.at_ms == 0 || clock_mono_ms() - w->last.at_ms > SAMPLE_OLD_MS)
        (void)read_cpu(&w->last);
    pending_init(&w->pending, &w->osb->pending, &watching_kind);
    return w;
}

/* A load needs two samples; the first is that of the previous request, or is taken now. */
void osb_metrics(struct http_request *rq)
{
    struct osb_metrics_watching *w = watching_new(rq);
    uint64_t age = clock_mono_ms() - w->last.at_ms;

    w->rq = rq;
    http_set_user(rq, w, watching_on_disconnect);
    timer_start(w->timer, age < SAMPLE_MS ? SAMPLE_MS - age : 0);
}

void osb_metrics_watch(struct http_request *rq)
{
    struct osb_metrics_watching *w = watching_new(rq);

    http_add_header(rq, "Cache-Control", "no-cache");
    w->stream = http_stream_start(rq, 200, "text/event-stream", &stream_ops, w);
    timer_start(w->timer, SAMPLE_MS);
}
