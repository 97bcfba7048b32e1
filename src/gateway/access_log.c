/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_log.c - records a request when it has ended
 *
 * Layer: gateway.
 */
#include "gateway/access_log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "gateway/gateway_exchange.h"

#define RECORD_PATH_MAX 2048 /* of a path, in the log */
/* Of a path whose line would be split: a byte takes up to six when escaped. */
#define RECORD_PATH_LEAST 512

static void put_line(struct json_out *o, const struct access_record *r, size_t path_max,
                     uint64_t us, const char *peer, const char *upstream)
{
    size_t n = strlen(r->path);

    json_open(o, '{');
    json_ktime(o, "time", clock_wall_ms());
    json_kstr(o, "peer", peer);
    json_kstr(o, "request_id", r->request_id);
    json_kstr(o, "sandbox", r->id[0] != '\0' ? r->id : NULL);
    json_kint(o, "port", r->port);
    json_kstr(o, "method", r->method);
    json_key(o, "path");
    json_strn(o, r->path, n < path_max ? n : path_max);
    json_kint(o, "status", r->status);
    if (r->code != HF_OK)
        json_kstr(o, "code", hf_code_name(r->code));
    json_kbool(o, "upgrade", r->route == SHARED_UPGRADE);
    json_kstr(o, "upstream", upstream[0] != '\0' ? upstream : NULL);
    json_ku64(o, "bytes_up", r->bytes_up);
    json_ku64(o, "bytes_down", r->bytes_down);
    json_ku64(o, "us", us);
    json_close(o, '}');
}

static void make_line(struct buf *line, const struct access_record *r, size_t path_max, uint64_t us,
                      const char *peer, const char *upstream)
{
    struct json_out o;

    buf_clear(line);
    json_out_init(&o, line);
    put_line(&o, r, path_max, us, peer, upstream);
    buf_putc(line, '\n');
}

/* One write of a size that a pipe accepts whole or not at all, so that lines of workers do not mix.
 * A line that finds no room is dropped: requests never wait for the log's reader. */
static void write_log(const struct gateway *g, const struct access_record *r, uint64_t us,
                      const char *peer, const char *upstream)
{
    struct buf line = {0};
    ssize_t n;

    make_line(&line, r, RECORD_PATH_MAX, us, peer, upstream);
    if (line.len > PIPE_BUF)
        make_line(&line, r, RECORD_PATH_LEAST, us, peer, upstream);
    if (g->o.access_log_socket)
        n = send(g->o.access_log, buf_data(&line), line.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    else
        n = hf_write(g->o.access_log, buf_data(&line), line.len);
    if (n < 0)
        g->shared->seats[g->o.worker].counters.log_dropped++;
    buf_fini(&line);
}

void access_record_finish(struct gateway *g, struct access_record *r, const char *peer,
                          const char *upstream)
{
    struct shared_counters *c = &g->shared->seats[g->o.worker].counters;
    uint64_t us = (clock_mono_ns() - r->started_ns) / 1000;

    c->bytes_up += r->bytes_up;
    c->bytes_down += r->bytes_down;
    c->by_class[r->route][r->status < 600 ? r->status / 100 : 5]++;
    shared_observe(&c->seconds[r->route], us);
    if (r->path != NULL && g->o.access_log >= 0)
        write_log(g, r, us, peer, upstream);
    free(r->path);
    r->path = NULL;
}
