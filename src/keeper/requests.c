/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - carries out the worker's requests, and reports events to it
 *
 * The keeper kills a worker that sends a malformed message or names an unknown entry: its view of
 * the state is wrong, and the next worker starts from the table. The contents of the message are
 * not logged. Layer: keeper.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "keeper/flood_weight.h"
#include "keeper/keeper_own.h"
#include "keeper/request_check.h"
#include "keeper/spawn.h"
#include "keeper/tree.h"
#include "keeper/tree_signal.h"
#include "keeper/tty_probe.h"

#define REQUESTS_PER_TURN 64 /* then signals and children are handled */

/* Only pages that messages reach are touched. */
static union {
    uint64_t align;
    char bytes[MESSAGE_MAX];
} request_room;

static void requests_send(struct keeper *k, const void *bytes, size_t len, const int *fds,
                          size_t fd_count)
{
    int rc = channel_send(&k->worker.channel, bytes, len, fds, fd_count);

    if (rc < 0)
        worker_kill_for_channel(k, rc);
}

static struct k_exited requests_exit_of(const struct entry *e)
{
    return (struct k_exited){
        .type = K_EXITED,
        .entry = e->pub.entry,
        .status = e->pub.status,
        .oom = e->pub.oom,
        .at_wall_ms = e->pub.exited_wall_ms,
        .usage = e->pub.usage,
    };
}

/* Start and exit in one packet: a short life wakes the worker once. */
void requests_report_spawned(struct keeper *k, uint32_t req, const struct entry *e)
{
    struct k_ran m = {
        .spawned = {.type = K_SPAWNED, .req = req, .entry = e->pub.entry, .pid = e->pub.pid}};
    size_t count;
    int fds[K_FDS];

    m.spawned.fds = entry_fds(e, fds, &count);
    if (e->pub.exited)
        m.exited = requests_exit_of(e);
    requests_send(k, &m, e->pub.exited ? sizeof m : sizeof m.spawned, fds, count);
}

void requests_report_spawn_failed(struct keeper *k, uint32_t req, uint32_t stage, int error,
                                  uint32_t path)
{
    struct k_spawned m = {
        .type = K_SPAWNED, .req = req, .error = error, .stage = stage, .path = path};

    requests_send(k, &m, sizeof m, NULL, 0);
}

void requests_report_exit(struct keeper *k, const struct entry *e)
{
    struct k_exited m = requests_exit_of(e);

    requests_send(k, &m, sizeof m, NULL, 0);
}

void requests_report_signaled(struct keeper *k, const struct k_signal *m, int rc, uint32_t count)
{
    struct k_signaled reply = {
        .type = K_SIGNALED, .req = m->req, .entry = m->entry, .error = -rc, .count = count};

    requests_send(k, &reply, sizeof reply, NULL, 0);
}

static const char *request_signal(struct keeper *k, const struct k_signal *m)
{
    struct entry *e = table_find(&k->table, m->entry);
    uint32_t count;
    int rc;

    if (e == NULL || e->spawn != NULL)
        return "entry";
    if (m->target == K_TREE || m->target == K_RECENT) {
        tree_signal_add(k, m);
        return NULL;
    }
    rc = tree_signal(k, e, m, &count);
    requests_report_signaled(k, m, rc, count);
    return NULL;
}

static const char *request_survey(struct keeper *k, const struct k_simple *m)
{
    struct entry *e = table_find(&k->table, m->entry);
    struct k_surveyed reply;

    if (e == NULL || e->spawn != NULL)
        return "entry";
    memset(&reply, 0, sizeof reply);
    reply.type = K_SURVEYED;
    reply.req = m->req;
    reply.entry = m->entry;
    tree_survey(k, e, &reply);
    requests_send(k, &reply, sizeof reply, NULL, 0);
    return NULL;
}

static const char *request_tty_probe(struct keeper *k, const struct k_simple *m)
{
    struct entry *e = table_find(&k->table, m->entry);
    struct k_probed reply;

    if (e == NULL || e->spawn != NULL)
        return "entry";
    memset(&reply, 0, sizeof reply);
    reply.type = K_PROBED;
    reply.req = m->req;
    reply.entry = m->entry;
    tty_probe_terminal(e, &reply);
    requests_send(k, &reply, sizeof reply, NULL, 0);
    return NULL;
}

static const char *request_holds(struct keeper *k, const struct k_holds *m)
{
    struct entry *e = table_find(&k->table, m->entry);
    struct k_held reply = {.type = K_HELD, .req = m->req, .entry = m->entry};

    if (e == NULL || e->spawn != NULL)
        return "entry";
    reply.held = tty_probe_holds(k, e, m->inodes, m->count);
    requests_send(k, &reply, sizeof reply, NULL, 0);
    return NULL;
}

