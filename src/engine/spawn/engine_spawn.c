/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_spawn.c - starts a process. Layer: engine.
 *
 * Check the spec, reserve (memory, tag, place in the table) and send the decode to the keeper; on
 * its reply, either start or undo the reservation. Until the reply the process has no entry, and
 * only its tag is visible.
 */
#include "engine/spawn/engine_spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/spawn/keeper_channel.h"
#include "engine/spawn/shell_integration.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/tty_activity_own.h"
#include "engine/stream/viewer_own.h"

struct engine_spawn {
    struct process *process;
    spawn_done_fn *done;
    void *arg;
    struct buf strings; /* kept until the reply, for its error text */
    bool searched;      /* the command was searched for in PATH */
};

/* "proc_" and 20 characters: 40 bits of time, so that ids sort roughly by age, and 60 random
 * bits. */
static void make_id(char *out)
{
    uint64_t ms = (uint64_t)clock_wall_ms();
    uint8_t raw[13];
    int i;

    for (i = 0; i < 5; i++)
        raw[i] = (uint8_t)(ms >> (8 * (5 - i)));
    crypto_random(raw + 5, 8);
    memcpy(out, "proc_", 5);
    base32_encode(out + 5, raw, sizeof raw);
    out[PROCESS_ID_LEN] = '\0';
}

/* --- reserve --------------------------------------------------------------------- */

static int limit_hit(struct hf_error *err, enum hf_code code, const char *name,
                     const char *sentence)
{
    int rc = hf_fail(err, code, "%s", sentence);

    if (err != NULL)
        err->limit = name;
    return rc;
}

static int check_limits(struct engine *e, const struct spawn_spec *s, struct hf_error *err)
{
    if (e->stopping)
        return hf_fail(err, HF_E_shutting_down,
                       "the daemon is shutting down and starts no more processes");
    if (e->running + e->starting >= e->options.max_processes)
        return limit_hit(
            err, HF_E_too_many_processes, "max_processes",
            "the limit of --max-processes running processes is reached; terminate one first");
    if (s->tag != NULL && registry_find_tag(e, s->tag, true) != NULL)
        return hf_fail_field(err, HF_E_tag_in_use, "tag", "tag '%s' belongs to a running process",
                             s->tag);
    if (e->options.history_dir == NULL && s->history_bytes > LIMIT_JOURNAL_MAX_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "history_bytes",
                             "at most %lld bytes are kept in memory; start the daemon with "
                             "--history-dir to keep more",
                             (long long)LIMIT_JOURNAL_MAX_BYTES);
    return 0;
}

static void copy_life(struct record_head *h, const struct spawn_spec *s)
{
    h->created_wall_ms = clock_wall_ms();
    h->pty = s->pty;
    h->rows = (uint16_t)(s->rows != 0 ? s->rows : 24);
    h->cols = (uint16_t)(s->cols != 0 ? s->cols : 80);
    h->delivery = (uint8_t)s->delivery;
    h->on_detach = (uint8_t)s->on_detach;
    h->detach_ms = s->detach_ms;
    h->hold_ms = s->hold_ms;
    h->grace_ms = s->grace_ms >= 0 ? s->grace_ms : KILL_GRACE_MS;
    h->idle_timeout_ms = s->idle_timeout_ms;
    if (s->timeout_ms > 0)
        h->timeout_at_ms = clock_mono_ms() + (uint64_t)s->timeout_ms;
}

/* Queues the initial input before any process exists to read it. */
static void queue_input(struct process *p, const struct spawn_spec *s)
{
    struct record_head *h = p->rec.head;

    memcpy(p->rec.input, s->input, s->input_len);
    h->commit[0].head = s->input_len;
    if (!s->pty && s->stdin_mode != STDIN_PIPE)
        h->eof_at = s->input_len;
}

/*
 * Creating a record takes some thirty microseconds. The next one is created while the keeper and
 * the child are busy with this one, so no decode waits for it.
 */
