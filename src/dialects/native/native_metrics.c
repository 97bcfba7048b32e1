/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_metrics.c - GET /metrics in the Prometheus text format. Layer: dialects.
 */
#include "base/clock.h"
#include "dialects/native/native_context.h"
#include "dialects/native/native_handlers.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
    buf_printf(b, "# HELP holdfast_%s %s\n# TYPE holdfast_%s %s\n", name, help, name, type);
}

static void gauge(struct buf *b, const char *name, const char *help, uint64_t v)
{
    head(b, name, "gauge", help);
    buf_printf(b, "holdfast_%s %llu\n", name, (unsigned long long)v);
}

static void counter(struct buf *b, const char *name, const char *help, uint64_t v)
{
    head(b, name, "counter", help);
    buf_printf(b, "holdfast_%s %llu\n", name, (unsigned long long)v);
}

static void seconds(struct buf *b, const char *name, const char *help, uint64_t us)
{
    head(b, name, "counter", help);
    buf_printf(b, "holdfast_%s %llu.%06llu\n", name, (unsigned long long)(us / 1000000),
               (unsigned long long)(us % 1000000));
}

static void write_engine(struct buf *b, const struct engine_stats *s)
{
    head(b, "processes", "gauge", "Processes by status.");
    buf_printf(b, "holdfast_processes{status=\"running\"} %zu\n", s->running);
    buf_printf(b, "holdfast_processes{status=\"exited\"} %zu\n", s->exited);
    counter(b, "spawned_total", "Processes started.", s->spawned_total);
    counter(b, "spawn_failed_total", "Processes that could not be started.", s->spawn_failed_total);
    counter(b, "exited_total", "Processes that have exited.", s->exited_total);
    counter(b, "output_bytes_total", "Bytes read from processes.", s->output_bytes_total);
    counter(b, "input_bytes_total", "Bytes written to processes.", s->input_bytes_total);
    seconds(b, "used_user_seconds_total", "User CPU time of ended processes.", s->used_user_us);
    seconds(b, "used_system_seconds_total", "System CPU time of ended processes.",
            s->used_system_us);
    counter(b, "used_disk_read_bytes_total", "Bytes that ended processes read from disk.",
            s->used_in_blocks * USAGE_BLOCK_BYTES);
    counter(b, "used_disk_written_bytes_total", "Bytes that ended processes wrote to disk.",
            s->used_out_blocks * USAGE_BLOCK_BYTES);
    gauge(b, "viewers", "Viewers attached to processes.", s->viewers);
    gauge(b, "journal_bytes", "Memory reserved for output.", s->journal_bytes);
    gauge(b, "history_bytes", "Disk space reserved for output.", s->history_bytes);
    gauge(b, "worker_generation", "Workers started so far; each beyond the first is a restart.",
          s->generation);
}

static void write_transport(struct buf *b, const struct http_stats *h)
{
    static const char *const classes[] = {NULL, "1xx", "2xx", "3xx", "4xx", "5xx"};

    gauge(b, "connections", "Open connections.", h->connections);
    counter(b, "connections_total", "Connections accepted.", h->connections_total);
    counter(b, "connections_evicted_total", "Untrusted connections closed to make room.",
            h->connections_evicted_total);
    head(b, "held_bytes", "gauge", "Unfinished requests and unread replies, by the peer's role.");
    buf_printf(b, "holdfast_held_bytes{role=\"none\"} %llu\n",
               (unsigned long long)h->held_untrusted);
    buf_printf(b, "holdfast_held_bytes{role=\"weak\"} %llu\n", (unsigned long long)h->held_weak);
    buf_printf(b, "holdfast_held_bytes{role=\"own\"} %llu\n", (unsigned long long)h->held_own);
    counter(b, "overloaded_total", "Requests refused and connections closed to bound held_bytes.",
            h->overloaded_total);
    counter(b, "requests_total", "Requests received.", h->requests_total);
    head(b, "responses_total", "counter", "Responses by status class.");
    for (int i = 1; i <= 5; i++)
        buf_printf(b, "holdfast_responses_total{class=\"%s\"} %llu\n", classes[i],
                   (unsigned long long)h->responses_by_class[i]);
    counter(b, "received_bytes_total", "Bytes received from clients.", h->bytes_in);
    counter(b, "sent_bytes_total", "Bytes sent to clients.", h->bytes_out);
}

static void write_limits(struct buf *b, const struct native *n)
{
    const struct engine_options *e = engine_options(n->base.engine);

    head(b, "limit", "gauge", "Limits in force.");
    buf_printf(b, "holdfast_limit{name=\"processes\"} %zu\n", e->max_processes);
    buf_printf(b, "holdfast_limit{name=\"viewers\"} %zu\n", e->max_viewers);
    buf_printf(b, "holdfast_limit{name=\"connections\"} %zu\n", n->http.max_connections);
    buf_printf(b, "holdfast_limit{name=\"held_bytes\"} %zu\n", n->http.held_bytes);
    buf_printf(b, "holdfast_limit{name=\"held_weak_bytes\"} %zu\n", n->http.held_weak_bytes);
    buf_printf(b, "holdfast_limit{name=\"held_untrusted_bytes\"} %zu\n",
               n->http.held_untrusted_bytes);
    buf_printf(b, "holdfast_limit{name=\"journal_memory_bytes\"} %llu\n",
               (unsigned long long)e->journal_memory_bytes);
    buf_printf(b, "holdfast_limit{name=\"retained\"} %zu\n", e->retain_count);
}

void metrics_handle(struct http_request *rq)
{
    struct native *n = native_of(rq);
    struct buf *b = &n->base.scratch;
    struct engine_stats s;
    struct http_stats h = {0};

    engine_stats(n->base.engine, &s);
    if (n->info.server != NULL)
        http_server_stats(n->info.server, &h);
    buf_clear(b);
    head(b, "build_info", "gauge", "Always 1; the version is the label.");
    buf_printf(b, "holdfast_build_info{version=\"%s\"} 1\n", n->info.version);
    head(b, "uptime_seconds", "gauge", "Time since this worker was started.");
    buf_printf(b, "holdfast_uptime_seconds %.3f\n",
               (double)(clock_wall_ms() - n->info.started_ms) / 1000);
    write_engine(b, &s);
    gauge(b, "waits", "Requests that are waiting for an event.", n->waits);
    write_transport(b, &h);
    write_limits(b, n);
    http_reply(rq, 200, METRICS_TYPE, buf_data(b), b->len);
}