static const char *request_close(struct keeper *k, const struct k_close *m)
{
    struct entry *e = table_find(&k->table, m->entry);

    if (e == NULL || e->spawn != NULL)
        return "entry";
    entry_close(e, m->which);
    deposit_closed(k, e, m->which);
    return NULL;
}

static const char *request_flood(struct keeper *k, const struct k_flood *m)
{
    struct entry *e = table_find(&k->table, m->entry);

    if (e == NULL || e->spawn != NULL)
        return "entry";
    flood_weight_set(k, e, m->on != 0);
    return NULL;
}

static const char *request_forget(struct keeper *k, const struct k_simple *m)
{
    struct entry *e = table_find(&k->table, m->entry);

    if (e == NULL || e->spawn != NULL || !e->pub.exited)
        return "entry";
    if (e->slot != NULL)
        cgroup_release(&k->cgroup, e->slot);
    e->slot = NULL;
    deposit_forget(k, e);
    table_remove(&k->table, e);
    return NULL;
}

/* The strings are in the packet, or in the second descriptor. */
static const char *request_spawn(struct keeper *k, const struct k_spawn *m, struct fd_message *p)
{
    const char *strings = p->fd_count == 1 ? (const char *)(m + 1) : NULL;

    return spawn_request(k, m, strings, p->fds) ? NULL : "strings";
}

/* NULL, or what is wrong with the message. */
static const char *request_carry_out(struct keeper *k, const void *bytes, struct fd_message *p)
{
    const struct k_simple *m = bytes;

    switch (m->type) {
    case K_READY: worker_on_ready(k); return NULL;
    case K_SPAWN: return request_spawn(k, bytes, p);
    case K_SIGNAL: return request_signal(k, bytes);
    case K_SURVEY: return request_survey(k, bytes);
    case K_CLOSE: return request_close(k, bytes);
    case K_FORGET: return request_forget(k, bytes);
    case K_UPGRADE:
        reload_begin(k, NULL);
        upgrade_begin(k);
        return NULL;
    case K_RELOAD: reload_begin(k, bytes); return NULL;
    case K_PROBE: return request_tty_probe(k, bytes);
    case K_HOLDS: return request_holds(k, bytes);
    case K_FLOOD: return request_flood(k, bytes);
    default: return "type";
    }
}

/* A spawn whose descriptors were lost because our table is full is rejected; the worker is not
 * at fault. */
static bool request_lost_fds(struct keeper *k, const struct k_spawn *m, const struct fd_message *p)
{
    if (!p->fds_lost || p->len < sizeof *m || m->type != K_SPAWN)
        return false;
    requests_report_spawn_failed(k, m->req, K_STAGE_TABLE, EMFILE, 0);
    return true;
}

static const char *request_handle(struct keeper *k, const void *bytes, struct fd_message *p,
                                  bool from_dead_worker)
{
    const char *fault = NULL;

    if (!request_lost_fds(k, bytes, p)) {
        fault = request_check_fault(bytes, p->len, p->fd_count);
        if (fault == NULL &&
            !(from_dead_worker && ((const struct k_simple *)bytes)->type == K_SPAWN))
            fault = request_carry_out(k, bytes, p);
    }
    fd_message_close(p);
    return fault;
}

/* One reading of /proc serves all requests of a turn; signals to trees are sent at its end. */
static void requests_end_turn(struct keeper *k)
{
    tree_signal_send(k);
    census_end(k);
}

static void requests_read_some(struct keeper *k)
{
    struct fd_message p;

    for (int i = 0; i < REQUESTS_PER_TURN && k->worker.channel.fd >= 0; i++) {
        int rc = channel_receive(&k->worker.channel, &request_room, sizeof request_room, &p);
        const char *fault = rc == -EMSGSIZE ? "size" : NULL;

        if (rc == 0)
            return;
        if (rc > 0)
            fault = request_handle(k, &request_room, &p, false);
        if (fault != NULL) {
            log_error("malformed message from the worker (%s)", fault);
            worker_kill(k, "it sent a malformed message");
        } else if (rc < 0) {
            worker_kill(k, NULL);
        }
    }
}

void requests_read(struct keeper *k)
{
    requests_read_some(k);
    requests_end_turn(k);
}

void requests_drain(struct keeper *k)
{
    struct fd_message p;

    while (k->worker.channel.fd >= 0 &&
           channel_receive(&k->worker.channel, &request_room, sizeof request_room, &p) > 0) {
        if (request_handle(k, &request_room, &p, true) != NULL)
            break;
    }
    requests_end_turn(k);
}