static void spare_fill(void *arg)
{
    struct engine *e = arg;
    struct record *r = &e->spares[0];

    if (e->spare_count > 0 ||
        record_create(r, journal_ring_bytes(e->options.journal_bytes, e->exact), 0) < 0)
        return;
    /* Touch the pages that every process needs ahead of time. */
    r->marks[0].at = 0;
    r->meta[0][0] = '\0';
    e->spare_count = 1;
}

static void spares_on_timer(struct timer *t, void *arg)
{
    struct engine *e = arg;

    if (e->spares_wanted) {
        e->spares_wanted = false;
        timer_start(t, RECORD_SPARES_MS);
        return;
    }
    while (e->spare_count > 1)
        record_fini(&e->spares[--e->spare_count]);
}

void spawn_spare_init(struct engine *e)
{
    e->spare_task = (struct task){.fn = spare_fill, .arg = e};
    e->spares_timer = timer_new(e->loop, spares_on_timer, e);
}

void spawn_spare_fini(struct engine *e)
{
    timer_close(e->spares_timer);
    while (e->spare_count > 0)
        record_fini(&e->spares[--e->spare_count]);
}

void spawn_spare_offer(struct engine *e, struct record *r)
{
    if (e->spare_count < RECORD_SPARES && r->fd >= 0 &&
        r->head->ring_bytes == journal_ring_bytes(e->options.journal_bytes, e->exact) &&
        record_recycle(r)) {
        e->spares[e->spare_count++] = *r;
        *r = (struct record){.fd = -1};
        if (!timer_is_active(e->spares_timer))
            timer_start(e->spares_timer, RECORD_SPARES_MS);
    }
    record_fini(r);
}

static int spare_take(struct engine *e, struct record *r, size_t ring, size_t extra)
{
    if (extra > 0 || e->spare_count == 0 ||
        e->spares[e->spare_count - 1].head->ring_bytes != ((ring + 4095) & ~(size_t)4095))
        return record_create(r, ring, extra);
    *r = e->spares[--e->spare_count];
    e->spares_wanted = true;
    return 0;
}

static bool make_room(struct engine *e, size_t ring, bool on_disk, struct hf_error *err)
{
    if (retention_make_room(e, ring, on_disk))
        return true;
    if (on_disk)
        limit_hit(err, HF_E_history_full, "history_disk_bytes",
                  "the histories of running processes use all of --history-disk-bytes; terminate "
                  "one first");
    else
        limit_hit(err, HF_E_journal_memory_full, "journal_memory_bytes",
                  "the journals of running processes use all of --journal-memory-bytes; "
                  "terminate one first");
    return false;
}

static void explain_file(const struct engine *e, int rc, struct hf_error *err)
{
    bool full = rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;

    hf_fail(err, full ? HF_E_history_full : HF_E_history_unavailable,
            "cannot create a history file in %.200s: %s", e->options.history_dir,
            hf_errno_name(-rc));
    err->errno_name = hf_errno_name(-rc);
    snprintf(err->path, sizeof err->path, "%s", e->options.history_dir);
}

static int record_for(struct engine *e, struct record *r, const char *id, size_t ring, size_t extra,
                      bool on_disk, struct hf_error *err)
{
    int rc = on_disk ? record_create_file(r, ring, e->options.history_dir)
                     : spare_take(e, r, ring, extra);

    if (rc < 0 && on_disk)
        explain_file(e, rc, err);
    else if (rc < 0)
        hf_fail(err, HF_E_no_memory, "cannot allocate a journal: %s", hf_errno_name(-rc));
    else
        record_name(r, id);
    return rc;
}

static struct process *reserve(struct engine *e, const struct spawn_spec *s, const char *id,
                               struct hf_error *err)
{
    size_t cap = s->history_bytes > 0 ? (size_t)s->history_bytes : e->options.journal_bytes;
    size_t ring = journal_ring_bytes(cap, e->exact);
    bool on_disk =
        e->options.history_dir != NULL && cap > e->options.journal_bytes && s->session_json == NULL;
    struct process *p;

