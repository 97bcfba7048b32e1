/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_metrics.c - how busy the sandbox is: GET /system/metrics of the toolbox. Layer: dialects.
 */
#include "dialects/common/machine.h"
#include "dialects/common/machine_load.h"
#include "dialects/daytona/daytona.h"

void dt_metrics(struct http_request *rq)
{
    struct dt *dt = dt_of(rq);
    struct json_out o = dialect_reply_open(&dt->base);
    struct machine_sample s;
    struct machine m;

    machine_read_sample(&dt->load, &s);
    machine_read(&m);
    json_ktime(&o, "timestamp", s.at_ms);
    json_kint(&o, "timestampUnix", s.at_ms / 1000);
    json_kint(&o, "cpuCount", m.cpus);
    machine_write_load(&o, "cpuUsedPct", &s);
    json_ku64(&o, "memTotal", s.memory_bytes);
    json_ku64(&o, "memUsed", s.memory_used_bytes);
    json_ku64(&o, "memCache", s.memory_cached_bytes);
    json_ku64(&o, "diskTotal", s.disk_bytes);
    json_ku64(&o, "diskUsed", s.disk_used_bytes);
    json_ku64(&o, "diskFree", s.disk_free_bytes);
    dialect_reply_send(rq, 200, &o);
}
