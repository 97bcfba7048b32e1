/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_tracker.c - one byte says where to cut, the rest is a terminal's output
 *
 * However it is cut, the tracker knows the same afterwards; and output that went through the
 * query filter, cut in the same way, is as long and asks nothing any more.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "term/tracker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

struct rig {
    struct tracker_head head;
    struct tracker_room room;
    struct tracker t;
};

static size_t asked;

static void on_query(void *arg, const struct query *q, const struct modes *m)
{
    struct buf out = {0};

    (void)arg;
    asked++;
    query_write_reply(&out, q, m, 1, 2);
    check(out.len < 128);
    buf_fini(&out);
}

static void rig_start(struct rig *r)
{
    memset(r, 0, sizeof *r);
    tracker_start(&r->head);
    tracker_init(&r->t, &r->head, &r->room, 4096);
}

static void filter_into(struct buf *whole, struct query_filter *f, const uint8_t *data, size_t len)
{
    struct buf out = {0};
    bool changed = query_filter_run(f, (const char *)data, len, true, &out);

    check(!changed || out.len == len);
    buf_put(whole, changed ? buf_data(&out) : (const char *)data, len);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rig a, b;
    struct query_filter f;
    struct buf whole = {0};
    size_t cut;

    if (size < 2)
        return 0;
    cut = data[0] % size;
    data++;
    size--;
    rig_start(&a);
    rig_start(&b);
    tracker_feed(&a.t, data, size, 24, on_query, NULL);
    tracker_feed(&b.t, data, cut, 24, on_query, NULL);
    tracker_feed(&b.t, data + cut, size - cut, 24, on_query, NULL);
    check(memcmp(&tracker_state(&a.t)->modes, &tracker_state(&b.t)->modes, sizeof(struct modes)) ==
          0);
    check(tracker_at(&a.t) == size && tracker_at(&b.t) == size);
    query_filter_start(&f, 0);
    filter_into(&whole, &f, data, cut);
    filter_into(&whole, &f, data + cut, size - cut);
    check(whole.len == size);
    asked = 0;
    rig_start(&a);
    tracker_feed(&a.t, buf_data(&whole), whole.len, 24, on_query, NULL);
    check(asked == 0);
    buf_fini(&whole);
    return 0;
}