    if (!make_room(e, ring, on_disk, err))
        return NULL;
    p = process_new(e);
    if (record_for(e, &p->rec, id, ring, s->session_json != NULL ? SESSION_LOG_BYTES : 0, on_disk,
                   err) < 0) {
        process_unref(p);
        return NULL;
    }
    journal_init(&p->journal, &p->rec, &e->state.head->slip, e->exact);
    screen_terminal_init(p);
    meta_copy(p, s);
    copy_life(p->rec.head, s);
    viewer_hold_first(p);
    if (s->input_len > 0)
        queue_input(p, s);
    if (meta_store(p, err) < 0) {
        process_unref(p);
        return NULL;
    }
    return p;
}

/* --- the keeper's reply --------------------------------------------------------------- */

static int explain(const struct engine_spawn *sp, const struct k_spawned *m, struct hf_error *err)
{
    bool searched = sp->searched && m->error == ENOENT;
    const char *what = m->stage == K_STAGE_CWD                ? buf_data(&sp->strings)
                       : m->stage == K_STAGE_EXEC && searched ? sp->process->meta.command
                       : m->stage == K_STAGE_EXEC ? spawn_encode_path(&sp->strings, m->path)
                                                  : "";
    static const char *const doing[] = {
        "start it",        "reserve an entry",    "open a terminal",  "make a pipe",
        "make a process",  "make a session",      "set its terminal", "set its limits",
        "become the user", "enter the directory", "execute"};
    unsigned stage = m->stage <= K_STAGE_EXEC ? m->stage : 0;

    if (stage == K_STAGE_PTY)
        hf_fail(err, HF_E_no_pty, "cannot open a terminal: %s; is /dev/pts mounted?",
                hf_errno_name(m->error));
    else if (stage == K_STAGE_EXEC && searched)
        hf_fail(err, HF_E_spawn_failed,
                "there is no '%.200s' in PATH; use a path with a slash or set PATH in \"env\"",
                what);
    else
        hf_fail(err, HF_E_spawn_failed, "cannot %s%s%.200s: %s", doing[stage],
                what[0] != '\0' ? " " : "", what, strerror(m->error));
    err->errno_name = hf_errno_name(m->error);
    snprintf(err->path, sizeof err->path, "%s", what);
    return -m->error;
}

static void accept_streams(struct process *p, uint32_t which, int *fds, size_t n)
{
    static const uint32_t order[] = {K_FD_TTY, K_FD_STDIN, K_FD_STDOUT, K_FD_STDERR, K_FD_SIDE};
    int got[] = {-1, -1, -1, -1, -1};
    size_t i, k = 0;

    for (i = 0; i < K_FDS; i++)
        if ((which & order[i]) && k < n) {
            got[i] = fds[k];
            fds[k++] = -1;
        }
    output_accept(p, got[0], got[2], got[3]);
    input_accept(p, got[0] >= 0 ? got[0] : got[1]);
    p->side_fd = got[4];
}

static void begin(struct process *p)
{
    struct engine *e = p->engine;

    e->running++;
    e->state.head->spawned_total++;
    if (p->rec.head->pty)
        journal_mark_size(&p->journal, p->rec.head->rows, p->rec.head->cols);
    process_touch(p);
    events_append(&e->events, "process.created", p, NULL);
    p->rec.head->created_reported = 1;
    tty_activity_start(p);
    output_start(p);
    input_start(p);
    kill_deadline_arm(p);
}

static void spawn_free(struct engine_spawn *sp)
{
    buf_wipe(&sp->strings);
    process_unref(sp->process);
    free(sp);
}

/*
 * The process runs, but the kernel had no descriptor left for some of its streams, so its output
 * would be lost. Treat it as not started: kill it; its record is dropped when it has exited.
 */
static void spawn_undo(struct engine_spawn *sp, const struct k_spawned *m, struct hf_error *err)
{
    hf_fail(err, HF_E_spawn_failed,
            "the daemon has no descriptors left for the streams: %s; raise the open-file limit",
            strerror(EMFILE));
    err->errno_name = hf_errno_name(EMFILE);
    sp->process->rec.head->deleting = 1;
    process_terminate(sp->process, 0, "descriptors", NULL, NULL);
    sp->process->engine->state.head->spawn_failed_total++;
    log_error("%s: received only some of the streams of process %d; killing it",
              sp->process->rec.head->id, (int)m->pid);
}

