/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_shared.c - what the workers of one gateway have in common
 *
 * Layer: gateway.
 */
#include "gateway/gateway_shared.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/crypto.h"

const uint32_t shared_bounds_ms[SHARED_BUCKETS - 1] = {1,   2,   5,    10,    25,   50,
                                                       100, 500, 2500, 10000, 60000};

struct gateway_shared *shared_new(void)
{
    struct gateway_shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attr;

    if (s == MAP_FAILED)
        return NULL;
    crypto_random(&s->seed, sizeof s->seed);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return s;
}

void shared_free(struct gateway_shared *s)
{
    if (s != NULL)
        munmap(s, sizeof *s);
}

int shared_take_seat(struct gateway_shared *s)
{
    for (int i = 0; i < SHARED_SEATS; i++) {
        if (s->seats[i].pid == 0) {
            s->seats[i].pid = -1;
            return i;
        }
    }
    return -1;
}

static void counters_add(struct shared_counters *to, const struct shared_counters *from)
{
    uint64_t sum[sizeof *to / sizeof(uint64_t)], more[sizeof *to / sizeof(uint64_t)];

    memcpy(sum, to, sizeof sum);
    memcpy(more, from, sizeof more);
    for (size_t i = 0; i < sizeof sum / sizeof *sum; i++)
        sum[i] += more[i];
    memcpy(to, sum, sizeof sum);
}

void shared_leave_seat(struct gateway_shared *s, size_t seat)
{
    if (pthread_mutex_lock(&s->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&s->lock);
    for (size_t i = 0; i < QUOTA_SLOTS; i++) {
        if (s->quota[i].key != 0)
            s->quota[i].held[seat] = 0;
    }
    pthread_mutex_unlock(&s->lock);
    counters_add(&s->seats[SHARED_SEATS].counters, &s->seats[seat].counters);
    s->seats[seat] = (struct shared_seat){0};
}

void shared_observe(struct shared_histogram *h, uint64_t us)
{
    size_t i = 0;

    while (i < SHARED_BUCKETS - 1 && us > shared_bounds_ms[i] * 1000ULL)
        i++;
    h->bucket[i]++;
    h->count++;
    h->sum_us += us;
}

/* --- metrics --------------------------------------------------------------------- */

static const char *const route_names[] = {"http", "upgrade", "own"};

static void put_classes(struct buf *out, const struct shared_counters *c)
{
    buf_puts(out, "# HELP holdfast_gateway_requests_total Responses by route and status class.\n"
                  "# TYPE holdfast_gateway_requests_total counter\n");
    for (int r = 0; r < SHARED_ROUTES; r++) {
        for (int i = 1; i < 6; i++)
            buf_printf(out, "holdfast_gateway_requests_total{route=\"%s\",class=\"%dxx\"} %llu\n",
                       route_names[r], i, (unsigned long long)c->by_class[r][i]);
    }
}

static void put_histogram(struct buf *out, const char *route, const struct shared_histogram *h)
{
    const char *name = "holdfast_gateway_request_seconds";
    uint64_t sum = 0;

    for (int i = 0; i < SHARED_BUCKETS - 1; i++) {
        sum += h->bucket[i];
        buf_printf(out, "%s_bucket{route=\"%s\",le=\"%g\"} %llu\n", name, route,
                   shared_bounds_ms[i] / 1000.0, (unsigned long long)sum);
    }
    buf_printf(out, "%s_bucket{route=\"%s\",le=\"+Inf\"} %llu\n", name, route,
               (unsigned long long)h->count);
    buf_printf(out, "%s_sum{route=\"%s\"} %.6f\n%s_count{route=\"%s\"} %llu\n", name, route,
               (double)h->sum_us / 1e6, name, route, (unsigned long long)h->count);
}

static void put_number(struct buf *out, const char *name, const char *type, const char *help,
                       uint64_t value)
{
    buf_printf(out,
               "# HELP holdfast_gateway_%s %s\n# TYPE holdfast_gateway_%s %s\n"
               "holdfast_gateway_%s %llu\n",
               name, help, name, type, name, (unsigned long long)value);
}

static void put_counters(struct buf *out, const struct shared_counters *c)
{
    put_number(out, "bytes_up_total", "counter", "Bytes of bodies and tunnels to sandboxes.",
               c->bytes_up);
    put_number(out, "bytes_down_total", "counter", "Bytes of bodies and tunnels to clients.",
               c->bytes_down);
    put_number(out, "upstream_dialled_total", "counter", "Connections made to sandboxes.",
               c->dialled);
    put_number(out, "upstream_reused_total", "counter", "Requests on a pooled connection.",
               c->reused);
    put_number(out, "upstream_failed_total", "counter", "Failed connections to sandboxes.",
               c->dial_failed);
    put_number(out, "retried_total", "counter", "Requests retried after a pooled connection broke.",
               c->retried);
    put_number(out, "lookups_total", "counter", "Sandbox lookups.", c->lookups);
    put_number(out, "lookup_misses_total", "counter", "Lookups of unknown sandboxes.",
               c->lookup_misses);
    put_number(out, "lookup_failures_total", "counter", "Lookups that failed.", c->lookup_failures);
    put_number(out, "refused_auth_total", "counter", "Requests without permission.",
               c->refused_auth);
    put_number(out, "refused_port_total", "counter", "Requests to a port that is not allowed.",
               c->refused_port);
    put_number(out, "refused_quota_total", "counter", "Requests beyond a limit.", c->refused_quota);
    put_number(out, "access_log_dropped_total", "counter", "Dropped lines of the access log.",
               c->log_dropped);
}

static void put_gauges(struct buf *out, const struct shared_gauges *g, size_t workers)
{
    put_number(out, "connections", "gauge", "Clients' connections.", g->connections);
    put_number(out, "exchanges", "gauge", "Active requests.", g->exchanges);
    put_number(out, "tunnels", "gauge", "Upgraded connections.", g->tunnels);
    put_number(out, "upstream_idle", "gauge", "Pooled connections to sandboxes.",
               g->idle_upstreams);
    put_number(out, "workers", "gauge", "Processes, including draining ones.", workers);
}

void shared_put_metrics(const struct gateway_shared *s, struct buf *out)
{
    struct shared_counters sum = {0};
    struct shared_gauges now = {0};
    size_t workers = 0;

    for (size_t i = 0; i <= SHARED_SEATS; i++) {
        const struct shared_seat *seat = &s->seats[i];

        counters_add(&sum, &seat->counters);
        now.connections += seat->gauges.connections;
        now.exchanges += seat->gauges.exchanges;
        now.tunnels += seat->gauges.tunnels;
        now.idle_upstreams += seat->gauges.idle_upstreams;
        workers += seat->pid != 0;
    }
    put_classes(out, &sum);
    buf_puts(
        out,
        "# HELP holdfast_gateway_request_seconds From the request to the end of the response.\n"
        "# TYPE holdfast_gateway_request_seconds histogram\n");
    for (int r = 0; r < SHARED_ROUTES; r++)
        put_histogram(out, route_names[r], &sum.seconds[r]);
    put_counters(out, &sum);
    put_gauges(out, &now, workers);
}
