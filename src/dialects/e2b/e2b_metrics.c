/* SPDX-License-Identifier: Apache-2.0 */
/*
 * e2b_metrics.c - how busy the sandbox is: envd's GET /metrics, and the control API's
 *
 * Both report this moment; E2B keeps a history, this daemon does not. The processors' load is that
 * since the previous request, and of the first one since the start of the machine. Layer: dialects.
 */
#include "base/text.h"
#include "dialects/e2b/e2b.h"

void e2b_metrics(struct http_request *rq)
{
    struct e2b *e = e2b_of(rq);
    struct json_out o;
    struct machine_sample s;

    if (!e2b_is_there(rq))
        return;
    machine_read_sample(&e->load, &s);
    o = dialect_reply_open(&e->base);
    json_kint(&o, "ts", s.at_ms / 1000);
    json_kint(&o, "cpu_count", e2b_cpu_count());
    machine_write_load(&o, "cpu_used_pct", &s);
    json_ku64(&o, "mem_total", s.memory_bytes);
    json_ku64(&o, "mem_used", s.memory_used_bytes);
    json_ku64(&o, "mem_cache", s.memory_cached_bytes);
    json_ku64(&o, "mem_total_mib", s.memory_bytes >> 20);
    json_ku64(&o, "mem_used_mib", s.memory_used_bytes >> 20);
    json_ku64(&o, "disk_used", s.disk_used_bytes);
    json_ku64(&o, "disk_total", s.disk_bytes);
    dialect_reply_send(rq, 200, &o);
}

static void write_sample(struct json_out *o, const struct machine_sample *s)
{
    json_open(o, '{');
    json_ktime(o, "timestamp", s->at_ms);
    json_kint(o, "timestampUnix", s->at_ms / 1000);
    json_kint(o, "cpuCount", e2b_cpu_count());
    machine_write_load(o, "cpuUsedPct", s);
    json_ku64(o, "memTotal", s->memory_bytes);
    json_ku64(o, "memUsed", s->memory_used_bytes);
    json_ku64(o, "memCache", s->memory_cached_bytes);
    json_ku64(o, "diskTotal", s->disk_bytes);
    json_ku64(o, "diskUsed", s->disk_used_bytes);
    json_close(o, '}');
}

/* Seconds since 1970; absent: `absent`. False: replied. */
static bool time_of(struct http_request *rq, const char *name, int64_t absent, int64_t *out)
{
    const char *text = http_query(rq, name);

    *out = absent;
    if (text == NULL || text[0] == '\0' || text_to_i64(text, 0, INT64_MAX / 1000, out))
        return true;
    e2b_plain_error(rq, 400, "start and end must be times in seconds");
    return false;
}

/* Of the samples between `start` and `end` there is the present one, or none. */
void e2b_sandbox_metrics(struct http_request *rq)
{
    struct e2b *e = e2b_of(rq);
    int64_t start, end;
    struct json_out o;
    struct machine_sample s;

    if (!e2b_sandbox_is_ours(rq) || !time_of(rq, "start", 0, &start) ||
        !time_of(rq, "end", INT64_MAX / 1000, &end))
        return;
    machine_read_sample(&e->load, &s);
    o = dialect_array_open(&e->base);
    /* Both times are whole seconds of the client's clock, rounded. */
    if (start <= s.at_ms / 1000 + 1 && end >= s.at_ms / 1000 - 1)
        write_sample(&o, &s);
    json_close(&o, ']');
    http_reply_json(rq, 200, &e->base.scratch);
}