static void spawn_on_reply(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct engine_spawn *sp = arg;
    struct process *p = sp->process;
    const struct k_spawned *m = packet;
    struct hf_error err = {0};

    p->engine->starting--;
    if (m == NULL) {
        ; /* the engine is being freed; the caller no longer exists */
    } else if (m->entry == 0) {
        p->engine->state.head->spawn_failed_total++;
        explain(sp, m, &err);
        registry_remove(p->engine, p);
        sp->done(sp->arg, NULL, &err);
    } else {
        p->entry = m->entry;
        p->pid = m->pid;
        accept_streams(p, m->fds, fds, fd_count);
        begin(p);
        if ((size_t)__builtin_popcount(m->fds) > fd_count)
            spawn_undo(sp, m, &err);
        sp->done(sp->arg, err.code == HF_OK ? p : NULL, &err);
        if (len >= sizeof(struct k_ran))
            exit_on_reaped(p, &((const struct k_ran *)packet)->exited);
    }
    spawn_free(sp);
}

/* --- the decode ------------------------------------------------------------------------- */

/* Strings that do not fit into a packet are passed in a memfd. */
static int strings_to_memfd(const struct buf *strings)
{
    int fd = memfd_create("holdfast-spawn", MFD_CLOEXEC);

    if (fd >= 0 && io_write_all(fd, buf_data(strings), strings->len) < 0)
        io_close(&fd);
    return fd;
}

static int send_request(struct engine *e, struct engine_spawn *sp, struct k_spawn *packet)
{
    hf_autoclose int big = -1;
    int fds[2] = {sp->process->rec.fd, -1};
    size_t inline_len = sp->strings.len, fd_count = 1;

    if (sp->strings.len > K_INLINE_MAX) {
        big = strings_to_memfd(&sp->strings);
        if (big < 0)
            return -ENOMEM;
        fds[fd_count++] = big;
        inline_len = 0;
    }
    return keeper_channel_send(e->channel, packet, sizeof *packet, buf_data(&sp->strings),
                               inline_len, fds, fd_count, spawn_on_reply, sp);
}

int engine_spawn(struct engine *e, const struct spawn_spec *spec, spawn_done_fn *done, void *arg,
                 struct hf_error *err)
{
    char id[PROCESS_ID_LEN + 8];
    struct shell_plan shell;
    struct k_spawn packet;
    struct engine_spawn *sp;
    int rc;

    if ((rc = spec_check(spec, err)) < 0 || (rc = check_limits(e, spec, err)) < 0)
        return rc;
    make_id(id);
    sp = hf_xalloc(sizeof *sp);
    sp->done = done;
    sp->arg = arg;
    sp->searched = !spec->shell && strchr(spec->command, '/') == NULL;
    rc = shell_plan(spec, &shell, err);
    if (shell.spec.user == NULL)
        shell.spec.user = e->options.spawn_user;
    if (rc == 0)
        rc = spawn_encode_build(&shell.spec, id, &packet, &sp->strings, err);
    shell_plan_fini(&shell);
    if (rc == 0) {
        sp->process = reserve(e, spec, id, err);
        rc = sp->process == NULL ? -ENOMEM : 0;
    }
    if (rc == 0) {
        registry_add(e, sp->process);
        e->starting++;
        rc = send_request(e, sp, &packet);
        if (rc < 0) {
            e->starting--;
            registry_remove(e, sp->process);
            hf_fail(err, HF_E_internal, "the keeper cannot be reached: %s", hf_errno_name(-rc));
        }
    }
    if (rc < 0)
        spawn_free(sp);
    /* else the oldest exited process will leave its record */
    else if (e->retained < e->options.retain_count)
        loop_defer_idle(e->loop, &e->spare_task);
    return rc;
}
