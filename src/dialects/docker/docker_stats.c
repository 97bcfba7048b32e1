/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_stats.c - GET …/stats: what a container uses, once or every second
 *
 * A process's container uses what its tree uses; the sandbox is the whole machine. Figures that
 * nobody counts are absent, which clients show as zero: networks, because the containers share the
 * machine's, and the machine's block devices. Nothing is read but for a request. Layer: dialects.
 */
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "dialects/common/caller.h"
#include "dialects/common/machine_load.h"
#include "dialects/docker/docker_entry.h"
#include "dialects/docker/docker_limits.h"
#include "engine/live_usage.h"

#define NEVER "0001-01-01T00:00:00Z" /* Go's zero time */

struct stats_sample {
    int64_t at_ms; /* 0: there is none */
    uint64_t user_ns, kernel_ns, cpu_ns, machine_ns;
    uint64_t memory_bytes, limit_bytes, processes;
    bool has_io;
    uint64_t read_bytes, written_bytes;
};

struct docker_stats {
    struct call call; /* with a stream: every second */
    struct timer *timer;
    struct process *process; /* NULL: the sandbox */
    bool streams;
    char id[DOCKER_ID_LEN + 1];
    char name[LIMIT_TAG_BYTES + 1];
    struct stats_sample last;
};

/* --- sampling ------------------------------------------------------------------------------- */

static uint64_t ticks_to_ns(uint64_t ticks)
{
    long hz = sysconf(_SC_CLK_TCK);

    return hz > 0 ? ticks * (1000000000 / (uint64_t)hz) : 0;
}

static void sample_tree(struct stats_sample *s, const struct live_usage *u)
{
    s->user_ns = u->user_us * 1000;
    s->kernel_ns = u->system_us * 1000;
    s->cpu_ns = s->user_ns + s->kernel_ns;
    s->memory_bytes = u->rss_bytes;
    s->processes = u->processes;
    s->has_io = u->has_io;
    s->read_bytes = u->read_bytes;
    s->written_bytes = u->written_bytes;
}

static void sample_machine(struct stats_sample *s, const struct machine_cpu *c,
                           const struct machine_memory *m, const struct live_table *t)
{
    s->user_ns = ticks_to_ns(c->user);
    s->kernel_ns = ticks_to_ns(c->system);
    s->cpu_ns = ticks_to_ns(c->busy);
    s->memory_bytes = (m->total_kib - m->available_kib) * 1024;
    s->processes = live_table_count(t);
}

/* False: it does not run any more. */
static bool sample_read(struct process *p, struct stats_sample *out)
{
    struct stats_sample s = {.at_ms = clock_wall_ms()};
    struct live_table *t;
    struct live_usage tree;
    struct machine_memory m;
    struct machine_cpu c = {0};
    struct process_view v;
    bool runs = true;

    if (p != NULL && !process_is_running(p))
        return false;
    t = live_table_read(LIMIT_LIVE_PROCESSES);
    (void)machine_read_cpu(&c);
    machine_read_memory(&m);
    s.machine_ns = ticks_to_ns(c.total);
    s.limit_bytes = m.total_kib * 1024;
    if (p == NULL) {
        sample_machine(&s, &c, &m, t);
    } else {
        process_view(p, &v);
        runs = live_table_usage(t, v.pid, &tree);
        if (runs)
            sample_tree(&s, &tree);
    }
    live_table_free(t);
    if (runs)
        *out = s;
    return runs;
}

/* --- the object ------------------------------------------------------------------------------ */

static void write_cpu(struct json_out *o, const char *key, const struct stats_sample *s)
{
    json_kopen(o, key, '{');
    json_kopen(o, "cpu_usage", '{');
    json_ku64(o, "total_usage", s->cpu_ns);
    json_ku64(o, "usage_in_kernelmode", s->kernel_ns);
    json_ku64(o, "usage_in_usermode", s->user_ns);
    json_close(o, '}');
    if (s->at_ms > 0) {
        json_ku64(o, "system_cpu_usage", s->machine_ns);
        json_kint(o, "online_cpus", get_nprocs());
    }
    json_kopen(o, "throttling_data", '{');
    json_kint(o, "periods", 0);
    json_kint(o, "throttled_periods", 0);
    json_kint(o, "throttled_time", 0);
    json_close(o, '}');
    json_close(o, '}');
}

static void write_io(struct json_out *o, const char *op, uint64_t value)
{
    json_open(o, '{');
    json_kint(o, "major", 0);
    json_kint(o, "minor", 0);
    json_kstr(o, "op", op);
    json_ku64(o, "value", value);
    json_close(o, '}');
}

static void write_time(struct json_out *o, const char *key, int64_t at_ms)
{
    if (at_ms > 0)
        json_ktime(o, key, at_ms);
    else
        json_kstr(o, key, NEVER);
}

