/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_ps.c - GET …/ps: the daemon's processes, with what the kernel knows of them. Layer: dialects.
 */
#include "dialects/fly/fly_ps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "dialects/fly/fly.h"
#include "dialects/fly/fly_limits.h"

#define STAT_BYTES 4096
/* Numbered as in proc(5), where the state after the name is the third. */
enum { FIELD_STATE = 3, FIELD_UTIME = 14, FIELD_STIME = 15, FIELD_RSS = 24 };

bool fly_stat_parse(const char *text, struct fly_stat *out)
{
    const char *at = strrchr(text, ')');

    *out = (struct fly_stat){0};
    for (int field = FIELD_STATE; at != NULL; field++) {
        at = strchr(at, ' ');
        if (at == NULL)
            return false;
        at++;
        if (field == FIELD_UTIME || field == FIELD_STIME)
            out->cpu_ticks += strtoull(at, NULL, 10);
        if (field == FIELD_RSS) {
            out->rss_pages = strtoull(at, NULL, 10);
            return true;
        }
    }
    return false;
}

static void read_stat(pid_t pid, struct fly_stat *out)
{
    struct buf text = {0};
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (io_read_file(path, STAT_BYTES, &text) < 0 || !fly_stat_parse(buf_cstr(&text), out))
        *out = (struct fly_stat){0}; /* it has exited by now */
    buf_fini(&text);
}

/*
 * stime: start time, rtime: running time, both in seconds; cpu: share of one processor in per cent,
 * over its life.
 */
static void write_stat(struct json_out *o, const struct process_view *v)
{
    uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK), page = (uint64_t)sysconf(_SC_PAGESIZE);
    int64_t age_ms = clock_wall_ms() - v->created_ms;
    struct buf line = {0};
    struct fly_stat stat;

    read_stat(v->pid, &stat);
    fly_command_line(v, &line);
    json_open(o, '{');
    json_kint(o, "pid", v->pid);
    json_kint(o, "stime", v->created_ms / 1000);
    json_kint(o, "rtime", age_ms > 0 ? age_ms / 1000 : 0);
    json_key(o, "command");
    json_strn(o, buf_data(&line), line.len);
    json_kstr(o, "directory", v->cwd);
    json_ku64(o, "cpu", age_ms > 0 ? stat.cpu_ticks * 100000 / ticks / (uint64_t)age_ms : 0);
    json_ku64(o, "rss", stat.rss_pages * page);
    json_close(o, '}');
    buf_fini(&line);
}

void fly_machine_ps(struct http_request *rq)
{
    struct fly *f = fly_of(rq);
    struct process *p = NULL;
    struct json_out o;
    size_t n = 0;

    if (!fly_machine(rq))
        return;
    buf_clear(&f->base.scratch);
    json_out_init(&o, &f->base.scratch);
    json_open(&o, '[');
    while (n < LIMIT_FLY_LIST && (p = engine_next(f->base.engine, p)) != NULL) {
        struct process_view v;

        process_view(p, &v);
        if (!v.running)
            continue;
        write_stat(&o, &v);
        n++;
    }
    json_close(&o, ']');
    http_reply_json(rq, 200, &f->base.scratch);
}
