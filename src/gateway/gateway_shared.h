/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gateway_shared.h - what the workers of one gateway have in common: counters
 *
 * Shared memory that is created before the first fork. Each process has a seat of its own while it
 * lives, including old workers that drain, so counters need no lock; the parent adds those of a
 * process that has ended to the seat of the dead. Layer: gateway.
 */
#ifndef HF_GATEWAY_GATEWAY_SHARED_H
#define HF_GATEWAY_GATEWAY_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_SEATS 32
#define SHARED_BUCKETS 12 /* of a histogram; the last is +Inf */
#define QUOTA_SLOTS 8192  /* a power of two */

enum shared_route { SHARED_HTTP, SHARED_UPGRADE, SHARED_OWN, SHARED_ROUTES };

struct shared_histogram {
    uint64_t bucket[SHARED_BUCKETS], count, sum_us;
};

/* Only 64-bit counters: they are added up as an array. */
struct shared_counters {
    uint64_t by_class[SHARED_ROUTES][6]; /* responses by status class */
    struct shared_histogram seconds[SHARED_ROUTES];
    uint64_t bytes_up, bytes_down;
    uint64_t dialled, reused, dial_failed, retried;
    uint64_t lookups, lookup_misses, lookup_failures;
    uint64_t refused_auth, refused_port, refused_quota;
    uint64_t log_dropped; /* lines of the access log */
};
/* Current values: dropped with their process. */
struct shared_gauges {
    uint64_t exchanges, tunnels, connections, idle_upstreams;
};

struct shared_seat {
    int32_t pid; /* 0: free */
    struct shared_counters counters;
    struct shared_gauges gauges;
};

struct quota_slot {
    uint64_t key; /* 0: free */
    uint16_t held[SHARED_SEATS];
    uint32_t milli; /* what is left in the bucket, in thousandths of a request */
    uint64_t at_ms; /* when it was last updated */
};

struct gateway_shared {
    pthread_mutex_t lock; /* of the quota; robust, so that a killed worker blocks no other */
    uint64_t seed;        /* of the quota's hashes: no client can choose its neighbours */
    struct shared_seat seats[SHARED_SEATS + 1]; /* the last is the seat of the dead */
    struct quota_slot quota[QUOTA_SLOTS];
};

struct gateway_shared *shared_new(void); /* NULL: no memory */
void shared_free(struct gateway_shared *s);
/* Reserves a seat for a process to be started; -1: none free. */
int shared_take_seat(struct gateway_shared *s);
void shared_leave_seat(struct gateway_shared *s, size_t seat);
void shared_observe(struct shared_histogram *h, uint64_t us);
extern const uint32_t shared_bounds_ms[SHARED_BUCKETS - 1];

struct buf;
void shared_put_metrics(const struct gateway_shared *s, struct buf *out); /* Prometheus' text */

#endif