static void write_memory(struct json_out *o, const struct stats_sample *s)
{
    json_kopen(o, "memory_stats", '{');
    if (s->at_ms > 0) {
        json_ku64(o, "usage", s->memory_bytes);
        json_ku64(o, "limit", s->limit_bytes);
        json_kopen(o, "stats", '{');
        json_close(o, '}');
    }
    json_close(o, '}');
}

/* `now` without a time: of a container that does not run. */
static void write_stats(struct json_out *o, const struct docker_stats *d,
                        const struct stats_sample *now)
{
    char name[LIMIT_TAG_BYTES + 2];

    snprintf(name, sizeof name, "/%s", d->name);
    json_kstr(o, "name", name);
    json_kstr(o, "id", d->id);
    write_time(o, "read", now->at_ms);
    write_time(o, "preread", d->last.at_ms);
    json_kint(o, "num_procs", 0); /* of Windows */
    json_kopen(o, "pids_stats", '{');
    if (now->at_ms > 0)
        json_ku64(o, "current", now->processes);
    json_close(o, '}');
    json_kopen(o, "blkio_stats", '{');
    if (now->has_io) {
        json_kopen(o, "io_service_bytes_recursive", '[');
        write_io(o, "read", now->read_bytes);
        write_io(o, "write", now->written_bytes);
        json_close(o, ']');
    } else {
        json_knull(o, "io_service_bytes_recursive");
    }
    json_close(o, '}');
    write_cpu(o, "cpu_stats", now);
    write_cpu(o, "precpu_stats", &d->last);
    write_memory(o, now);
}

/* --- the call -------------------------------------------------------------------------------- */

static void stats_release(struct call *c)
{
    struct docker_stats *d = (struct docker_stats *)c;

    timer_close(d->timer);
    process_unref(d->process);
    ((struct docker *)c->base)->stats--;
}

static const struct call_kind stats_kind = {.release = stats_release};

static void stats_reply(struct docker_stats *d, const struct stats_sample *now)
{
    struct json_out o = dialect_reply_open(d->call.base);

    write_stats(&o, d, now);
    docker_send(call_end(&d->call), 200, &o);
}

static void stats_send(struct docker_stats *d, const struct stats_sample *now)
{
    struct json_out o = dialect_reply_open(d->call.base);
    struct iovec iov;

    write_stats(&o, d, now);
    json_close(&o, '}');
    buf_putc(o.buf, '\n');
    iov = (struct iovec){buf_data(o.buf), o.buf->len};
    http_stream_write(d->call.out, &iov, 1);
}

/* A client that does not read misses samples. */
static void stats_on_timer(struct timer *t, void *arg)
{
    struct docker_stats *d = arg;
    struct stats_sample now = {0};
    bool runs = sample_read(d->process, &now);

    if (!runs)
        d->last = now;
    if (!d->streams) {
        stats_reply(d, &now);
        return;
    }
    if (call_is_ready(&d->call) || !runs)
        stats_send(d, &now);
    if (!runs) {
        call_stream_end(&d->call);
        return;
    }
    d->last = now;
    timer_start(t, DOCKER_STATS_MS);
}

/* `once`: without an earlier sample to compare with. */
static void stats_begin(struct http_request *rq, const struct docker_entry *b, bool streams,
                        bool once)
{
    struct docker_stats *d = call_begin(rq, &stats_kind, sizeof *d);
    struct stats_sample now = {0};
    bool runs;

    docker_of(rq)->stats++;
    if (b->process != NULL)
        d->process = process_ref(b->process);
    d->streams = streams;
    snprintf(d->id, sizeof d->id, "%s", b->id);
    snprintf(d->name, sizeof d->name, "%s", b->name);
    runs = docker_entry_is_running(b) && sample_read(d->process, &now);
    if (!runs || (once && !streams)) {
        stats_reply(d, &now);
        return;
    }
    d->last = now;
    d->timer = timer_new(d->call.base->loop, stats_on_timer, d);
    timer_start(d->timer, DOCKER_STATS_MS);
    if (streams) {
        docker_headers(rq);
        call_stream(&d->call, 200, "application/json");
    }
}

void docker_stats(struct http_request *rq)
{
    const char *stream = http_query(rq, "stream");
    bool streams = stream == NULL || docker_truth(stream);
    docker_entry_auto b = {0};

    if (!docker_entry_of_request(rq, &b))
        return;
    if (streams && docker_query(rq, "one-shot"))
        docker_fail(rq, 400, "cannot have stream=true and one-shot=true");
    else if (docker_of(rq)->stats >= caller_share(rq, LIMIT_DOCKER_STATS))
        docker_fail(rq, 429, "%zu requests for statistics are already in progress; try again later",
                    docker_of(rq)->stats);
    else
        stats_begin(rq, &b, streams, docker_query(rq, "one-shot"));
}
